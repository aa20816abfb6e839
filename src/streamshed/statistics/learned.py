"""What running micro-batches have told of operators and queries: selectivities, costs, moments, groups."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from streamshed.network.network import QueryNetwork
from streamshed.network.node import Node
from streamshed.network.operators import Apply
from streamshed.network.query import Query
from streamshed.statistics.group_sizes import GroupSizes
from streamshed.statistics.measured import Measured, WindowSums
from streamshed.statistics.network_statistics import (
    Moments,
    NetworkStatistics,
    OperatorStatistics,
    QueryStatistics,
)

KEPT = 0.9
"""What is left of a measurement's weight one micro-batch later: ten micro-batches count."""

CALL_SECONDS = 1.3e-6
"""What it takes to bring a row to a user function and back, on one core, besides what the function itself takes."""

_Sums = Mapping[str, float]


@dataclass(frozen=True, slots=True, kw_only=True)
class LearnedStatistics:
    """Sums over the latest micro-batches, older ones with less weight.

    All are sums of what was measured, so that ratios of them are means: what has many rows counts for more.

    Attributes:
        offered: Per stream, rows offered, and the seconds they took to come; those of them in which event time was seen
            to go on, and how far.
        calls: Per operator that calls a user function, rows that it was given by the share that was admitted, rows that
            it was given, seconds.
        values: Per query and aggregate, windows, rows, present, total, squares.
        groups: Per query, how many groups have about 2^k rows; under "windows", of how many windows.
        parallel_tasks: How many tasks ran at a time.
    """

    offered: Mapping[str, _Sums] = field(default_factory=dict)
    calls: Mapping[str, _Sums] = field(default_factory=dict)
    values: Mapping[str, _Sums] = field(default_factory=dict)
    groups: Mapping[str, _Sums] = field(default_factory=dict)
    parallel_tasks: int = 1

    def updated(
        self,
        measured: Measured,
        *,
        offered_rows: Mapping[str, int],
        elapsed_seconds: float,
    ) -> LearnedStatistics:
        """Take in what a micro-batch told.

        Args:
            measured: What it told.
            offered_rows: Its rows, by stream.
            elapsed_seconds: How long they took to come.
        """
        # Without rows event time goes by the clock, or a run comes to its end.
        is_timed = measured.event_seconds is not None and sum(offered_rows.values()) > 0
        timed = {"event_seconds": measured.event_seconds or 0.0, "timed_seconds": elapsed_seconds} if is_timed else {}
        offered = {
            name: _faded(
                self.offered.get(name, {}),
                {
                    "rows": float(rows),
                    "seconds": elapsed_seconds,
                    "timed_rows": float(rows) if is_timed else 0.0,
                    **timed,
                },
            )
            for name, rows in offered_rows.items()
        }
        calls = dict(self.calls)
        for address, cost in measured.calls.items():
            told = {
                "reached": cost.rows / measured.call_rates.get(address, 1.0),
                "rows": cost.rows,
                "seconds": cost.seconds,
            }
            told["offered"] = float(offered_rows.get(address.split(" > ")[0], 0))
            calls[address] = _faded(calls.get(address, {}), told)
        values, groups = dict(self.values), dict(self.groups)
        for (query, aggregate), sums in measured.windows.items():
            name = _value_name(query, aggregate)
            values[name] = _faded(values.get(name, {}), _value_sums(sums))
            if sums.group_sizes:
                sizes = {str(k): float(count) for k, count in sums.group_sizes.items()}
                groups[query] = _faded(groups.get(query, {}), {**sizes, "windows": float(len(sums.exact_windows))})
        return LearnedStatistics(
            offered=offered, calls=calls, values=values, groups=groups, parallel_tasks=measured.parallel_tasks
        )

    def statistics(self, network: QueryNetwork, believed: NetworkStatistics) -> NetworkStatistics:
        """Return what is known now: what was measured, and what was believed of all else.

        Args:
            network: The network.
            believed: What is known without measurements.
        """
        reach = self._reach(network)
        operators = {}
        for node in network.nodes:
            if isinstance(node, Node) and len(node.path) > 1:
                before = believed.operators.get(node.address, OperatorStatistics())
                operators[node.address] = self._operator(node, before, reach)
        streams = {
            stream.name: replace(believed.stream(stream.name), event_seconds_per_second=speed)
            for stream in network.streams
            if (speed := self._event_seconds_per_second(stream.name)) is not None
        }
        return replace(
            believed,
            streams={**believed.streams, **streams},
            operators={**believed.operators, **operators},
            queries={**believed.queries, **{query.name: self._query(query, believed) for query in network.queries}},
        )

    def to_document(self) -> dict[str, Any]:
        """Return what JSON can hold of it."""
        return {
            "offered": self.offered,
            "calls": self.calls,
            "values": self.values,
            "groups": self.groups,
            "parallel_tasks": self.parallel_tasks,
        }

    def _operator(self, node: Node, before: OperatorStatistics, reach: Mapping[Node, float]) -> OperatorStatistics:
        seconds = before.seconds_per_row
        known = self.calls.get(node.address, {})
        if isinstance(node, Apply) and known.get("rows", 0) > 0:
            seconds = (known["seconds"] / known["rows"] + CALL_SECONDS) / self.parallel_tasks
        selectivity = before.selectivity
        above = node.path[-2]
        if node in reach:
            selectivity = min(1.0, reach[node] / reach[above]) if reach.get(above, 1.0) > 0 else 1.0
        return OperatorStatistics(selectivity=selectivity, seconds_per_row=seconds)

    def _reach(self, network: QueryNetwork) -> dict[Node, float]:
        """The share of its stream's rows that a node passes on: at least what any node below it is known to get."""
        reach: dict[Node, float] = {}

        def at_least(node: Node, share: float) -> None:
            for above in node.path:
                reach[above] = max(reach.get(above, 0.0), min(1.0, share))

        for address, sums in self.calls.items():
            caller = next((n for n in network.nodes if isinstance(n, Node) and n.address == address), None)
            if caller is not None and sums.get("offered", 0) > 0:
                at_least(caller, sums["reached"] / sums["offered"])
        for query in network.queries:
            share = self._share_of_rows(query)
            if share is not None:
                at_least(query.rows, share)
        for stream in network.streams:
            if stream in reach:
                reach[stream] = 1.0
        return reach

    def _share_of_rows(self, query: Query) -> float | None:
        if query.aggregate is None:
            return None
        offered = self.offered.get(query.stream.name, {})
        sums = self._of_query(query)
        if sums is None or not sums.get("windows") or not offered.get("timed_rows") or not offered.get("event_seconds"):
            return None
        per_event_second = sums["rows"] / sums["windows"] / (query.aggregate.window.size_microseconds / 1e6)
        return per_event_second / (offered["timed_rows"] / offered["event_seconds"])

    def _event_seconds_per_second(self, stream: str) -> float | None:
        known = self.offered.get(stream, {})
        event_seconds, seconds = known.get("event_seconds", 0.0), known.get("timed_seconds", 0.0)
        return event_seconds / seconds if event_seconds > 0 and seconds > 0 else None

    def _of_query(self, query: Query) -> _Sums | None:
        if query.aggregate is None:
            return None
        names = (_value_name(query.name, name) for name, _ in query.aggregate.aggregates)
        return next((self.values[name] for name in names if name in self.values), None)

    def _query(self, query: Query, believed: NetworkStatistics) -> QueryStatistics:
        before = believed.queries.get(query.name, QueryStatistics())
        calls = () if query.aggregate is None else query.aggregate.aggregates
        moments = {name: found for name, _ in calls if (found := self._moments(query.name, name)) is not None}
        is_grouped = query.aggregate is not None and bool(query.aggregate.keys)
        groups = self._groups(query.name) if is_grouped else None
        return replace(before, moments={**before.moments, **moments}, groups=groups or before.groups)

    def _moments(self, query: str, aggregate: str) -> Moments | None:
        sums = self.values.get(_value_name(query, aggregate))
        if sums is None or not sums["present"] or not math.isfinite(sums["squares"]):
            return None
        mean = sums["total"] / sums["present"]
        return Moments(mean=mean, deviation=math.sqrt(max(0.0, sums["squares"] / sums["present"] - mean * mean)))

    def _groups(self, query: str) -> GroupSizes | None:
        known = self.groups.get(query, {})
        windows = known.get("windows", 0.0)
        sizes = [(2.0 ** int(k), count / windows) for k, count in known.items() if k != "windows" and count > 0]
        return GroupSizes(tuple(sorted(sizes))) if sizes and windows > 0 else None


def learned_from_document(document: Mapping[str, Any]) -> LearnedStatistics:
    """Restore what `to_document` returned."""
    return LearnedStatistics(**document)


def _value_name(query: str, aggregate: str) -> str:
    return json.dumps([query, aggregate])


def _value_sums(sums: WindowSums) -> dict[str, float]:
    return {
        "windows": float(len(sums.windows)),
        "rows": sums.rows,
        "present": sums.present,
        "total": sums.total,
        "squares": sums.squares,
    }


def _faded(known: _Sums, told: _Sums) -> dict[str, float]:
    return {name: KEPT * known.get(name, 0.0) + told.get(name, 0.0) for name in {**known, **told}}
