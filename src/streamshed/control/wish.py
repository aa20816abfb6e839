"""How many workers a control loop asks its pool for, from one decision to the next."""

from __future__ import annotations

from dataclasses import dataclass

from streamshed.elasticity.lasting import NOT_YET, Lasting
from streamshed.elasticity.scaling_decision import ScalingDecision


@dataclass(frozen=True, slots=True)
class Wish:
    """The number that is asked for in all.

    Who wants no change asks for those that there are. That is not so where more were asked for than the pool could
    give: they stay wanted, and count when they come, as long as load is shed for want of them. When those that there
    are have sufficed for long, nobody needs the others any more, and they had better not come.

    Args:
        patience_seconds: For how long those that there are have to suffice.
        workers: The number.
        sufficed: Since when those that there are suffice, although more were asked for.

    Example:
        Six are asked for, and four can be had; load falls so that four suffice.

        >>> wish, told = Wish(60.0), dict(explanation="", expected_utilization=0.5)
        >>> overload, steady = (ScalingDecision(reason=reason, workers=workers, **told)
        ...     for reason, workers in (("overload", 6), ("steady", 4)))
        >>> wish = wish.after(overload, committed=2, now_seconds=0.0)
        >>> [wish := wish.after(steady, committed=4, now_seconds=now) for now in (30.0, 90.0)] and wish.workers
        4
    """

    patience_seconds: float
    workers: int = 0
    sufficed: Lasting = NOT_YET

    def after(self, decision: ScalingDecision, *, committed: int, now_seconds: float) -> Wish:
        """Return the wish after a decision.

        Args:
            decision: How many workers there should be.
            committed: How many there are, or are about to be.
            now_seconds: When.
        """
        is_unmet = self.workers > committed == decision.workers
        sufficed = self.sufficed.observed(is_unmet and decision.reason not in _WANTING, now_seconds)
        is_kept = is_unmet and not sufficed.for_seconds(self.patience_seconds, now_seconds)
        return Wish(self.patience_seconds, self.workers if is_kept else decision.workers, sufficed)


_WANTING = {"no_free_worker", "overload", "rising"}
"""Reasons of decisions that would rather have more workers."""
