"""What a controller of workers decides, and what all of them have in common."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol, Self

from streamshed.elasticity.view import ClusterView


@dataclass(frozen=True, slots=True, kw_only=True)
class ScalingDecision:
    """How many workers there should be, and why.

    Args:
        workers: The number wanted, within the limits.
        reason: Short and stable, for filtering a journal: `steady`, `waiting`, `overload`, `rising`, `idle`,
            `no_free_worker`, `skewed`, `not_shareable` or `fixed_workers`.
        explanation: The same as a sentence with figures.
        expected_utilization: τ of the offered load once they run; the effect to compare later.
    """

    workers: int
    reason: str
    explanation: str
    expected_utilization: float


class ScalingController(Protocol):
    """A pure controller of workers: it holds what it remembers, and a step returns the controller to ask next."""

    def step(self, view: ClusterView) -> tuple[Self, ScalingDecision]:
        """Decide on the number of workers.

        Args:
            view: The cluster now; views come in the order of time.
        """

    def utmost(self, view: ClusterView) -> int:
        """Return how many workers it would want if load were endless.

        Args:
            view: The cluster now.
        """
