"""From the share of work that fits to the effective sampling rate of each query: what is shed is chosen here."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace

import numpy as np
import numpy.typing as npt

from streamshed.network.network import QueryNetwork
from streamshed.planning.demand import Demand
from streamshed.planning.large_values import SizedSampling
from streamshed.planning.network_load import network_load
from streamshed.planning.placement import edge_rates
from streamshed.planning.quantization import WHOLE, codes_of, sampling_rate_of, sampling_rates_of
from streamshed.planning.rate_policies import RatePolicy
from streamshed.planning.replanning import RatePlanner
from streamshed.planning.window_drop.decisions import UpcomingWindows
from streamshed.planning.window_drop.drop_plan import DropPlan, drop_plan, nothing_more_dropped
from streamshed.planning.window_drop.droppable import DroppableQuery, droppable_queries
from streamshed.planning.window_drop.state_limit import Pressure, state_entries
from streamshed.planning.window_drop.tolerant_work import TolerantWork
from streamshed.planning.work_tree import Vector, WorkTree
from streamshed.statistics.forecast import Statistics
from streamshed.statistics.network_statistics import NetworkStatistics

_HALVINGS = 6
"""So often a rate's rounding is halved: then less is left than the next code is apart."""

_LEAST_SHARE = 1e-6
"""No micro-batch is said to do no work at all."""

