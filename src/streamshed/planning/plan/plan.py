"""What a planner proposes for one micro-batch."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum

from streamshed.planning.tree.quantization import WHOLE, code_of, work_shares


class Remedy(StrEnum):
    """What a plan does about overload, from the mildest to the hardest."""

    NONE = "none"
    LARGER_MICRO_BATCH = "larger_micro_batch"
    SHED = "shed"
    REFUSE = "refuse"


@dataclass(frozen=True, slots=True, kw_only=True)
class SheddingPlan:
    """How much of the work of one micro-batch is done, why, and what that is expected to achieve.

    Args:
        work_codes: For every stream of the network, the code (see `quantization`) of the share of the work on its rows
            that is done of what may be shed. With policy `uniform` that share is the sampling rate at its source.
        least_shares: For every stream, the share of the work on its rows that nothing may shed.
        reason: Short and stable, for filtering a journal: `within_budget`, `larger_micro_batch`,
            `catching_up`, `not_worth_shedding`, `overload` or `saturated`.
        explanation: The same as a sentence with figures.
        remedy: What is done; `refuse` says that shedding cannot suffice and queries or streams have to go.
        expected_seconds: How long the micro-batch is predicted to take under this plan.
        expected_utilization: The same as a share of the trigger interval.
        unshed_seconds: How long it would take if nothing were shed.
        unsheddable_seconds: How long it would take if everything sheddable were shed: fixed cost, reading,
            and the work of queries that need every row.
        allowed_seconds: How long it may take: the budget, or more where shedding could save little of it.
        saturated: Whether even what nothing can save does not fit the budget.
        protected_streams: Streams of whose work nothing may be shed, each with the queries that need every row.
    """

    work_codes: Mapping[str, int]
    least_shares: Mapping[str, float]
    reason: str
    explanation: str
    remedy: Remedy
    expected_seconds: float
    expected_utilization: float
    unshed_seconds: float
    unsheddable_seconds: float
    allowed_seconds: float
    saturated: bool
    protected_streams: Mapping[str, tuple[str, ...]] = field(default_factory=dict)

    @property
    def work_shares(self) -> dict[str, float]:
        """The share of all work on each stream's rows that is done, in (0, 1]."""
        return work_shares(self.work_codes, self.least_shares)

    @property
    def exact_work_shares(self) -> dict[str, float]:
        """The same, but where what fits was rounded to a code, as it was before.

        Example:
            Of 2 s that may be shed 1.9 s fit, which code 1 says are 1.86 s.

            >>> plan = SheddingPlan(
            ...     work_codes={"rows": 1}, least_shares={"rows": 0.0}, reason="overload", explanation="",
            ...     remedy=Remedy.SHED, expected_seconds=1.86, expected_utilization=0.93, unshed_seconds=2.0,
            ...     unsheddable_seconds=0.0, allowed_seconds=1.9, saturated=False)
            >>> round(plan.work_shares["rows"], 4), plan.exact_work_shares["rows"]
            (0.9306, 0.95)
        """
        sheddable_seconds = self.unshed_seconds - self.unsheddable_seconds
        if sheddable_seconds <= 0:
            return self.work_shares
        fitting = min(1.0, max(0.0, (self.allowed_seconds - self.unsheddable_seconds) / sheddable_seconds))
        code = code_of(fitting)
        return {
            stream: least + (1 - least) * fitting if self.work_codes[stream] == code else self.work_shares[stream]
            for stream, least in self.least_shares.items()
        }

    @property
    def sheds(self) -> bool:
        """Whether any stream's work is not done in full."""
        return any(code != WHOLE for code in self.work_codes.values())
