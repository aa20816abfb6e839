"""When shedding begins and ends, and that shares of work do not swing where the load lies between two steps of them."""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace

from streamshed.planning.plan.budget import Budget
from streamshed.planning.plan.plan import Remedy, SheddingPlan
from streamshed.planning.plan.pricing import with_work_codes
from streamshed.planning.tree.quantization import WHOLE
from streamshed.statistics.forecast import Statistics

HELD = 1.005
"""Shares of work stay where they take no more than this of the time: what they take is not known to a step of them."""


@dataclass(frozen=True, slots=True, kw_only=True)
class HysteresisSettings:
    """Where the edges lie.

    Args:
        enter_share: Shedding begins at once when everything would need more than this share of the budget; and
            when it would not fit the budget and what cannot be shed alone would be late.
        loaded_micro_batches: It begins as well with so many micro-batches in a row that would be late as a whole:
            one alone may be there for noise in what was measured before it.
        busy_micro_batches: It begins as well with so many in a row that would not fit the budget, though they would
            not be late: headroom is there for some.
        leave_share: Shedding ends at once when everything would fit this share of the budget.
        fallen_share: It ends at once as well when everything would fit the budget and takes at most this share of what
            the micro-batch before would have: the load has fallen, it is not at the edge.
        calm_micro_batches: It ends as well after so many micro-batches in a row that would fit the budget
            as a whole.

    Raises:
        ValueError: A value is out of range.
    """

    enter_share: float = 1.15
    loaded_micro_batches: int = 2
    busy_micro_batches: int = 5
    leave_share: float = 0.9
    fallen_share: float = 0.8
    calm_micro_batches: int = 2

    def __post_init__(self) -> None:
        if not self.enter_share >= 1:
            raise ValueError(f"hysteresis: enter_share must be at least 1, got {self.enter_share}")
        for field_name in ("leave_share", "fallen_share"):
            share = getattr(self, field_name)
            if not 0 < share <= 1:
                raise ValueError(f"hysteresis: {field_name} must be in (0, 1], got {share}")
        for field_name in ("loaded_micro_batches", "busy_micro_batches", "calm_micro_batches"):
            count = getattr(self, field_name)
            if count < 1:
                raise ValueError(f"hysteresis: {field_name} must be at least 1, got {count}")


@dataclass(frozen=True, slots=True, kw_only=True)
class Hysteresis:
    """Whether shedding is on.

    Shedding begins with the first micro-batch that clearly does not fit, since waiting costs latency, with the
    second in a row that just would be late, and with the fifth that takes from the headroom. It ends when the load
    has clearly fallen, or has stayed below the edge; until then the mildest shedding stays.

    Args:
        settings: The edges.
        shedding: Whether shedding is on.
        in_a_row: How many micro-batches in a row were on the other side of the edge.
        unshed_seconds: How long the last one would have taken unshed; None where that is not known.

    Example:
        Budget 1 s of 1.05 s; the load rises to just above that, and comes down to just below the budget.

        >>> budget = {"budget_seconds": 1.0, "utmost_seconds": 1.05, "is_saturated": False}
        >>> state = Hysteresis()
        >>> for unshed_seconds in (1.1, 0.9, 1.1, 1.1, 0.95, 0.95):
        ...     state = state.updated(unshed_seconds=unshed_seconds, **budget)
        ...     print(state.shedding, end=" ")
        False False False True True False
        >>> state.updated(unshed_seconds=3.0, **budget).shedding
        True
        >>> state.updated(unshed_seconds=3.0, **budget).updated(unshed_seconds=0.8, **budget).shedding
        False
    """

    settings: HysteresisSettings = field(default_factory=HysteresisSettings)
    shedding: bool = False
    in_a_row: int = 0
    unshed_seconds: float | None = None

    def updated(
        self, *, unshed_seconds: float, budget_seconds: float, utmost_seconds: float, is_saturated: bool
    ) -> "Hysteresis":
        """Take in the coming micro-batch.

        Args:
            unshed_seconds: How long it would take unshed.
            budget_seconds: How long it may take.
            utmost_seconds: If it takes longer, it is late.
            is_saturated: Whether it is late even if everything sheddable is shed.
        """
        fits = unshed_seconds <= budget_seconds
        remembered = replace(self, unshed_seconds=unshed_seconds)
        if fits is not self.shedding:
            return replace(remembered, in_a_row=0)
        has_fallen = self.unshed_seconds is not None and (
            unshed_seconds <= self.settings.fallen_share * self.unshed_seconds
        )
        is_late = unshed_seconds > utmost_seconds
        clearly, enough = self._edges(
            unshed_seconds / budget_seconds, is_saturated=is_saturated, is_late=is_late, has_fallen=has_fallen
        )
        if clearly or self.in_a_row + 1 >= enough:
            return replace(remembered, shedding=not self.shedding, in_a_row=0)
        return replace(remembered, in_a_row=self.in_a_row + 1)

    def _edges(self, load: float, *, is_saturated: bool, is_late: bool, has_fallen: bool) -> tuple[bool, int]:
        """Return whether the load is clearly on the other side, and how many in a row are enough if it is not."""
        if self.shedding:
            return has_fallen or load <= self.settings.leave_share, self.settings.calm_micro_batches
        enough = self.settings.loaded_micro_batches if is_late else self.settings.busy_micro_batches
        return is_saturated or load > self.settings.enter_share, enough


def entered(plan: SheddingPlan, hysteresis: Hysteresis, *, statistics: Statistics, budget: Budget) -> SheddingPlan:
    """Return the plan; or, where it sheds although shedding is not on yet, the one that keeps everything."""
    if hysteresis.shedding or not plan.sheds:
        return plan
    whole = dict.fromkeys(plan.work_codes, WHOLE)
    return replace(
        with_work_codes(plan, whole, statistics=statistics, budget=budget),
        remedy=Remedy.NONE,
        reason="entering",
        explanation=f"{plan.explanation}, but it may be noise: once more everything is kept",
    )


def held(
    plan: SheddingPlan, last_work_codes: Mapping[str, int], *, statistics: Statistics, budget: Budget
) -> SheddingPlan:
    """Return the plan; or, where shares of the last micro-batch are one step larger and nearly fit, one with these.

    Args:
        plan: What was planned.
        last_work_codes: What the last micro-batch was told.
        statistics: The coming rows and what they cost.
        budget: The time to fill.
    """
    before = {stream: last_work_codes.get(stream, code) for stream, code in plan.work_codes.items()}
    if any(code - before[stream] not in (0, 1) for stream, code in plan.work_codes.items()):
        return plan
    again = with_work_codes(plan, before, statistics=statistics, budget=budget)
    return again if again.sheds and again.expected_seconds <= HELD * plan.allowed_seconds else plan


def settled(plan: SheddingPlan, hysteresis: Hysteresis, *, statistics: Statistics, budget: Budget) -> SheddingPlan:
    """Return the plan; or, where it sheds nothing although shedding is still on, the mildest one."""
    if not hysteresis.shedding or plan.sheds:
        return plan
    mildest = {stream: WHOLE if plan.least_shares[stream] >= 1 else WHOLE + 1 for stream in plan.work_codes}
    return replace(
        with_work_codes(plan, mildest, statistics=statistics, budget=budget),
        reason="leaving",
        explanation=f"{plan.explanation}, almost: until the load has clearly fallen the mildest shedding stays",
    )
