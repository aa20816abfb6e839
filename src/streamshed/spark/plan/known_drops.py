"""Which windows are dropped, as tasks know it."""

from __future__ import annotations

from dataclasses import dataclass

from streamshed.planning.window_drop.track.window_drops import NOTHING_DROPPED, WindowDrops
from streamshed.spark.plan.plan_client import PlanClient


@dataclass(frozen=True)
class KnownDrops:
    """Decisions on windows.

    Attributes:
        client: Asks for the plan of a micro-batch, which tells them; None: they are fixed.
        fixed: Those.
        from_level: The first level of answers at which work for dropped windows ends, at the latest.
    """

    client: PlanClient | None = None
    fixed: WindowDrops = NOTHING_DROPPED
    from_level: float = 0

    def now(self) -> WindowDrops:
        """Return those that the running task's micro-batch knows."""
        return self.fixed if self.client is None else self.client.current().drops


NOTHING_KNOWN = KnownDrops()
"""No window is dropped."""
