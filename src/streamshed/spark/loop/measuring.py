"""What tasks told of a micro-batch, in the terms of the network: operators by address, values by query."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import replace
from types import MappingProxyType
from typing import TypeVar

from streamshed.answering.estimate.value_ranges import UsualRange
from streamshed.answering.table.output import Output
from streamshed.answering.table.shed_interval import share_name
from streamshed.network.model.query import Query
from streamshed.planning.tree.quantization import WHOLE, sampling_rate_of
from streamshed.sharing.instructions import Call
from streamshed.sharing.intake import Share
from streamshed.sharing.probes import ONE_IN
from streamshed.sharing.stream_work import StreamWork, call_addresses
from streamshed.spark.common.call_costs import CallCosts
from streamshed.spark.plan.plan_row import StreamPlan
from streamshed.statistics.learned import LearnedStatistics
from streamshed.statistics.measured import CallCost, Measured, Passed, SpannedTime, WindowSums
from streamshed.statistics.task_report import TaskReport

_Learned = TypeVar("_Learned")


def measured(  # noqa: PLR0913 - each is told by another part of a run
    works: Mapping[str, StreamWork],
    plans: Mapping[str, StreamPlan],
    costs: CallCosts,
    sums: Mapping[Share, WindowSums] | None,
    outputs: Sequence[Output],
    *,
    parallel_tasks: int,
    event_seconds: float | None,
    state_seconds: float = 0.0,
    first_events: Mapping[str, int] | None = None,
    task_reports: Mapping[str, TaskReport] = MappingProxyType({}),
) -> Measured:
    """Return what the tasks of a micro-batch measured.

    Args:
        works: Of each stream.
        plans: What each stream was told; of a stream without, nothing is said of its functions.
        costs: What user functions took.
        sums: Sums over windows that were answered, and over rows that are answers; None: they are not known.
        outputs: What the queries ask for.
        parallel_tasks: How many tasks ran at a time.
        event_seconds: How far event time went on with the rows of the micro-batch before; None: that is not known.
        state_seconds: What tasks took over groups in state.
        first_events: Per stream, the time of its first row, microseconds. Windows that begin earlier are not whole. Of
            a stream that is left out, all windows count as whole.
        task_reports: What tasks tell of the streams that they read.
    """
    spanned_sums = {} if sums is None else _with_spans(sums, works, first_events or {})
    thinned = frozenset(name for name, plan in plans.items() if plan.row_share is not None and plan.row_share < 1)
    is_whole = not thinned and all(plan.sampling_code == WHOLE and not plan.share_codes for plan in plans.values())
    calls = [one for name, work in works.items() if name in plans for one in _calls(work, plans[name], costs)]
    return Measured(
        calls={address: cost for address, cost, _ in calls},
        call_rates={address: sampling_rate for address, _, sampling_rate in calls},
        thinned=thinned,
        windows={
            (output.query, output.aggregate): spanned_sums[output.definition_id, output.slot]
            for output in outputs
            if (output.definition_id, output.slot) in spanned_sums and output.aggregate
        },
        passed={}
        if sums is None
        else dict(passed for work in works.values() for passed in _passed(work, spanned_sums, first_events or {})),
        state_seconds=state_seconds if is_whole else None,
        parallel_tasks=parallel_tasks,
        event_seconds=event_seconds,
        task_reports=task_reports,
    )


def effective_shares(learned: LearnedStatistics, outputs: Sequence[Output]) -> dict[str, float]:
    """Return the share of the kept rows that estimates usually rest on, by `share_name`, where it has been learned.

    Args:
        learned: What the run has learned.
        outputs: What the queries ask for.
    """
    return _by_share(outputs, learned.effective_share)


def usual_ranges(learned: LearnedStatistics, outputs: Sequence[Output]) -> dict[str, UsualRange]:
    """Return how far apart the values of a window usually are, by `share_name`, where it has been learned.

    Args:
        learned: What the run has learned.
        outputs: What the queries ask for.
    """
    return _by_share(outputs, learned.usual_range)


def _by_share(outputs: Sequence[Output], learned_of: Callable[[str, str], _Learned | None]) -> dict[str, _Learned]:
    learned = {
        share_name(output.definition_id, output.slot): learned_of(output.query, output.aggregate) for output in outputs
    }
    return {share: value for share, value in learned.items() if value is not None}


def _with_spans(
    sums: Mapping[Share, WindowSums], works: Mapping[str, StreamWork], first_events: Mapping[str, int]
) -> dict[Share, WindowSums]:
    """The sums, with the time that their windows are over."""
    queries = {slot.query.definition_id: slot.query for work in works.values() for slot in work.slots}
    return {
        share: replace(share_sums, span=_span(queries[share[0]], share_sums.windows, first_events))
        if share[0] in queries
        else share_sums
        for share, share_sums in sums.items()
    }


def _span(query: Query, starts: AbstractSet[int], first_events: Mapping[str, int]) -> SpannedTime | None:
    """The time that windows of a query are over; None: it has none."""
    if query.aggregate is None or not starts:
        return None
    size = query.aggregate.over.size_microseconds
    covered = _covered(starts, size, first_events.get(query.stream.name, min(starts)))
    return SpannedTime(query.stream.name, covered / 1e6, (max(starts) + size - min(starts)) / 1e6)


def _covered(starts: Iterable[int], size: int, first_event: int) -> int:
    """How long windows are, all together, behind the first row.

    >>> _covered([-50, 0, 70], 100, 0), _covered([-100], 100, 0)
    (250, 0)
    """
    return sum(min(size, max(0, start + size - first_event)) for start in starts)


def _passed(
    work: StreamWork, sums: Mapping[Share, WindowSums], first_events: Mapping[str, int]
) -> Iterator[tuple[str, Passed]]:
    """Address and rows of operators that are probed, and of those whose rows are answers."""
    for probe in work.probes:
        query = probe.query
        probed, beside = sums.get((query.definition_id, probe.slot)), sums.get((query.definition_id, 0))
        if beside is None:
            continue
        rows = 0.0 if probed is None else ONE_IN * probed.rows
        windows = beside.windows if probed is None else beside.windows | probed.windows
        span = _span(query, windows, first_events)
        if span is not None:
            yield probe.node.address, Passed(rows, span)
    for query in work.set_valued:
        yield query.rows.address, Passed(sums.get((query.definition_id, 0), WindowSums()).rows)


def _calls(work: StreamWork, plan: StreamPlan, costs: CallCosts) -> Iterator[tuple[str, CallCost, float]]:
    """Address, cost and effective sampling rate of each operator that calls a function.

    Operators that share a call share its cost. Rows go to a function once on their way to windows, and once more on
    that of rows that are answers themselves: that is two calls for one row.
    """
    addresses = call_addresses(work)
    codes = work.gating.instruction_codes(plan.effective_codes(work.gating))
    for instruction, code, users in zip(work.program.instructions, codes, work.gating.instructions, strict=True):
        if not isinstance(instruction, Call) or instruction.column not in costs:
            continue
        ways = {work.intakes[user].class_index is None for user in users}
        cost, alike = costs[instruction.column], addresses[instruction.column]
        for address in alike:
            yield address, CallCost(cost.rows / max(len(ways), 1), cost.seconds / len(alike)), sampling_rate_of(code)
