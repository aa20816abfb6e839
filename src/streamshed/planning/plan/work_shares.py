"""How much of the work on each stream's rows is done, whichever policy then chooses what is given up for it."""

from collections.abc import Mapping

from streamshed.network.model.network import QueryNetwork
from streamshed.planning.plan.budget import Budget
from streamshed.planning.plan.plan import Remedy, SheddingPlan
from streamshed.planning.rates.effective_rates import LEAST_WORK
from streamshed.planning.tree.quantization import SMALLEST, WHOLE, code_of, sampling_rate_of, work_shares
from streamshed.planning.tree.scalability import least_shares, protected_streams
from streamshed.statistics.forecast import Statistics


def plan_work_shares(network: QueryNetwork, statistics: Statistics, budget: Budget) -> SheddingPlan:
    """Plan how much is done of the work that may be shed: the largest share, one for all streams, that fits the budget.

    With policy `uniform`, the baseline of [B04] §5.1, it is the sampling rate at the inputs; the others spread the work
    over the queries.

    With U the seconds that nothing can save (fixed cost, reading, queries that need every row) and W
    the seconds of work that may be shed, the load equation U + P·W = allowed gives P = (allowed − U) / W, rounded down
    to a representable rate. Allowed is the budget. But headroom, the share H of the deadline that a budget is, is
    there for noise, and no reason to give up answers for next to no time where U alone takes most of it: so what fits
    U/H and the deadline is kept whole. Nor are they given up to catch up faster: what would fit
    if nothing had to be caught up is kept whole, and takes less time than there is until the next. Beyond that, allowed
    falls as the excess grows, second by second, until it is the budget: just over the edge nearly everything is kept.
    Where U exceeds the budget it falls to 1.1·U, but not beyond the deadline; where U exceeds that, it falls to 1.02·U:
    nearly all that may be given up is given up, as everything that is kept makes the next micro-batch later. But up to
    a tenth of U is kept: to give that up would save next to nothing. And a fiftieth of U is always there for rows: of
    millions it keeps thousands, and an answer from next to no rows is none.

    Args:
        network: Whose streams are shed.
        statistics: The coming rows, what they cost, and how much of each stream's work nothing may shed.
        budget: The time to fill.

    Returns:
        A plan for every stream of the network; saturated where U alone exceeds the budget.
    """
    least = least_shares(network, statistics)
    unshed_seconds = statistics.seconds({})
    work_seconds = sum((1 - share) * statistics.work_seconds(stream) for stream, share in least.items())
    unsheddable_seconds = unshed_seconds - work_seconds
    allowed = allowed_seconds(unshed_seconds, unsheddable_seconds, budget)
    code = _largest_fitting(unshed_seconds, work_seconds, allowed)
    work_codes = {stream: WHOLE if share >= 1 else code for stream, share in least.items()}
    expected_seconds = statistics.seconds(work_shares(work_codes, least))
    remedy = _remedy(unshed_seconds, unsheddable_seconds, allowed, budget)
    return SheddingPlan(
        work_codes=work_codes,
        least_shares=least,
        reason=_reason(remedy, unshed_seconds, budget),
        explanation=_explanation(remedy, unshed_seconds, unsheddable_seconds, budget, code),
        remedy=remedy,
        expected_seconds=expected_seconds,
        expected_utilization=budget.utilization(expected_seconds),
        unshed_seconds=unshed_seconds,
        unsheddable_seconds=unsheddable_seconds,
        allowed_seconds=allowed,
        saturated=remedy is Remedy.REFUSE,
        protected_streams=_protected(network, least),
    )


def _protected(network: QueryNetwork, least: Mapping[str, float]) -> dict[str, tuple[str, ...]]:
    """Streams of whose work nothing may be shed; queries are looked through only where there may be one."""
    if all(share < 1 for share in least.values()):
        return {}
    return {name: held for name, held in protected_streams(network).items() if least[name] >= 1}


WORTH_SAVING = 0.1
"""Work on rows that is less than this share of what nothing can save is not worth shedding."""

REASONS = {
    Remedy.NONE: "within_budget",
    Remedy.LARGER_MICRO_BATCH: "larger_micro_batch",
    Remedy.SHED: "overload",
    Remedy.REFUSE: "saturated",
}


SPARED, CATCHING_UP = "not_worth_shedding", "catching_up"


