"""What running micro-batches have told of operators and queries: selectivities, costs, moments, groups."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field, fields, replace
from types import MappingProxyType
from typing import Any

from streamshed.answering.estimate.value_ranges import UsualRange
from streamshed.network.model.network import QueryNetwork
from streamshed.network.model.node import Node
from streamshed.network.model.operators import Apply
from streamshed.network.model.query import Query
from streamshed.network.model.stream import Stream
from streamshed.network.words.numbering import MICROSECONDS_PER_NUMBER
from streamshed.statistics.course import Course, gone_on, share_taken, taken
from streamshed.statistics.design_effects import with_spreads
from streamshed.statistics.fading import faded
from streamshed.statistics.group_sizes import GroupSizes
from streamshed.statistics.large_rows import are_missed, usual_range, with_large_rows
from streamshed.statistics.measured import GroupCounts, Measured, Passed, WindowSums
from streamshed.statistics.network_statistics import Moments, NetworkStatistics, OperatorStatistics, QueryStatistics
from streamshed.statistics.reach import reach_between
from streamshed.statistics.sql_cost import SqlCost, with_sql_costs
from streamshed.statistics.starved import Thinnest, is_starved, thinnest_after, until_answered

CALL_SECONDS = 1.3e-6
"""What it takes to bring a row to a user function and back, on one core, besides what the function itself takes."""

MOST_SECONDS_PER_GROUP = 50e-6
"""No group takes longer, on one core: where there are few of them, it is tasks that take time, groups or not."""

_LARGEST = 1e290
"""Beyond this, sums of ten micro-batches may have no number."""

_ALL_KEPT: Mapping[str, float] = MappingProxyType({})

_Sums = Mapping[str, float]


@dataclass(frozen=True, slots=True, kw_only=True)
class LearnedStatistics:
    """Sums over the latest micro-batches, older ones with less weight.

    All are sums of what was measured, so that ratios of them are means: what has many rows counts for more.

    Attributes:
        offered: Per stream, rows offered, and the seconds they took to come.
        latest: The same of the latest micro-batch alone.
        timed: The same of micro-batches with rows after which it was seen how far event time had gone on, and how far.
        courses: How many rows of each stream came until which event time.
        thinnest: Per query, the smallest rate at which it was sampled lately, and how many event seconds ago.
        calls: Per operator that calls a user function, rows that it was given by the share that was admitted, rows that
            it was given, seconds.
        values: Per query and aggregate, rows, present, total, squares, sizes, carried_rows, carried_logs; where it is
            known, rows taken, and out of how many, offered.
        large_rows: Per query and aggregate, windows, missed, lead and `RangeSums`, remembered longer than all else.
        passed: Per operator that was probed or whose rows are answers, rows, taken, out of how many, offered.
        state: What tasks took over groups in state, in how many micro-batches of which all rows were kept, and how many
            rows of each stream these had.
        groups: Per query, how many groups have about 2^k rows; under "windows", of how many windows, of which all
            rows were kept.
        sampled_groups: The same of those that were sampled: all that is known where a run is overloaded from its start.
        sql: What SQL took in trials, per stream and operator (`Node.address`), and aggregate (`asked_address`).
        block_spreads: Per stream, of_blocks and of_rows, see `BlockSpread`.
        task_seconds: Per stream, what tasks took for how many rows, see `with_task_seconds`.
        parallel_tasks: How many tasks ran at a time.
    """

    offered: Mapping[str, _Sums] = field(default_factory=dict)
    latest: Mapping[str, _Sums] = field(default_factory=dict)
    timed: Mapping[str, _Sums] = field(default_factory=dict)
    courses: Mapping[str, Course] = field(default_factory=dict)
    thinnest: Thinnest = field(default_factory=dict)
    calls: Mapping[str, _Sums] = field(default_factory=dict)
    values: Mapping[str, _Sums] = field(default_factory=dict)
    large_rows: Mapping[str, _Sums] = field(default_factory=dict)
    passed: Mapping[str, _Sums] = field(default_factory=dict)
    state: _Sums = field(default_factory=dict)
    groups: Mapping[str, _Sums] = field(default_factory=dict)
    sampled_groups: Mapping[str, _Sums] = field(default_factory=dict)
    sql: Mapping[str, SqlCost] = field(default_factory=dict)
    block_spreads: Mapping[str, _Sums] = field(default_factory=dict)
    task_seconds: Mapping[str, _Sums] = field(default_factory=dict)
    parallel_tasks: int = 1

    def with_sql(self, costs: Mapping[str, SqlCost], *, parallel_tasks: int) -> LearnedStatistics:
        """Take in what SQL took in trials.

        Args:
            costs: By address.
            parallel_tasks: How many tasks run at a time.
        """
        return replace(self, sql={**self.sql, **costs}, parallel_tasks=parallel_tasks)

    def updated(
        self,
        measured: Measured,
        *,
        offered_rows: Mapping[str, int],
        elapsed_seconds: float,
        sampling_rates: Mapping[str, float] = _ALL_KEPT,
    ) -> LearnedStatistics:
        """Take in what was measured of a micro-batch; nothing of samples that hardly had a row to be expected.

        Args:
            measured: What was measured of it.
            offered_rows: Its rows, by stream.
            elapsed_seconds: How long they took to come.
            sampling_rates: The effective sampling rates of its queries; of those left out 1.
        """
        latest = {name: {"rows": float(rows), "seconds": elapsed_seconds} for name, rows in offered_rows.items()}
        courses = gone_on(self.courses, measured.event_seconds, self.latest)
        thinnest = thinnest_after(self.thinnest, measured.event_seconds, sampling_rates)
        values, large_rows = dict(self.values), dict(self.large_rows)
        of_all = measured.windows.items()
        windows = [(of, sums) for of, sums in of_all if not self._is_starved(of, sums, thinnest, courses)]
        for (query, aggregate), sums in windows:
            name = _value_name(query, aggregate)
            values[name] = faded(values.get(name, {}), {**_value_sums(sums), **taken(sums, courses)})
            large_rows[name] = with_large_rows(large_rows.get(name, {}), sums.carried, sums.ranges)
        return replace(
            self,
            offered={name: faded(self.offered.get(name, {}), arrivals) for name, arrivals in latest.items()},
            latest=latest,
            timed=self._timed_with(measured.event_seconds),
            courses=courses,
            thinnest=until_answered(thinnest, measured.windows),
            calls=self._calls_with(measured, offered_rows),
            values=values,
            large_rows=large_rows,
            passed=self._passed_with(measured.passed, offered_rows, courses),
            state=self._state_with(measured.state_seconds, offered_rows),
            groups=_groups_with(self.groups, {q: sums.groups for (q, _), sums in windows if sums.groups.by_size}),
            sampled_groups=_groups_with(
                self.sampled_groups,
                {q: sums.sampled_groups for (q, _), sums in windows if sums.sampled_groups.by_size},
            ),
            block_spreads=with_spreads(self.block_spreads, measured.task_reports),
            parallel_tasks=measured.parallel_tasks,
        )

    def statistics(self, network: QueryNetwork, believed: NetworkStatistics) -> NetworkStatistics:
        """Return statistics: what was measured, and what is believed of all else.

        Args:
            network: The network.
            believed: What is known without measurements; what it says of other networks is left out.
        """
        nodes = network.row_nodes
        reach = reach_between(network, self._measured_reach(network), believed.operators)
        operators = {
            node.address: self._operator(node, believed.operators.get(node.address, OperatorStatistics()), reach)
            for node in nodes
            if len(node.path) > 1
        }
        measured_fields = {stream.name: self._of_windows(stream) for stream in network.streams}
        streams = {
            name: replace(believed.stream(name), **fields)
            for name, fields in measured_fields.items()
            if name in believed.streams or fields
        }
        queries = {query.name: self._query(query, believed) for query in network.queries}
        told_by_micro_batches = NetworkStatistics(
            fixed_seconds=believed.fixed_seconds,
            streams=streams,
            operators=operators,
            queries=self._with_group_costs(queries, network, reach),
        )
        return with_sql_costs(told_by_micro_batches, network, self.sql, parallel_tasks=self.parallel_tasks)

    def _with_group_costs(
        self, queries: Mapping[str, QueryStatistics], network: QueryNetwork, reach: Mapping[Node, float]
    ) -> Mapping[str, QueryStatistics]:
        """Divide the tasks' time for state by the groups that had a row, up to `MOST_SECONDS_PER_GROUP` for each."""
        micro_batches = self.state.get("micro_batches", 0.0)
        met = {}
        for query in network.queries:
            groups = queries[query.name].groups
            if groups is not None and micro_batches > 0:
                rows = reach.get(query.rows, 1.0) * self.state.get(f"rows of {query.stream.name}", 0.0) / micro_batches
                met[query.name] = groups.thinned(min(1.0, rows / groups.rows)).groups
        if sum(met.values()) <= 0:
            return queries
        of_all = self.state["seconds"] / micro_batches / sum(met.values())
        seconds = min(of_all, MOST_SECONDS_PER_GROUP) / self.parallel_tasks
        return {
            name: replace(statistics, seconds_per_group=seconds) if name in met else statistics
            for name, statistics in queries.items()
        }

    def measured_seconds_per_row(self, stream: str) -> float:
        """Return what user functions and SQL that was tried take per offered row of a stream that is kept whole.

        That is their part of the duration of a micro-batch, whose tasks run side by side; 0 where none was measured.
        """
        functions = sum(
            sums["reached"] / sums["offered"] * self._seconds_per_call(sums)
            for address, sums in self.calls.items()
            if _stream_of(address) == stream and sums.get("rows", 0) > 0 and sums.get("offered", 0) > 0
        )
        sql = sum(
            cost.share * cost.seconds_per_row for address, cost in self.sql.items() if _stream_of(address) == stream
        )
        return functions + sql / self.parallel_tasks

    def rows_per_event_second(self, stream: str) -> float | None:
        """Return the rows of a stream per second of event time, while it was not silent; None: not known."""
        sums = self.timed.get(stream, {})
        rows, event_seconds = sums.get("rows", 0.0), sums.get("event_seconds", 0.0)
        return rows / event_seconds if rows > 0 and event_seconds > 0 else None

    def effective_share(self, query: str, aggregate: str) -> float | None:
        """Return on which share of the rows kept estimates of an aggregate rest, as a rule; None: that is not known.

        It is the geometric mean over the latest windows and groups, each with the weight of its rows, so that a few in
        which one row carries everything do not speak for all. It is 0 where samples are likely to have missed
        large rows.
        """
        if are_missed(self.large_rows.get(_value_name(query, aggregate), {})):
            return 0.0
        sums = self.values.get(_value_name(query, aggregate), {})
        return math.exp(sums["carried_logs"] / rows) if (rows := sums.get("carried_rows", 0.0)) > 0 else None

    def usual_range(self, query: str, aggregate: str) -> UsualRange | None:
        """Return how far apart the values of a window are as a rule; None: that is not known."""
        return usual_range(self.large_rows.get(_value_name(query, aggregate), {}))

    def to_document(self) -> dict[str, Any]:
        """Return what JSON can hold of it."""
        sums = {part.name: getattr(self, part.name) for part in fields(self)}
        return {**sums, "sql": {address: asdict(cost) for address, cost in self.sql.items()}}

    def _timed_with(self, event_seconds: float | None) -> Mapping[str, _Sums]:
        """What is timed, with the rows that moved event time: those of the micro-batch before this one.

        Without rows event time goes by the clock, or a run comes to its end.
        """
        if event_seconds is None or not any(told["rows"] > 0 for told in self.latest.values()):
            return self.timed
        added = {name: {**told, "event_seconds": event_seconds} for name, told in self.latest.items()}
        return {**self.timed, **{name: faded(self.timed.get(name, {}), told) for name, told in added.items()}}

    def _calls_with(self, measured: Measured, offered_rows: Mapping[str, int]) -> Mapping[str, _Sums]:
        calls = dict(self.calls)
        for address, cost in measured.calls.items():
            stream, sampling_rate = _stream_of(address), measured.call_rates.get(address, 1.0)
            offered, before = float(offered_rows.get(stream, 0)), calls.get(address, {})
            call_sums = {"rows": cost.rows, "seconds": cost.seconds}
            if stream not in measured.thinned and not is_starved(sampling_rate, offered, _share_reached(before)):
                call_sums |= {"reached": cost.rows / sampling_rate, "offered": offered}
            calls[address] = faded(before, call_sums)
        return calls

    def _is_starved(
        self, of: tuple[str, str], sums: WindowSums, thinnest: Thinnest, courses: Mapping[str, Course]
    ) -> bool:
        """Whether hardly a row of windows was to be expected in a sample."""
        sampling_rate, seconds = thinnest.get(of[0], (1.0, 0.0))
        offered, before = taken(sums, courses).get("offered"), self.values.get(_value_name(*of), {})
        if sums.span is None or offered is None or seconds > sums.span.seconds:
            return False
        return is_starved(sampling_rate, offered, share_taken(before))

    def _passed_with(
        self, newest: Mapping[str, Passed], offered_rows: Mapping[str, int], courses: Mapping[str, Course]
    ) -> Mapping[str, _Sums]:
        passed = dict(self.passed)
        for address, newest_passed in newest.items():
            offered = {"taken": newest_passed.rows, "offered": float(offered_rows.get(_stream_of(address), 0))}
            sums = offered if newest_passed.span is None else taken(newest_passed, courses)
            passed[address] = faded(passed.get(address, {}), sums)
        return passed

    def _state_with(self, seconds: float | None, offered_rows: Mapping[str, int]) -> _Sums:
        if seconds is None or not any(offered_rows.values()):
            return self.state
        rows = {f"rows of {name}": float(rows) for name, rows in offered_rows.items()}
        return faded(self.state, {"seconds": seconds, "micro_batches": 1.0, **rows})

    def _operator(self, node: Node, before: OperatorStatistics, reach: Mapping[Node, float]) -> OperatorStatistics:
        seconds, is_measured = before.seconds_per_row, before.is_measured
        sums = self.calls.get(node.address, {})
        if isinstance(node, Apply) and sums.get("rows", 0) > 0:
            seconds, is_measured = self._seconds_per_call(sums), True
        selectivity = min(1.0, reach[node] / reach[node.path[-2]]) if node in reach else before.selectivity
        return OperatorStatistics(selectivity=selectivity, seconds_per_row=seconds, is_measured=is_measured)

    def _seconds_per_call(self, sums: _Sums) -> float:
        return (sums["seconds"] / sums["rows"] + CALL_SECONDS) / self.parallel_tasks

    def _measured_reach(self, network: QueryNetwork) -> dict[Node, float]:
        """The share of its stream's rows that a function was given, or a query has taken in."""
        reach: dict[Node, float] = {}
        for node in network.row_nodes:
            share = _share_reached(self.calls.get(node.address, {})) if isinstance(node, Apply) else None
            if share is not None:
                reach[node] = share
        for query in network.queries:
            share = share_taken(self._of_query(query) or {})
            if share is not None:
                reach[query.rows] = max(share, reach.get(query.rows, 0.0))
        for node in network.row_nodes:
            share = share_taken(self.passed.get(node.address, {}))
            if share is not None:
                reach.setdefault(node, share)
        return reach

    def _of_windows(self, stream: Stream) -> dict[str, float]:
        """What was learned of a stream that says how many rows are in a window of it."""
        if stream.is_numbered:
            per_second = self.rows_per_event_second(stream.name)
            return {} if per_second is None else {"rows_per_number": per_second * MICROSECONDS_PER_NUMBER / 1e6}
        speed = self._event_seconds_per_second(stream.name)
        return {} if speed is None else {"event_seconds_per_second": speed}

    def _event_seconds_per_second(self, stream: str) -> float | None:
        sums = self.timed.get(stream, {})
        event_seconds, seconds = sums.get("event_seconds", 0.0), sums.get("seconds", 0.0)
        return event_seconds / seconds if event_seconds > 0 and seconds > 0 else None

    def _of_query(self, query: Query) -> _Sums | None:
        if query.aggregate is None:
            return None
        names = (_value_name(query.name, name) for name, _ in query.aggregate.calls)
        return next((self.values[name] for name in names if name in self.values), None)

    def _query(self, query: Query, believed: NetworkStatistics) -> QueryStatistics:
        before = believed.queries.get(query.name, QueryStatistics())
        calls = () if query.aggregate is None else query.aggregate.calls
        moments = {
            name: measured_moments
            for name, _ in calls
            if (measured_moments := self._moments(query.name, name)) is not None
        }
        is_grouped = query.aggregate is not None and bool(query.aggregate.keys)
        groups = self._groups(query.name) if is_grouped else None
        return replace(before, moments={**before.moments, **moments}, groups=groups or before.groups)

    def _moments(self, query: str, aggregate: str) -> Moments | None:
        sums = self.values.get(_value_name(query, aggregate))
        if sums is None or not sums.get("present"):
            return None
        mean = sums["total"] / sums["present"]
        deviation = math.sqrt(max(0.0, sums["squares"] / sums["present"] - mean * mean))
        size = sums["sizes"] / sums["present"] if sums["sizes"] > 0 else None
        present_share = min(1.0, sums["present"] / max(sums["rows"], sums["present"]))
        return Moments(mean=mean, deviation=deviation, size=size, present_share=present_share)

    def _groups(self, query: str) -> GroupSizes | None:
        sums = self.groups.get(query) or self.sampled_groups.get(query, {})
        windows = sums.get("windows", 0.0)
        sizes = [(2.0 ** int(k), count / windows) for k, count in sums.items() if k != "windows" and count > 0]
        return GroupSizes(tuple(sorted(sizes))) if sizes and windows > 0 else None


