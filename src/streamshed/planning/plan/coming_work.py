"""The work on the rows of a micro-batch, query by query: what rates are planned on."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace

import numpy as np

from streamshed.network.model.network import QueryNetwork
from streamshed.planning.load.network_load import NetworkLoad, network_load, rows_within
from streamshed.planning.place.placement import query_place
from streamshed.planning.plan.replanning import RatePlanner
from streamshed.planning.plan.useful_rates import useful_rates
from streamshed.planning.rates.rate_policies import RatePolicy
from streamshed.planning.tree.demand import Demand
from streamshed.planning.tree.large_values import SizedSampling
from streamshed.planning.tree.work_index import WorkIndex
from streamshed.planning.tree.work_tree import Vector, WorkTree
from streamshed.planning.window_drop.choose.drop_plan import DropPlan
from streamshed.planning.window_drop.choose.tolerant_work import TolerantWork
from streamshed.planning.window_drop.track.decisions import UpcomingWindows
from streamshed.planning.window_drop.track.droppable import DroppableQuery, droppable_queries
from streamshed.planning.window_drop.track.state_limit import state_entries
from streamshed.statistics.forecast import Statistics
from streamshed.statistics.network_statistics import NetworkStatistics, StreamStatistics

LEAST_SHARE = 1e-6
"""No micro-batch is said to do no work at all."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ComingWork:
    """The work on the rows of a micro-batch, query by query.

    Attributes:
        tree: What it takes, in seconds that the load model predicts.
        demands: The queries, in the tree's order; then the counting of rows for some of them.
        streams: Per node of the tree, its stream.
        places: Per node of the tree, the address of its stream or operator, or the `query_place` of its query.
        sized: Queries whose rows are chosen by size, and how.
        droppable: Queries whose windows may be dropped, by name.
        upcoming: What is known of windows.
        planner: Plans for the same work at any load; None: each plan is a new one.
        known_least_shares: What `least_shares` are, where that was worked out already.
        known_index: What `index` is, where that was worked out already.
        error_factor: By what the squared errors of all queries have changed since, as more or fewer rows come.
        reach: Per query, which share of its stream's rows comes to it.
        useful: Per query, the largest effective sampling rate that is of use; of one that is left out, 1.
        needed: Per query, which share of its rows anybody needs, by their times; of one that is left out, all.
        read: Per stream, which share of its rows is read; of one that is left out, all.
        windows: What becomes of windows, where that is decided already.
    """

    tree: WorkTree
    demands: tuple[Demand, ...]
    streams: tuple[str, ...]
    places: tuple[str, ...]
    sized: Mapping[str, SizedSampling] = field(default_factory=dict)
    droppable: Mapping[str, DroppableQuery] = field(default_factory=dict)
    upcoming: UpcomingWindows = field(default_factory=UpcomingWindows)
    planner: RatePlanner | None = None
    known_least_shares: Mapping[str, float] | None = None
    known_index: WorkIndex | None = None
    error_factor: float = 1.0
    reach: Mapping[str, float] = field(default_factory=dict)
    useful: Mapping[str, float] = field(default_factory=dict)
    needed: Mapping[str, float] = field(default_factory=dict)
    read: Mapping[str, float] = field(default_factory=dict)
    windows: DropPlan | None = None

    def rates(self, policy: RatePolicy, budget_seconds: float) -> Vector:
        """Return the effective sampling rate of each query with which a policy fills a budget."""

        def rates_of(seconds: float) -> Vector:
            if self.planner is not None:
                return self.planner.rates(seconds, 1.0)
            return policy(self.tree, self.demands, seconds)

        return (
            useful_rates(rates_of, self.largest, self.tree, budget_seconds)
            if self.is_limited
            else rates_of(budget_seconds)
        )

    @property
    def is_limited(self) -> bool:
        """Whether rates are below 1 in any case."""
        return bool(self.useful or self.read)

    @property
    def index(self) -> WorkIndex:
        """Its streams and demands by their places."""
        return WorkIndex(self.streams, self.demands) if self.known_index is None else self.known_index

    @property
    def largest(self) -> Vector:
        """Per demand, the largest rate that is of use, and that can be."""
        largest = self.index.of_demands(self.useful)
        if not self.read:
            return largest
        of_streams = [self.read.get(self.streams[node], 1.0) for node in self.tree.query_nodes]
        readable: Vector = np.minimum(largest, np.array(of_streams))
        return readable

    @property
    def needed_shares(self) -> Vector:
        """Per demand, the share of its rows that anybody needs."""
        return self.index.of_demands(self.needed)

    def read_in_part(self, shares: Mapping[str, float]) -> ComingWork:
        """Return the same where no more than shares of the rows of some streams are read."""
        return replace(self, read=dict(shares)) if shares or self.read else self

    def useful_to(self, wanted: Mapping[str, float], needed: Mapping[str, float]) -> ComingWork:
        """Return the same, where some queries have no use for all rows; none is left without any.

        Args:
            wanted: Per query, how many of those that come to it are of use, as a share of its stream's rows.
            needed: As the attribute.
        """
        shares = {
            query: max(LEAST_SHARE, share / coming)
            for query, share in wanted.items()
            if (coming := self.reach.get(query, 1.0) * needed.get(query, 1.0)) > share
        }
        return replace(self, useful=shares, needed=needed)

    @property
    def tolerant(self) -> TolerantWork:
        """The same, as those see it who drop windows."""
        return TolerantWork(self.tree, self.demands, self.droppable)

    @property
    def stream_seconds(self) -> dict[str, float]:
        """What the work on each stream's rows takes if nothing is shed."""
        return self.index.by_stream(self.tree.node_seconds)

    def shares(self, rates: Vector) -> dict[str, float]:
        """Return the share of each stream's work that is done at some effective rates of the queries; of none, 1."""
        done = self.index.by_stream(self.tree.node_seconds * self.tree.shares(self.tree.node_rates(rates)))
        whole = self.stream_seconds
        return {stream: done[stream] / seconds if seconds > 0 else 1.0 for stream, seconds in whole.items()}

    @property
    def least_shares(self) -> dict[str, float]:
        """The share of each stream's work that protected queries ask for; of none, 0 where a query is not protected."""
        if self.known_least_shares is not None:
            return dict(self.known_least_shares)
        idle = {stream: 1.0 for stream, seconds in self.stream_seconds.items() if seconds <= 0}
        for node, demand in zip(self.tree.query_nodes, self.demands, strict=True):
            if self.streams[node] in idle and not self._needs_all(demand):
                idle[self.streams[node]] = 0.0
        return {**self.shares(np.array([float(self._needs_all(demand)) for demand in self.demands])), **idle}

    def _needs_all(self, demand: Demand) -> bool:
        return demand.is_protected and demand.query not in self.droppable


