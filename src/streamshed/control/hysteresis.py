"""When shedding begins and ends."""

from dataclasses import dataclass, field, replace

from streamshed.planning.budget import Budget
from streamshed.planning.plan import SheddingPlan
from streamshed.planning.pricing import with_sampling_codes
from streamshed.planning.quantization import WHOLE
from streamshed.statistics.forecast import Statistics


@dataclass(frozen=True, slots=True, kw_only=True)
class HysteresisSettings:
    """Where the edges lie.

    Args:
        leave_share: Shedding ends at once when everything would fit this share of the budget.
        calm_micro_batches: It ends as well after so many micro-batches in a row that would fit the budget
            as a whole.

    Raises:
        ValueError: A value is out of range.
    """

    leave_share: float = 0.9
    calm_micro_batches: int = 2

    def __post_init__(self) -> None:
        if not 0 < self.leave_share <= 1:
            raise ValueError(f"hysteresis: leave_share must be in (0, 1], got {self.leave_share}")
        if self.calm_micro_batches < 1:
            raise ValueError(f"hysteresis: calm_micro_batches must be at least 1, got {self.calm_micro_batches}")


@dataclass(frozen=True, slots=True, kw_only=True)
class Hysteresis:
    """Whether shedding is on.

    Shedding begins with the first micro-batch that does not fit, since waiting costs latency. It ends when
    the load has clearly fallen, or has stayed below the edge; until then the mildest sampling rate stays.

    Args:
        settings: The edges.
        shedding: Whether shedding is on.
        calm_micro_batches: How many micro-batches in a row would have fitted as a whole since it began.

    Example:
        Budget 1 s; the load comes down to just below it.

        >>> state = Hysteresis()
        >>> for unshed_seconds in (3.0, 1.5, 0.95, 0.95):
        ...     state = state.updated(unshed_seconds=unshed_seconds, budget_seconds=1.0)
        ...     print(state.shedding, end=" ")
        True True True False
        >>> state.updated(unshed_seconds=3.0, budget_seconds=1.0).updated(
        ...     unshed_seconds=0.8, budget_seconds=1.0).shedding
        False
    """

    settings: HysteresisSettings = field(default_factory=HysteresisSettings)
    shedding: bool = False
    calm_micro_batches: int = 0

    def updated(self, *, unshed_seconds: float, budget_seconds: float) -> "Hysteresis":
        """Take in how long the coming micro-batch would take unshed, and how long it may take."""
        if unshed_seconds > budget_seconds:
            return replace(self, shedding=True, calm_micro_batches=0)
        calm = self.calm_micro_batches + 1
        clearly_fallen = unshed_seconds <= self.settings.leave_share * budget_seconds
        if not self.shedding or clearly_fallen or calm >= self.settings.calm_micro_batches:
            return replace(self, shedding=False, calm_micro_batches=0)
        return replace(self, calm_micro_batches=calm)


def settled(plan: SheddingPlan, hysteresis: Hysteresis, *, statistics: Statistics, budget: Budget) -> SheddingPlan:
    """Return the plan; or, where it sheds nothing although shedding is still on, the mildest one."""
    if not hysteresis.shedding or plan.sheds:
        return plan
    mildest = {stream: WHOLE if stream in plan.protected_streams else WHOLE + 1 for stream in plan.sampling_codes}
    return replace(
        with_sampling_codes(plan, mildest, statistics=statistics, budget=budget),
        reason="leaving",
        explanation=f"{plan.explanation}, almost: until the load has clearly fallen the mildest rate stays",
    )
