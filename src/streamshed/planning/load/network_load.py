"""A network and what is known of it as a work tree and demands: what planners of sampling rates plan on."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property

from streamshed.errors import near_miss
from streamshed.network.model.network import QueryNetwork
from streamshed.network.model.node import Node
from streamshed.network.model.operators import Apply
from streamshed.network.model.query import AnswerMode, Query
from streamshed.network.model.stream import Stream
from streamshed.network.terms.aggregate import AggregateCall, AggregateKind
from streamshed.network.terms.window import WindowSpecification
from streamshed.network.words.numbering import MICROSECONDS_PER_NUMBER
from streamshed.planning.tree.counted_rows import CountedDemand
from streamshed.planning.tree.demand import Demand
from streamshed.planning.tree.large_values import (
    CHOSEN_BY_SIZE,
    Choice,
    SizedSampling,
    chosen,
    lifted_spread,
    sizes_of,
)
from streamshed.planning.tree.scalability import NUMBERS_ROWS, obstacle
from streamshed.planning.tree.work_tree import WorkNode, WorkTree
from streamshed.sharing.counted_rows import SCALED, counted_node
from streamshed.sharing.large_values import SizedQueries, sized_queries
from streamshed.statistics.join_sides import side_nodes
from streamshed.statistics.learned import CALL_SECONDS
from streamshed.statistics.network_statistics import (
    Moments,
    NetworkStatistics,
    OperatorStatistics,
    QueryStatistics,
    StreamStatistics,
)

CARRYING_SHARE = 0.95
"""A query by groups is judged by the smallest of the groups that carry this share of its rows."""

_UNKNOWN_MOMENTS = Moments(mean=1.0, deviation=1.0)
"""Of values of which nothing is known: they spread as far as their mean is."""

_LEAST_SPREAD = 0.01
"""σ²/μ² of an average is taken to be no less: that its latest values were alike is no reason to keep no other."""

_KURTOSIS = 9.0
"""κ of values is not measured: that of an exponential distribution."""


@dataclass(frozen=True, slots=True, kw_only=True)
class NetworkLoad:
    """What a micro-batch asks for, as planners see it.

    Attributes:
        tree: The work that shedding can save, node by node.
        demands: The queries, in the tree's order; then the counting of rows for some of them.
        addresses: Of each node of the tree, `Node.address` of its stream or operator; None: it is a query's own work.
        unsheddable_seconds: Fixed cost and reading.
        sized: Queries whose rows are chosen by size, and how.
        reach: Per query, which share of its stream's rows comes to it.
    """

    tree: WorkTree
    demands: tuple[Demand, ...]
    addresses: tuple[str | None, ...]
    unsheddable_seconds: float
    sized: Mapping[str, SizedSampling] = field(default_factory=dict)
    reach: Mapping[str, float] = field(default_factory=dict)

    @property
    def unshed_seconds(self) -> float:
        """What it takes if nothing is shed."""
        return self.unsheddable_seconds + float(self.tree.node_seconds.sum())


def network_load(
    network: QueryNetwork,
    statistics: NetworkStatistics,
    *,
    trigger_interval_seconds: float,
    load_factor: float = 1.0,
    large_values: bool = False,
    counted_rows: bool = False,
) -> NetworkLoad:
    """Return what the rows of a trigger interval ask for.

    An operator's node takes n · Π s · t seconds, n the rows of its stream and Π s the selectivities above it. A query's
    own node takes what its rows cost on their way into slices; where it groups them, one more what its groups cost.

    Args:
        network: The network.
        statistics: Its statistics; what is missing costs nothing and passes all rows.
        trigger_interval_seconds: How long rows gather.
        load_factor: Times the rows per second that are known.
        large_values: Whether rows may be chosen by size, where that serves; see `large_values`.
        counted_rows: Whether rows may be counted for queries, where that serves; see `counted_rows`.
    """
    builder = _Builder(network, statistics, trigger_interval_seconds, load_factor)
    return builder.built(large_values=large_values, counted_rows=counted_rows)


def strangers(network: QueryNetwork, statistics: NetworkStatistics) -> list[str]:
    """Tell what statistics say of streams, operators and queries that a network does not have.

    Example:
        >>> from streamshed.network.model.network import network
        >>> from streamshed.network.source.sources import rate
        >>> from streamshed.network.model.declared_stream import stream
        >>> ticks = network(stream("ticks", rate(1), time="timestamp").query("rows"))
        >>> strangers(ticks, NetworkStatistics(queries={"row": QueryStatistics()}))
        ['there is no query "row" (did you mean "rows"?)']
    """
    addresses = [node.address for node in (*network.row_nodes, *side_nodes(network))]
    there = {
        "stream": (statistics.streams, [stream.name for stream in network.all_streams]),
        "operator": (statistics.operators, addresses),
        "query": (statistics.queries, [query.name for query in network.queries]),
        "join": (statistics.joins, [stream.name for stream in network.streams if stream.joined is not None]),
    }
    return [
        f'there is no {kind} "{name}"{near_miss(name, names)}'
        for kind, (described, names) in there.items()
        for name in described
        if name not in names
    ]


def rows_within(stream: Stream, arriving: StreamStatistics, window: WindowSpecification, share: float) -> float:
    """Return how many rows of a stream there are in a window, or the share of them that come to a place.

    Example:
        >>> from streamshed.network.source.sources import rate
        >>> from streamshed.network.model.declared_stream import stream
        >>> ticks = stream("ticks", rate(1), time="timestamp").stream
        >>> minute = WindowSpecification(60_000_000, 60_000_000)
        >>> rows_within(ticks, StreamStatistics(rows_per_second=100.0, event_seconds_per_second=2.0), minute, 0.5)
        1500.0
    """
    if window.is_by_count:
        return window.size_microseconds / MICROSECONDS_PER_NUMBER
    if stream.is_numbered:
        return arriving.rows_per_number * window.size_microseconds / MICROSECONDS_PER_NUMBER * share
    per_second = arriving.rows_per_second * share
    return per_second * window.size_microseconds / 1e6 / arriving.event_seconds_per_second


class _Builder:
    def __init__(
        self, network: QueryNetwork, statistics: NetworkStatistics, interval: float, load_factor: float
    ) -> None:
        self._network, self._statistics = network, statistics
        self._interval, self._load_factor = interval, load_factor
        self._nodes: list[WorkNode] = []
        self._addresses: list[str | None] = []
        self._reach: dict[Node, float] = {}
        self._place: dict[Node, int] = {}

    def built(self, *, large_values: bool, counted_rows: bool) -> NetworkLoad:
        for node in self._network.row_nodes:
            self._add_operator(node)
        for number, query in enumerate(self._network.queries):
            self._add_query(number, query)
        reading = sum(self._rows(stream) * self._of(stream).read_seconds_per_row for stream in self._network.streams)
        demands = tuple(map(self._demand, self._network.queries))
        by_query = {demand.query: demand for demand in demands}
        sized = chosen(list(self._choices(by_query))) if large_values else {}
        demands = tuple(
            replace(demand, coefficient=sized[demand.query][1]) if demand.query in sized else demand
            for demand in demands
        )
        if counted_rows:
            demands = self._with_counting(demands, frozenset(sized))
        return NetworkLoad(
            tree=WorkTree(tuple(self._nodes)),
            demands=demands,
            addresses=tuple(self._addresses),
            unsheddable_seconds=self._statistics.fixed_seconds + reading,
            sized={query: sampling for query, (sampling, _) in sized.items()},
            reach={query.name: self._reach[query.rows] for query in self._network.queries},
        )

    def _add_operator(self, node: Node) -> None:
        if isinstance(node, Stream):
            self._reach[node] = 1.0
            self._place[node] = self._add_node(node, None, self._rows(node) * self._of(node).parse_seconds_per_row)
            return
        above = node.path[-2]
        costs = self._statistics.operators.get(node.address, OperatorStatistics())
        seconds = self._rows(node.stream) * self._reach[above] * costs.seconds_per_row
        self._reach[node] = self._reach[above] * costs.selectivity
        self._place[node] = self._add_node(node, self._place[above], seconds)

    def _add_query(self, number: int, query: Query) -> None:
        costs = self._about(query)
        rows = self._rows(query.stream) * self._reach[query.rows]
        above = self._place[query.rows]
        groups = costs.groups
        row_seconds = rows * costs.seconds_per_row
        if groups is None or costs.seconds_per_group == 0:
            self._add(WorkNode(name=query.name, parent=above, seconds=row_seconds, query=number))
            return
        place = self._add(WorkNode(name=query.name, parent=above, seconds=row_seconds))
        met = groups.thinned(min(1.0, rows / groups.rows) if groups.rows > 0 else 0.0)
        seconds = met.groups * costs.seconds_per_group
        self._add(WorkNode(name=f"{query.name}: groups", parent=place, seconds=seconds, query=number, groups=met))

    def _with_counting(self, demands: Sequence[Demand], left_out: frozenset[str]) -> tuple[Demand, ...]:
        """Let queries have their rows counted for which that is worth while."""
        counted_demands = list(demands)
        for number, query in enumerate(self._network.queries):
            node = None if query.name in left_out else counted_node(query)
            if node is None or query.aggregate is None:
                continue
            both = CountedDemand(
                demand=demands[number],
                rows_of_window=self._rows_within(query.stream, query.aggregate.over, self._reach[node]),
                is_scaled=self._is_worst_scaled(query),
            )
            if both.is_worth_while:
                seconds = self._rows(query.stream) * self._reach[node] * self._seconds_per_counted_row(query, node)
                counted_demands[number] = both.sample
                counted_demands.append(both.counting)
                name = both.counting.query
                self._add(
                    WorkNode(name=name, parent=self._place[node], seconds=seconds, query=len(counted_demands) - 1)
                )
        return tuple(counted_demands)

    def _is_worst_scaled(self, query: Query) -> bool:
        """Whether the aggregate that is off most is one that gains by it."""
        calls = () if query.aggregate is None else query.aggregate.calls
        worst = max(calls, key=lambda named: self._coefficient(query, *named), default=None)
        return worst is not None and worst[1].kind in SCALED

    def _seconds_per_counted_row(self, query: Query, node: Node) -> float:
        """What it takes to count a row: its way into a slice; and past the functions, unless it goes there anyway.

        That is so where a query that is above all functions takes the rows.
        """
        goes_anyway = not self._taken_above_functions.isdisjoint(node.path)
        return self._about(query).seconds_per_row + (0.0 if goes_anyway else CALL_SECONDS)

    @cached_property
    def _taken_above_functions(self) -> frozenset[Node]:
        """Where queries that are above all functions take their rows."""
        places = {query.rows for query in self._network.queries}
        return frozenset(node for node in places if not any(isinstance(above, Apply) for above in node.path))

    def _add_node(self, node: Node, parent: int | None, seconds: float) -> int:
        return self._add(WorkNode(name=str(node), parent=parent, seconds=seconds), node.address)

    def _add(self, node: WorkNode, address: str | None = None) -> int:
        self._nodes.append(node)
        self._addresses.append(address)
        return len(self._nodes) - 1

    def _of(self, stream: Stream) -> StreamStatistics:
        return self._statistics.stream(stream.name)

    def _about(self, query: Query) -> QueryStatistics:
        return self._statistics.queries.get(query.name, QueryStatistics())

    def _rows(self, stream: Stream) -> float:
        return self._of(stream).rows_per_second * self._load_factor * self._interval

    def _demand(self, query: Query) -> Demand:
        calls = () if query.aggregate is None else query.aggregate.calls
        unscalable = any(obstacle(call.kind) is not None for _, call in calls)
        return Demand(
            query=query.name,
            coefficient=max((self._coefficient(query, name, call) for name, call in calls), default=1.0),
            weight=query.weight,
            priority=query.priority,
            is_protected=query.mode is not AnswerMode.APPROXIMATE or unscalable,
            whole_because=NUMBERS_ROWS if query.is_by_count else None,
            goal=query.max_error,
            is_set_valued=query.aggregate is None,
        )

    def _coefficient(self, query: Query, name: str, call: AggregateCall) -> float:
        """C = (σ²+μ²)/(N·μ²), N the rows with a value; of an average, whose count is estimated too, σ²/(N·μ²).

        Of a variance it is (κ−1)/N, κ = E(v−μ)⁴/σ⁴, and of its root a fourth of that. A quantile is off in rank: by how
        much of what is on its rarer side, (1−q)/(N·q) for q of at most a half.
        """
        rows = self._rows_of_window(query) * self._moments(query, name, call).present_share
        if rows <= 0:
            return 1.0
        spread = self._spread(query, name, call)
        return min(1.0, spread / rows) if math.isfinite(spread) else 1.0

    def _spread(self, query: Query, name: str, call: AggregateCall) -> float:
        if call.share is not None:
            rarer = min(call.share, 1 - call.share)
            return (1 - rarer) / rarer
        match call.kind:
            case AggregateKind.AVG:
                return max(self._moments(query, name, call).relative_variance, _LEAST_SPREAD)
            case AggregateKind.VARIANCE | AggregateKind.VAR_POP:
                return _KURTOSIS - 1
            case AggregateKind.STDDEV | AggregateKind.STDDEV_POP:
                return (_KURTOSIS - 1) / 4
            case _:
                return self._moments(query, name, call).relative_square

    def _moments(self, query: Query, name: str, call: AggregateCall) -> Moments:
        """Of what rows contribute: to a count, each that has a value 1."""
        moments = self._about(query).moments.get(name, _UNKNOWN_MOMENTS)
        if call.kind is not AggregateKind.COUNT:
            return moments
        return Moments() if call.argument is None else Moments(present_share=moments.present_share)

    def _choices(self, demands: Mapping[str, Demand]) -> Iterator[Choice]:
        """Queries whose rows might be chosen by size."""
        for together in sized_queries(self._network):
            queries = [self._network.query(name) for name in sorted(together.queries)]
            sampling = self._sampling(together, queries)
            if sampling is None or not all(self._may_be_sized(query, demands[query.name]) for query in queries):
                continue
            yield Choice(
                stream=together.stream,
                sampling=sampling,
                coefficients={
                    query.name: (demands[query.name].coefficient, self._sized_coefficient(query, sampling))
                    for query in queries
                },
                weights={query.name: query.weight for query in queries},
            )

    def _sampling(self, together: SizedQueries, queries: Sequence[Query]) -> SizedSampling | None:
        """By the values of the first query that is not known to be without spread."""
        for query in queries:
            for name, call in () if query.aggregate is None else query.aggregate.calls:
                moments = self._about(query).moments.get(name)
                if call.argument is None or moments is None:
                    continue
                if (sizes := sizes_of(moments)) is not None:
                    return SizedSampling(column=together.column, sizes=sizes)
        return None

    def _may_be_sized(self, query: Query, demand: Demand) -> bool:
        calls = () if query.aggregate is None else query.aggregate.calls
        are_alike = all(call.kind in CHOSEN_BY_SIZE for _, call in calls)
        return are_alike and not demand.is_protected and self._rows_of_window(query) > 0

    def _sized_coefficient(self, query: Query, sampling: SizedSampling) -> float:
        """C of its worst aggregate with rows chosen by size."""
        calls = () if query.aggregate is None else query.aggregate.calls
        moments = [(call.kind, self._moments(query, name, call)) for name, call in calls]
        spreads = [lifted_spread(sampling.sizes, kind, of_call) / of_call.present_share for kind, of_call in moments]
        return min(1.0, max(spreads) / self._rows_of_window(query))

    def _rows_of_window(self, query: Query) -> float:
        """N: the rows of a window, or of the smallest group of it that counts."""
        query_statistics = self._about(query)
        if query_statistics.groups is not None:
            return query_statistics.groups.rows_of_smallest(CARRYING_SHARE) * self._fuller_windows(query.stream)
        if query.aggregate is None:
            return 0.0
        return self._rows_within(query.stream, query.aggregate.over, self._reach[query.rows])

    def _rows_within(self, stream: Stream, window: WindowSpecification, reach: float) -> float:
        arriving = self._of(stream)
        fuller = replace(arriving, rows_per_second=arriving.rows_per_second * self._fuller_windows(stream))
        return rows_within(stream, fuller, window, reach)

    def _fuller_windows(self, stream: Stream) -> float:
        """How many times the rows a window holds at this load: where it lies along numbers, it only ends sooner."""
        return 1.0 if stream.is_numbered else self._load_factor
