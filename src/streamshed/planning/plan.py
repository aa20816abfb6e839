"""What a planner proposes for one micro-batch."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum

from streamshed.planning.quantization import WHOLE, sampling_rate_of


class Remedy(StrEnum):
    """What a plan does about overload, from the mildest to the hardest."""

    NONE = "none"
    LARGER_MICRO_BATCH = "larger_micro_batch"
    SHED = "shed"
    REFUSE = "refuse"


@dataclass(frozen=True, slots=True, kw_only=True)
class SheddingPlan:
    """Sampling rates for one micro-batch, why, and what they are expected to achieve.

    Args:
        sampling_codes: The quantized sampling rate of every stream of the network, see `quantization`.
        reason: Short and stable, for filtering a journal: `within_budget`, `larger_micro_batch`,
            `catching_up`, `not_worth_shedding`, `overload` or `saturated`.
        explanation: The same as a sentence with figures.
        remedy: What is done; `refuse` says that shedding cannot suffice and queries or streams have to go.
        expected_seconds: How long the micro-batch is predicted to take under this plan.
        expected_utilization: The same as a share of the trigger interval.
        unshed_seconds: How long it would take if nothing were shed.
        unsheddable_seconds: How long it would take if everything sheddable were shed: fixed cost, reading,
            and streams that must be kept whole.
        allowed_seconds: How long it may take: the budget, or more where shedding could save little of it.
        saturated: Whether even what nothing can save does not fit the budget.
        protected_streams: Streams that must be kept whole, each with the queries for which.
    """

    sampling_codes: Mapping[str, int]
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
    def sampling_rates(self) -> dict[str, float]:
        """What each stream's sampler keeps, in (0, 1]."""
        return {stream: sampling_rate_of(code) for stream, code in self.sampling_codes.items()}

    @property
    def sheds(self) -> bool:
        """Whether any stream loses rows."""
        return any(code != WHOLE for code in self.sampling_codes.values())