def learned_from_document(document: Mapping[str, Any]) -> LearnedStatistics:
    """Restore what `to_document` returned."""
    sql = {address: SqlCost(**fields) for address, fields in document.get("sql", {}).items()}
    courses = {name: tuple((at, rows) for at, rows in course) for name, course in document.get("courses", {}).items()}
    thinnest = {query: (rate, seconds) for query, (rate, seconds) in document.get("thinnest", {}).items()}
    passed = {address: sums for address, sums in document.get("passed", {}).items() if "taken" in sums}
    return LearnedStatistics(**{**document, "sql": sql, "courses": courses, "thinnest": thinnest, "passed": passed})


def _share_reached(sums: _Sums) -> float | None:
    return sums["reached"] / sums["offered"] if sums.get("offered", 0) > 0 else None


def _stream_of(address: str) -> str:
    return address.split(" > ", maxsplit=1)[0]


def _value_name(query: str, aggregate: str) -> str:
    return json.dumps([query, aggregate])


def _value_sums(sums: WindowSums) -> dict[str, float]:
    counted = {"rows": sums.rows, "carried_rows": sums.carried.rows, "carried_logs": sums.carried.logs}
    of_values = {"total": sums.total, "squares": sums.squares, "sizes": sums.sizes}
    if not all(abs(total) <= _LARGEST for total in of_values.values()):
        return counted
    return {**counted, "present": sums.present, **of_values}


def _groups_with(earlier: Mapping[str, _Sums], newest: Mapping[str, GroupCounts]) -> Mapping[str, _Sums]:
    """Add the groups that queries were answered for; they are the same for all aggregates of a query."""
    groups = dict(earlier)
    for query, counts in newest.items():
        sizes = {str(k): float(count) for k, count in counts.by_size.items()}
        groups[query] = faded(groups.get(query, {}), {**sizes, "windows": float(len(counts.windows))})
    return groups