_ROUNDING = 1e-12
"""What sums of the same seconds differ by: rates that fill a budget exactly are not rounded down for it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SizedRate:
    """At which rates the rows of a query are kept that are chosen by size.

    Attributes:
        column: Of the stream: its values v tell how large rows are.
        threshold: τ.
        code: Code of b: a row is kept with probability min(1, b·max(1, |v|/τ)).
    """

    column: str
    threshold: float
    code: int


@dataclass(frozen=True, slots=True, kw_only=True)
class QueryRates:
    """What each query is answered from.

    Attributes:
        codes: Codes of the queries' effective sampling rates.
        work_shares: Per stream, the share of the work on its rows that this takes.
        expected_errors: Per query, the relative standard error of its worst aggregate.
        samplers: The sampling rate of each sampler that this takes, by the address of the stream or operator, or the
            name of the query, that it stands before.
        missed_goals: Queries that will exceed the error they should stay within more often than they may.
        sized: Of the queries that are shed, those whose rows are chosen by size, and at which rates.
        counting: Of the queries that are shed, those whose rows are counted above a function, and the code of the rate
            at which they are.
        windows: What becomes of windows; None: none is ever dropped.
        row_shares: Per stream, which share of its rows anybody needs; of those that are missing, as sampled.
    """

    codes: Mapping[str, int]
    work_shares: Mapping[str, float]
    expected_errors: Mapping[str, float]
    samplers: Mapping[str, float]
    missed_goals: tuple[str, ...]
    sized: Mapping[str, SizedRate]
    counting: Mapping[str, int] = field(default_factory=dict)
    windows: DropPlan | None = None
    row_shares: Mapping[str, float] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class ComingWork:
    """The work on the rows of a micro-batch, query by query.

    Attributes:
        tree: What it takes, in seconds that the load model predicts.
        demands: The queries, in the tree's order; then the counting of rows for some of them.
        streams: Per node of the tree, its stream.
        places: Per node of the tree, the address of its stream or operator, or the name of its query.
        sized: Queries whose rows are chosen by size, and how.
        droppable: Queries whose windows may be dropped, by name.
        upcoming: What is known of windows.
        planner: Plans for the same work at any load; None: each plan is a new one.
        known_least_shares: What `least_shares` are, where that was worked out already.
        error_factor: By what the squared errors of all queries have changed since, as more or fewer rows come.
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
    error_factor: float = 1.0

    def rates(self, policy: RatePolicy, budget_seconds: float) -> Vector:
        """Return the effective sampling rate of each query with which a policy fills a budget."""
        if self.planner is not None:
            return self.planner.rates(budget_seconds, 1.0)
        return policy(self.tree, self.demands, budget_seconds)

    @property
    def tolerant(self) -> TolerantWork:
        """The same, as those see it who drop windows."""
        return TolerantWork(self.tree, self.demands, self.droppable)

    @property
    def stream_seconds(self) -> dict[str, float]:
        """What the work on each stream's rows takes if nothing is shed."""
        found: dict[str, float] = dict.fromkeys(self.streams, 0.0)
        for stream, seconds in zip(self.streams, self.tree.node_seconds.tolist(), strict=True):
            found[stream] += seconds
        return found

    def shares(self, rates: Vector) -> dict[str, float]:
        """Return the share of each stream's work that is done at some effective rates of the queries; of none, 1."""
        whole = self.stream_seconds
        done = dict.fromkeys(whole, 0.0)
        shares = self.tree.shares(self.tree.node_rates(rates))
        for stream, seconds, share in zip(self.streams, self.tree.node_seconds.tolist(), shares.tolist(), strict=True):
            done[stream] += seconds * share
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
    known: NetworkStatistics,
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
        known: Its statistics.
        statistics: The coming rows and what they cost.
        trigger_interval_seconds: How long they gather.
        large_values: Whether rows may be chosen by size.
        counted_rows: Whether rows may be counted for queries.
        windows: What is known of windows; None: none is dropped.
    """
    arriving = {
        stream.name: replace(
            known.stream(stream.name),
            rows_per_second=statistics.offered_rows.get(stream.name, 0) / trigger_interval_seconds,
        )
        for stream in network.streams
    }
    asked = network_load(
        network,
        replace(known, streams=arriving),
        trigger_interval_seconds=trigger_interval_seconds,
        large_values=large_values,
        counted_rows=counted_rows,
    )
    droppable = {} if windows is None else {one.query: one for one in droppable_queries(network)}
    nodes = asked.tree.nodes
    streams: list[str] = []
    for node, address in zip(nodes, asked.addresses, strict=True):
        streams.append(str(address) if node.parent is None else streams[node.parent])
    known_seconds = dict.fromkeys(streams, 0.0)
    for node, stream in zip(nodes, streams, strict=True):
        known_seconds[stream] += node.seconds
    scales = {
        stream: statistics.work_seconds(stream) / seconds if seconds > 0 else 0.0
        for stream, seconds in known_seconds.items()
    }
    scaled = [replace(node, seconds=node.seconds * scales[stream]) for node, stream in zip(nodes, streams, strict=True)]
    places = [
        asked.demands[node.query].query if address is None and node.query is not None else address or node.name
        for node, address in zip(nodes, asked.addresses, strict=True)
    ]
    return ComingWork(
        tree=WorkTree(tuple(scaled)),
        demands=asked.demands,
        streams=tuple(streams),
        places=tuple(places),
        sized=asked.sized,
        droppable=droppable,
        upcoming=UpcomingWindows()
        if windows is None
        else replace(windows, state_entries=state_entries(droppable, known)),
    )


def spread(work: ComingWork, policy: RatePolicy, work_shares: Mapping[str, float]) -> QueryRates:
    """Return the effective sampling rates with which a policy fills shares of the work.

    Rates are rounded down to representable ones; what is then left is used up by rounding fewer of them down.

    Args:
        work: The work.
        policy: How to spread.
        work_shares: Per stream, the share of its work that may be done: together they are what is to be filled.
    """
    tree = work.tree
    budget_seconds = sum(work_shares[stream] * seconds for stream, seconds in work.stream_seconds.items())
    makes_room = bool(work.droppable) and work.upcoming.pressure is not Pressure.NONE
    if all(share >= 1 for share in work_shares.values()) and not makes_room:
        return kept_whole(work)
    if work.droppable:
        return _beside_windows(work, policy, budget_seconds)
    wanted = work.rates(policy, budget_seconds)
    codes = _rounded(wanted, lambda rates: tree.load_seconds(rates) <= budget_seconds * (1 + _ROUNDING))
    return _query_rates(work, codes)


def kept_whole(work: ComingWork) -> QueryRates:
    """Return the rates of queries of which nothing is shed, and keep all windows that are still to be decided on."""
    tree, demands = work.tree, work.demands
    found = _query_rates(work, [WHOLE] * len(demands))
    if not work.droppable:
        return found
    windows = nothing_more_dropped(work.tolerant, work.upcoming)
    shares = [0.0 if _is_idle(one, work, windows) else 1.0 for one in range(len(tree.nodes))]
    needed = np.maximum(windows.needed, shares)
    return replace(found, windows=windows, work_shares=_shares_done(work, needed), row_shares=_row_shares(work, needed))


def _is_idle(node: int, work: ComingWork, windows: DropPlan) -> bool:
    """Whether only queries whose windows may be dropped ask for a node's rows."""
    below = work.tree.queries_below[node]
    return all(work.demands[query].query in windows.kept_shares for query in below)