def _reason(remedy: Remedy, unshed_seconds: float, budget: Budget) -> str:
    if unshed_seconds <= budget.seconds or remedy in {Remedy.SHED, Remedy.REFUSE}:
        return REASONS[remedy]
    return CATCHING_UP if unshed_seconds <= budget.undrained_seconds else SPARED


def allowed_seconds(unshed_seconds: float, unsheddable_seconds: float, budget: Budget) -> float:
    """Return how much time a micro-batch may take, by how much of it nothing can save; see `plan_work_shares`.

    Args:
        unshed_seconds: What it takes if nothing is shed.
        unsheddable_seconds: U.
        budget: The time to fill.

    Example:
        >>> budget = Budget(trigger_interval_seconds=2.0, deadline_seconds=2.0, headroom=0.8)
        >>> [round(allowed_seconds(unshed, least, budget), 3) for unshed, least in (
        ...     (1.5, 0.3), (4.0, 0.3), (1.9, 1.55), (4.0, 1.7), (4.0, 1.9), (4.0, 3.0))]
        [1.6, 1.6, 1.938, 1.87, 2.0, 3.06]
    """
    spared_seconds = max(
        min(unsheddable_seconds / budget.headroom, budget.utmost_seconds),
        budget.undrained_seconds,
    )
    if unsheddable_seconds > budget.utmost_seconds:
        spared_seconds = max(spared_seconds, (1 + WORTH_SAVING) * unsheddable_seconds)
    if unshed_seconds <= spared_seconds:
        return max(budget.seconds, spared_seconds)
    least_seconds = budget.seconds
    if unsheddable_seconds >= budget.seconds:
        worth_seconds = min((1 + WORTH_SAVING) * unsheddable_seconds, budget.utmost_seconds)
        least_seconds = max((1 + LEAST_WORK) * unsheddable_seconds, worth_seconds)
    return max(least_seconds, spared_seconds - (unshed_seconds - spared_seconds))


def _largest_fitting(unshed_seconds: float, work_seconds: float, budget_seconds: float) -> int:
    excess = unshed_seconds - budget_seconds
    if excess <= 0:
        return WHOLE
    if excess >= work_seconds:
        return SMALLEST
    return code_of(1 - excess / work_seconds)


def _remedy(unshed_seconds: float, unsheddable_seconds: float, allowed_seconds: float, budget: Budget) -> Remedy:
    if unshed_seconds <= budget.lossless_seconds:
        return Remedy.NONE
    if unshed_seconds <= budget.undrained_seconds:
        keeps_pace = unshed_seconds <= budget.headroom * budget.trigger_interval_seconds
        return Remedy.NONE if keeps_pace else Remedy.LARGER_MICRO_BATCH
    if unsheddable_seconds >= budget.seconds:
        return Remedy.REFUSE
    return Remedy.NONE if unshed_seconds <= allowed_seconds else Remedy.SHED


def _explanation(remedy: Remedy, unshed_seconds: float, unsheddable_seconds: float, budget: Budget, code: int) -> str:
    work_seconds = unshed_seconds - unsheddable_seconds
    need = f"{unshed_seconds:.3g} s of work for {budget.seconds:.3g} s"
    match remedy:
        case Remedy.NONE | Remedy.LARGER_MICRO_BATCH if budget.seconds < unshed_seconds <= budget.undrained_seconds:
            return f"{need}, as it starts late; but it ends before the next has to start, so everything is kept"
        case Remedy.NONE if unshed_seconds > budget.seconds:
            return f"{need}, of which shedding could save {work_seconds:.3g} s at most: everything is kept"
        case Remedy.NONE:
            return f"{need}: everything is kept"
        case Remedy.LARGER_MICRO_BATCH:
            return (
                f"{need}, longer than the trigger interval of {budget.trigger_interval_seconds:.3g} s:"
                " the latency goal allows larger micro-batches, everything is kept"
            )
        case Remedy.SHED:
            return f"{need}: {sampling_rate_of(code):.3g} of the {work_seconds:.3g} s that may be shed fits"
        case Remedy.REFUSE:
            return (
                f"{need}, of which shedding cannot save {unsheddable_seconds:.3g} s (fixed cost, reading,"
                " queries that need every row): refuse queries or streams, or add workers"
            )
