"""How far sampling rates may rise at once."""

from dataclasses import replace

from streamshed.planning.budget import Budget
from streamshed.planning.plan import SheddingPlan
from streamshed.planning.pricing import with_sampling_codes
from streamshed.planning.quantization import STEPS_PER_DECADE, WHOLE, code_of
from streamshed.statistics.forecast import Statistics
from streamshed.statistics.micro_batch import MicroBatchOutcome

TRUSTED_SHARE = 0.5
"""How much is believed of what the load model says shedding cannot save."""

SMALL_RISE = 10 ** (2 / STEPS_PER_DECADE)
"""Two quantization steps."""

FALLEN = 0.8
"""Below this share of the rows of the last micro-batch the load has fallen; a stream may be kept whole."""


def limited(
    plan: SheddingPlan, last: MicroBatchOutcome | None, *, statistics: Statistics, budget: Budget
) -> SheddingPlan:
    """Limit how many rows more than the last micro-batch a plan admits, by what that one took.

    A micro-batch of n rows kept at P takes y = a + w·n·P seconds. If at least the share b of y is certain not
    to depend on P, then admitting no more than n·P·(budget − b·y)/(y − b·y) rows keeps the next micro-batch
    of such rows within the budget, whatever a and w are. The model's a is known badly until rates have
    varied; so b is only half of what it says, and rates rise in a few steps instead of overshooting. A small
    rise has to be safe even for b = 0, or rates would go up and down for ever.

    Args:
        plan: What was planned.
        last: The last micro-batch that was measured; what it kept whole is not limited.
        statistics: The coming rows and what they cost.
        budget: The time to fill.
    """
    if last is None:
        return plan
    growth = _growth(plan, last, statistics, budget)
    sampling_codes = {
        stream: max(code, _smallest_code(stream, code, last, statistics, growth))
        for stream, code in plan.sampling_codes.items()
    }
    if sampling_codes == plan.sampling_codes:
        return plan
    return replace(
        with_sampling_codes(plan, sampling_codes, statistics=statistics, budget=budget),
        reason="rising",
        explanation=f"{plan.explanation}; as the last micro-batch took"
        f" {last.processing_seconds:.3g} s, rates rise in steps",
    )


def _growth(plan: SheddingPlan, last: MicroBatchOutcome, statistics: Statistics, budget: Budget) -> float:
    """Return by which factor the admitted rows may grow; 1 where the last micro-batch filled the budget."""
    dropped = {stream: 0.0 for stream in plan.sampling_codes if last.share_done(stream) < 1}
    model = statistics.load_model
    unsheddable = model.seconds(last.offered_rows, {**last.shares_done, **dropped})
    certain = TRUSTED_SHARE * unsheddable / model.seconds(last.offered_rows, last.shares_done)
    room = max(1.0, max(budget.outright_seconds, plan.allowed_seconds) / last.processing_seconds)
    likely = (room - certain) / (1 - certain)
    return likely if likely >= SMALL_RISE else room


def _smallest_code(stream: str, wanted: int, last: MicroBatchOutcome, statistics: Statistics, growth: float) -> int:
    rows, last_rows = statistics.offered_rows.get(stream, 0), last.offered_rows.get(stream, 0)
    last_kept = last.share_done(stream)
    unlimited = last_kept == 1 or not rows or not last_rows
    if unlimited or (wanted == WHOLE and rows < FALLEN * last_rows):
        return WHOLE
    return code_of(last_rows * last_kept * growth / rows)