def _beside_windows(work: ComingWork, policy: RatePolicy, budget_seconds: float) -> QueryRates:
    """Drop windows, and fill what that leaves with samples."""
    tolerant = work.tolerant
    windows = drop_plan(tolerant, budget_seconds, policy, work.upcoming)
    codes = [WHOLE] * len(work.demands)
    done = windows.needed.copy()
    if tolerant.sampled:
        rest, places = tolerant.without(windows.needed)
        left = windows.seconds_left(work.tree, budget_seconds)
        wanted = policy(rest, tolerant.sampled_demands, left)
        found = _rounded(wanted, lambda rates: rest.load_seconds(rates) <= left * (1 + _ROUNDING))
        for query, code in zip(tolerant.sampled, found, strict=True):
            codes[query] = code
        shares = rest.shares(rest.node_rates(_rates(found)))
        for node, share in zip(places, shares.tolist(), strict=True):
            done[node] += (1 - done[node]) * share
    found_rates = _query_rates(work, codes)
    return replace(
        found_rates, windows=windows, work_shares=_shares_done(work, done), row_shares=_row_shares(work, done)
    )


def _row_shares(work: ComingWork, done: Vector) -> dict[str, float]:
    """Of streams some of whose queries tolerate gaps."""
    tolerant = {one.stream for one in work.droppable.values()}
    return {
        stream: float(done[node])
        for node, (stream, one) in enumerate(zip(work.streams, work.tree.nodes, strict=True))
        if one.parent is None and stream in tolerant
    }


def _shares_done(work: ComingWork, done: Vector) -> dict[str, float]:
    """Per stream, the share of its work that is done, from that of each node."""
    whole, found = work.stream_seconds, dict.fromkeys(work.streams, 0.0)
    for stream, seconds in zip(work.streams, (work.tree.node_seconds * done).tolist(), strict=True):
        found[stream] += seconds
    return {
        stream: max(_LEAST_SHARE, found[stream] / seconds) if seconds > 0 else 1.0 for stream, seconds in whole.items()
    }


def uniform_spread(work: ComingWork, sampling_codes: Mapping[str, int]) -> QueryRates:
    """Return the rates of queries where each stream is sampled at one rate, directly behind its source."""
    of_query = [work.streams[node] for node in work.tree.query_nodes]
    found = _query_rates(work, [sampling_codes[stream] for stream in of_query])
    windows = kept_whole(work).windows
    return replace(
        found, windows=windows, work_shares={name: sampling_rate_of(code) for name, code in sampling_codes.items()}
    )


def _rounded(wanted: Vector, fits: Callable[[Vector], bool]) -> list[int]:
    def codes(factor: float) -> npt.NDArray[np.int64]:
        return codes_of(factor * wanted)

    low, high = 1.0, 1.0 / sampling_rate_of(1)
    for _ in range(_HALVINGS):
        middle = (low + high) / 2
        low, high = (middle, high) if fits(sampling_rates_of(codes(middle))) else (low, middle)
    return [int(code) for code in codes(low).tolist()]


def _rates(codes: Sequence[int]) -> Vector:
    return sampling_rates_of(np.array(codes, np.int64))


def _query_rates(work: ComingWork, codes: Sequence[int]) -> QueryRates:
    rates = _rates(codes)
    known = list(zip(work.demands, codes, rates.tolist(), strict=True))
    coefficients = np.array([demand.coefficient for demand in work.demands])
    of_demands = (work.error_factor * coefficients * (1 - rates) / rates).tolist()
    queries = [each for each in known if each[0].counts_for is None]
    counting = [each for each in known if each[0].counts_for is not None]
    variances: dict[str, float] = {}
    for demand, variance in zip(work.demands, of_demands, strict=True):
        name = demand.counts_for or demand.query
        variances[name] = variances.get(name, 0.0) + variance
    return QueryRates(
        codes={demand.query: code for demand, code, _ in queries},
        work_shares=work.shares(rates),
        expected_errors={query: math.sqrt(variance) for query, variance in variances.items()},
        samplers={work.places[node]: rate for node, rate in edge_rates(work.tree, rates).items()},
        missed_goals=tuple(demand.query for demand, _, rate in queries if not demand.meets_goal(rate)),
        sized={
            demand.query: _sized_rate(work.sized[demand.query], rate)
            for demand, _, rate in queries
            if demand.query in work.sized and rate < 1
        },
        counting=_counting_codes(queries, counting),
    )


def _counting_codes(
    queries: Sequence[tuple[Demand, int, float]], counting: Sequence[tuple[Demand, int, float]]
) -> dict[str, int]:
    """Rows are counted of queries that are shed, and no fewer than are in the sample."""
    codes = {demand.query: code for demand, code, _ in queries}
    rates = {str(demand.counts_for): code for demand, code, _ in counting}
    return {query: min(code, codes[query]) for query, code in rates.items() if codes[query] != WHOLE}


def _sized_rate(sampling: SizedSampling, sampling_rate: float) -> SizedRate:
    return SizedRate(column=sampling.column, threshold=sampling.threshold, code=sampling.sizes.base_code(sampling_rate))
