"""Which share of rows to drop at a utilization ([E] Eq. 3), and where that settles."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType

from streamshed.elasticity.errors import InvalidElasticityError
from streamshed.errors import Problem, closest_name

EXPONENTS: Mapping[str, int] = MappingProxyType({"linear": 1, "quadratic": 2})
"""Shapes of the shed factor by name; the text gives the linear one and suggests the other."""

_HALVINGS = 60


@dataclass(frozen=True, slots=True, kw_only=True)
class ShedFactor:
    """SF(τ) = B + (1 − B)·((τ − τ2)/(1 − τ2))^k from τ2 on, 0 below: the share of rows that is dropped.

    Args:
        begin: τ2, in (0, 1).
        base: B, in [0, 1]: what is dropped at τ2 already.
        shape: `linear` (k = 1) or `quadratic` (k = 2).

    Raises:
        InvalidElasticityError: A value is out of range, or there is no such shape.

    Example:
        >>> linear = ShedFactor(begin=0.8, base=0.1)
        >>> [round(linear.at(utilization), 3) for utilization in (0.79, 0.8, 0.9, 1.0, 1.7)]
        [0.0, 0.1, 0.55, 1.0, 1.0]
        >>> round(ShedFactor(begin=0.8, base=0.1, shape="quadratic").at(0.9), 3)
        0.325
    """

    begin: float
    base: float = 0.0
    shape: str = "linear"

    def __post_init__(self) -> None:
        if not (0 < self.begin < 1 and 0 <= self.base <= 1):
            raise InvalidElasticityError(
                "shed factor: it must begin at a utilization in (0, 1) with a base in [0, 1], got"
                f" {self.begin} and {self.base}"
            )
        if self.shape not in EXPONENTS:
            near_miss, choices = closest_name(self.shape, EXPONENTS), " or ".join(EXPONENTS)
            problem = Problem(f"shed factor: expected {choices}", got=repr(self.shape), near_miss=near_miss)
            raise InvalidElasticityError(problem)

    def at(self, utilization: float) -> float:
        """Return SF, in [0, 1], at the utilization of the rows that a worker holds."""
        if utilization < self.begin:
            return 0.0
        excess = min(1.0, (utilization - self.begin) / (1 - self.begin))
        return self.base + float((1 - self.base) * excess ** EXPONENTS[self.shape])

    def settled(self, offered_utilization: float) -> float:
        """Return the utilization at which shedding balances a lasting load: the τ with τ = ρ·(1 − SF(τ)).

        What a worker holds is what was let in, and what is let in depends on what it holds. Where SF jumps (B > 0) no τ
        may balance; then it is τ2, around which rows held go up and down.

        Args:
            offered_utilization: ρ: what τ would be if nothing were shed, at least 0.

        Returns:
            At most 1, however large the load: rows alone never saturate a worker.

        Example:
            At twice the load that a worker can bear, linear and B = 0: τ = 2·(1 − τ)/(1 − τ2).

            >>> settled = ShedFactor(begin=0.8).settled(2.0)
            >>> round(settled, 3), round(ShedFactor(begin=0.8).at(settled), 3)
            (0.909, 0.545)
        """
        if offered_utilization < self.begin:
            return offered_utilization
        low, high = self.begin, 1.0
        for _ in range(_HALVINGS):
            middle = (low + high) / 2
            fits = middle <= offered_utilization * (1 - self.at(middle))
            low, high = (middle, high) if fits else (low, middle)
        return low
