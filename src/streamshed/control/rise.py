"""How far shares of work may rise at once."""

from collections.abc import Mapping
from dataclasses import replace

from streamshed.planning.plan.budget import Budget
from streamshed.planning.plan.plan import SheddingPlan
from streamshed.planning.plan.pricing import with_work_codes
from streamshed.planning.tree.quantization import WHOLE, code_of
from streamshed.statistics.forecast import Statistics
from streamshed.statistics.micro_batch import MicroBatchOutcome

TRUSTED_SHARE, TIMED_SHARE = 0.5, 0.9
"""How much is believed of what the load model says shedding cannot save, and where the clocks of tasks say it, too."""

ROUNDING = 1e-9
"""What a share may be above a quantization step and still be on it."""

FALLEN = 0.8
"""Below this share of the rows of the last micro-batch the load has fallen; a stream may be kept whole."""


def limited(
    plan: SheddingPlan,
    last: MicroBatchOutcome | None,
    *,
    last_least_shares: Mapping[str, float],
    statistics: Statistics,
    budget: Budget,
) -> SheddingPlan:
    """Limit how much more is done of the work that may be shed than in the last micro-batch, by what that one took.

    A micro-batch of n rows of whose work the share L may not be shed, and of the rest the share P is done, takes
    y = a + w·n·(1 − L)·P seconds. If at least the share b of y is certain not to depend on P, then a next one with no
    more than (budget − b·y)/(y − b·y) times the n·(1 − L)·P is within the budget, whatever a and w are. The model's a
    is known badly until shares have varied, unless tasks were timed; so b is only a part of what it says, and shares
    rise in a few steps instead of overshooting.

    Args:
        plan: What was planned.
        last: The last micro-batch that was measured; a stream of which it did all work is not limited.
        last_least_shares: Its L, by stream; of one left out 0.
        statistics: The coming rows and what they cost.
        budget: The time to fill.
    """
    if last is None:
        return plan
    done = last.costed_shares
    growth = _growth(plan, last, last_least_shares, statistics, budget)
    admissible_rows = {
        stream: growth * rows * max(0.0, done.get(stream, 1.0) - last_least_shares.get(stream, 0.0))
        for stream, rows in last.costed_rows.items()
        if done.get(stream, 1.0) < 1
    }
    work_codes = {
        stream: max(code, _smallest_code(stream, plan, last, statistics, admissible_rows))
        for stream, code in plan.work_codes.items()
    }
    if work_codes == plan.work_codes:
        return plan
    return replace(
        with_work_codes(plan, work_codes, statistics=statistics, budget=budget),
        reason="rising",
        explanation=f"{plan.explanation}; as the last micro-batch took"
        f" {last.processing_seconds:.3g} s, rates rise in steps",
    )


def _growth(
    plan: SheddingPlan,
    last: MicroBatchOutcome,
    last_least_shares: Mapping[str, float],
    statistics: Statistics,
    budget: Budget,
) -> float:
    """Return by which factor the work may grow that could be shed; 1 where the last micro-batch filled the budget."""
    done = last.costed_shares
    least = {stream: last_least_shares.get(stream, 0.0) for stream in plan.work_codes if done.get(stream, 1.0) < 1}
    seconds, rows = statistics.load_model.seconds, last.costed_rows
    unsheddable, expected = (seconds(rows, {**done, **others}) for others in (least, {}))
    room = max(1.0, max(budget.seconds, plan.allowed_seconds) / last.processing_seconds)
    is_timed = least.keys() <= statistics.load_model.tasks.keys()
    certain = (TIMED_SHARE if is_timed else TRUSTED_SHARE) * unsheddable / expected
    return (room - certain) / (1 - certain)


def _smallest_code(
    stream: str,
    plan: SheddingPlan,
    last: MicroBatchOutcome,
    statistics: Statistics,
    admissible_rows: Mapping[str, float],
) -> int:
    """Return the code of the largest share under which the work does not exceed that of so many rows."""
    rows, last_rows = statistics.costed_rows.get(stream, 0), last.costed_rows.get(stream, 0)
    is_limited = stream in admissible_rows and plan.least_shares[stream] < 1
    if not (is_limited and rows and last_rows):
        return WHOLE
    before, now = last.offered_rows.get(stream, 0), statistics.offered_rows.get(stream, 0)
    has_fallen = rows < FALLEN * last_rows or (last.read_shares.get(stream, 1.0) < 1 and now < FALLEN * before)
    if plan.work_codes[stream] == WHOLE and has_fallen:
        return WHOLE
    return code_of((1 + ROUNDING) * admissible_rows[stream] / (rows * (1 - plan.least_shares[stream])))