def coming_work(
    network: QueryNetwork,
    network_statistics: NetworkStatistics,
    statistics: Statistics,
    *,
    trigger_interval_seconds: float,
    large_values: bool = False,
    counted_rows: bool = False,
    windows: UpcomingWindows | None = None,
) -> ComingWork:
    """Return the work on the rows of a micro-batch.

    What operators and queries cost, as a share of a stream's work, is from the network's statistics; what all of them
    take together is from the load model.

    Args:
        network: The network.
        network_statistics: Its statistics.
        statistics: The coming rows and what they cost.
        trigger_interval_seconds: How long they gather.
        large_values: Whether rows may be chosen by size.
        counted_rows: Whether rows may be counted for queries.
        windows: What is known of windows; None: none is dropped.
    """
    arriving = {
        stream.name: replace(
            network_statistics.stream(stream.name),
            rows_per_second=statistics.offered_rows.get(stream.name, 0) / trigger_interval_seconds,
        )
        for stream in network.streams
    }
    load = network_load(
        network,
        replace(network_statistics, streams=arriving),
        trigger_interval_seconds=trigger_interval_seconds,
        large_values=large_values,
        counted_rows=counted_rows,
    )
    droppable = {} if windows is None else {query.query: query for query in droppable_queries(network)}
    streams = _streams_of(load)
    return ComingWork(
        tree=_scaled(load, streams, statistics),
        demands=load.demands,
        streams=streams,
        known_index=WorkIndex(streams, load.demands),
        places=tuple(_places(load)),
        sized=load.sized,
        droppable=droppable,
        reach=load.reach,
        upcoming=UpcomingWindows()
        if windows is None
        else replace(windows, state_entries=_state_entries(network, network_statistics, load, droppable, arriving)),
    )


def _streams_of(load: NetworkLoad) -> tuple[str, ...]:
    """Per node of the tree, its stream: parents come before their children."""
    streams: list[str] = []
    for node, address in zip(load.tree.nodes, load.addresses, strict=True):
        streams.append(str(address) if node.parent is None else streams[node.parent])
    return tuple(streams)


def _places(load: NetworkLoad) -> Iterator[str]:
    for node, address in zip(load.tree.nodes, load.addresses, strict=True):
        if address is None:
            yield query_place(node.name if node.query is None else load.demands[node.query].query)
        else:
            yield address


def _scaled(load: NetworkLoad, streams: tuple[str, ...], statistics: Statistics) -> WorkTree:
    """Let the work on each stream's rows take as long in all as the load model says."""
    known_seconds = dict.fromkeys(streams, 0.0)
    for node, stream in zip(load.tree.nodes, streams, strict=True):
        known_seconds[stream] += node.seconds
    scales = {
        stream: statistics.work_seconds(stream) / seconds if seconds > 0 else 0.0
        for stream, seconds in known_seconds.items()
    }
    nodes = zip(load.tree.nodes, streams, strict=True)
    return WorkTree(tuple(replace(node, seconds=node.seconds * scales[stream]) for node, stream in nodes))


def _state_entries(
    network: QueryNetwork,
    statistics: NetworkStatistics,
    load: NetworkLoad,
    droppable: Mapping[str, DroppableQuery],
    arriving: Mapping[str, StreamStatistics],
) -> Mapping[str, float]:
    """Per query whose windows may be dropped, the entries of state that its windows take."""
    window_rows = {
        query.name: rows_within(
            query.stream, arriving[query.stream.name], droppable[query.name].reach, load.reach[query.name]
        )
        for query in network.queries
        if query.name in droppable and query.stream.name in arriving
    }
    return state_entries(droppable, statistics, window_rows)
