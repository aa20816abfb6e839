"""What would be shed at some load, where, and what that would cost the answers."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace

import numpy as np

from streamshed.errors import InvalidStatisticsError
from streamshed.network.network import QueryNetwork
from streamshed.planning.network_load import NetworkLoad, network_load
from streamshed.planning.placement import Sampler, samplers
from streamshed.planning.rate_policies import (
    BY_SIZE,
    COUNTING,
    DEFAULT_RATE_POLICY,
    RatePolicy,
    rate_policy_named,
)
from streamshed.planning.upper_steps import with_upper_steps
from streamshed.planning.window_drop.decisions import UpcomingWindows
from streamshed.planning.window_drop.drop_plan import PATIENCE, drop_plan
from streamshed.planning.window_drop.droppable import DroppableQuery, droppable_queries
from streamshed.planning.window_drop.open_windows import WindowDrops
from streamshed.planning.window_drop.tolerant_work import TolerantWork
from streamshed.planning.work_tree import Vector
from streamshed.statistics.network_statistics import NetworkStatistics

_LEAST_RATE = 1e-8
_HALVINGS = 100


@dataclass(frozen=True, slots=True, kw_only=True)
class Outlook:
    """What is to be expected of a query.

    Attributes:
        query: Its name.
        effective_sampling_rate: P; 1: its answers are exact.
        expected_error: The relative standard error of its worst aggregate, of the smallest group that counts.
        bound_by: The operator or query whose cost keeps P from being higher; None at P = 1.
        is_protected: Whether it is never shed.
        whole_because: Why not, if that lies in what it asks; else None.
        goal: The error it should stay within, such as "2 % at 95 %"; None: it has no goal.
        meets_goal: Whether it is expected to; without a goal it does.
        size_column: The column by which its rows are chosen, large values likelier than small ones; None: all alike.
        size_threshold: From which size on.
        counting_rate: The rate at which its rows are counted above the first function; None: they are not.
        kept_share: The share of its windows that it keeps, its answers being exact or absent; 0: it is shut down; None:
            its windows are never dropped.
        max_gap: How many of them may be missing in a row; None likewise.
    """

    query: str
    effective_sampling_rate: float
    expected_error: float
    bound_by: str | None
    is_protected: bool
    whole_because: str | None = None
    goal: str | None = None
    meets_goal: bool = True
    size_column: str | None = None
    size_threshold: float | None = None
    counting_rate: float | None = None
    kept_share: float | None = None
    max_gap: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Step:
    """A node on the way of rows to answers.

    Attributes:
        name: What it does; of a query, its name.
        address: Of a stream or an operator, its `Node.address`; None: it is a query's own work.
        depth: How many nodes are above it.
        seconds: What its work takes if nothing is shed; None: that is in the seconds of the first aggregate above.
        effective_sampling_rate: P of the rows that it gets.
        sampling_rate: p of the sampler on the edge into it; None: there is none.
        needed_share: The share of its rows that kept windows, and queries that need every row, need; None: no windows
            are dropped.
    """

    name: str
    address: str | None
    depth: int
    seconds: float | None
    effective_sampling_rate: float
    sampling_rate: float | None
    needed_share: float | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Explanation:
    """A plan for a load, in full.

    Attributes:
        policy: By which policy.
        load_factor: Rows per second ÷ those sustained without shedding.
        rows_per_second: All streams together.
        trigger_interval_seconds: How often a micro-batch starts.
        budget_seconds: What it may take.
        unshed_seconds: What it would take.
        unsheddable_seconds: What of that nothing can save.
        expected_seconds: What it takes under the plan.
        steps: The nodes, each directly or indirectly below the last one of lower depth.
        outlooks: Per query.
    """

    policy: str
    load_factor: float
    rows_per_second: float
    trigger_interval_seconds: float
    budget_seconds: float
    unshed_seconds: float
    unsheddable_seconds: float
    expected_seconds: float
    steps: tuple[Step, ...]
    outlooks: tuple[Outlook, ...]

    @property
    def is_saturated(self) -> bool:
        """Whether even that fits no longer which nothing can save."""
        return self.expected_seconds > self.budget_seconds * (1 + 1e-6)


def explain(
    network: QueryNetwork,
    known: NetworkStatistics,
    *,
    load_factor: float,
    policy: str = DEFAULT_RATE_POLICY,
    trigger_interval_seconds: float = 2.0,
    headroom: float = 0.8,
) -> Explanation:
    """Plan for a multiple of the load that is sustained without shedding.

    Args:
        network: The network.
        known: What is known of it.
        load_factor: The multiple, above 0.
        policy: One of `RATE_POLICIES`.
        trigger_interval_seconds: How often a micro-batch starts.
        headroom: The share of it that a plan may fill.

    Raises:
        InvalidNetworkError: There is no such policy.
        InvalidStatisticsError: No load is sustained, since the fixed cost takes all of the time; or every load is,
            since nothing costs anything.
    """
    rates_of = rate_policy_named(policy)
    budget_seconds = headroom * trigger_interval_seconds

    def load(factor: float) -> NetworkLoad:
        return network_load(
            network,
            known,
            trigger_interval_seconds=trigger_interval_seconds,
            load_factor=factor,
            large_values=policy in BY_SIZE,
            counted_rows=policy in COUNTING,
        )

    factor = load_factor * _sustained(lambda times: load(times).unshed_seconds, budget_seconds)
    asked = load(factor)
    droppable = {} if policy == "uniform" else {one.query: one for one in droppable_queries(network)}
    chosen = _chosen(asked, rates_of, budget_seconds - asked.unsheddable_seconds, droppable)
    return _explanation(
        network,
        asked,
        chosen,
        policy=policy,
        load_factor=load_factor,
        rows_per_second=factor * _rows_per_second(known),
        trigger_interval_seconds=trigger_interval_seconds,
        budget_seconds=budget_seconds,
    )


def explain_rates(  # noqa: PLR0913 - what was decided, and under which load, each by name
    network: QueryNetwork,
    known: NetworkStatistics,
    effective_sampling_rates: Mapping[str, float],
    *,
    policy: str,
    load_factor: float,
    rows_per_second: float,
    trigger_interval_seconds: float,
    headroom: float = 0.8,
    kept_shares: Mapping[str, float] | None = None,
) -> Explanation:
    """Explain the effective sampling rates of a micro-batch that was.

    Args:
        network: The network.
        known: What is known of it.
        effective_sampling_rates: That of every query, as the journal has them.
        policy: The policy that chose them.
        load_factor: Times the load that is sustained without shedding.
        rows_per_second: What came, all streams together.
        trigger_interval_seconds: How often a micro-batch starts.
        headroom: The share of it that a plan may fill.
        kept_shares: Per query whose windows may be dropped, the share of them that it keeps; None: none is dropped.
    """
    usual = _rows_per_second(known)
    asked = network_load(
        network,
        known,
        trigger_interval_seconds=trigger_interval_seconds,
        load_factor=rows_per_second / usual if usual > 0 else 1.0,
        large_values=policy in BY_SIZE,
    )
    return _explanation(
        network,
        asked,
        _decided(network, asked, effective_sampling_rates, kept_shares or {}),
        policy=policy,
        load_factor=load_factor,
        rows_per_second=rows_per_second,
        trigger_interval_seconds=trigger_interval_seconds,
        budget_seconds=headroom * trigger_interval_seconds,
    )


@dataclass(frozen=True, slots=True)
class _Chosen:
    """What is shed.

    Attributes:
        rates: Per demand, its effective sampling rate.
        needed: Per node, the share of its rows that kept windows need, and queries that need every row; None: no
            windows are dropped.
        seconds: What all work takes; None: what the rates say.
        windows: Whose windows are dropped, and which share of them each keeps.
    """

    rates: Vector
    needed: Vector | None = None
    seconds: float | None = None
    windows: Mapping[str, tuple[DroppableQuery, float]] = field(default_factory=dict)

    def work_seconds(self, asked: NetworkLoad) -> float:
        return asked.tree.load_seconds(self.rates) if self.seconds is None else self.seconds


def _chosen(
    asked: NetworkLoad, rates_of: RatePolicy, work_seconds: float, droppable: Mapping[str, DroppableQuery]
) -> _Chosen:
    tree, demands = asked.tree, asked.demands
    if not droppable or float(tree.node_seconds.sum()) <= work_seconds:
        rates = np.maximum(rates_of(tree, demands, work_seconds), _LEAST_RATE)
        return _Chosen(rates, windows={name: (one, 1.0) for name, one in droppable.items()})
    lasting = UpcomingWindows(drops=WindowDrops(queries={}, pressed=PATIENCE))
    tolerant = TolerantWork(tree, demands, droppable)
    plan = drop_plan(tolerant, work_seconds, rates_of, lasting)
    needed, sampled = plan.needed_in_the_long_run, list(tolerant.sampled)
    rates, seconds = np.ones(len(demands)), float(tree.node_seconds @ needed)
    if sampled:
        rest, _ = tolerant.without(needed)
        left = max(0.0, work_seconds - seconds)
        rates[sampled] = np.maximum(rates_of(rest, tolerant.sampled_demands, left), _LEAST_RATE)
        seconds += rest.load_seconds(rates[sampled])
    windows = {name: (one, plan.kept_shares[name]) for name, one in droppable.items()}
    return _Chosen(rates, needed, seconds, windows)


def _decided(
    network: QueryNetwork, asked: NetworkLoad, sampling_rates: Mapping[str, float], kept_shares: Mapping[str, float]
) -> _Chosen:
    rates = np.array([sampling_rates[demand.query] for demand in asked.demands])
    droppable = {one.query: one for one in droppable_queries(network) if one.query in kept_shares}
    if not droppable:
        return _Chosen(rates)
    tolerant = TolerantWork(asked.tree, asked.demands, droppable)
    needed = tolerant.expected_needs(np.array([kept_shares.get(demand.query, 1.0) for demand in asked.demands]))
    seconds, sampled = float(asked.tree.node_seconds @ needed), list(tolerant.sampled)
    if sampled:
        rest, _ = tolerant.without(needed)
        seconds += rest.load_seconds(rates[sampled])
    return _Chosen(rates, needed, seconds, {name: (one, kept_shares[name]) for name, one in droppable.items()})


def _with_windows(outlook: Outlook, chosen: _Chosen) -> Outlook:
    if outlook.query not in chosen.windows:
        return outlook
    query, kept = chosen.windows[outlook.query]
    return replace(outlook, is_protected=False, kept_share=kept, max_gap=query.batch)


def _rows_per_second(known: NetworkStatistics) -> float:
    return sum(stream.rows_per_second for stream in known.streams.values())


def _explanation(
    network: QueryNetwork,
    asked: NetworkLoad,
    chosen: _Chosen,
    *,
    policy: str,
    load_factor: float,
    rows_per_second: float,
    trigger_interval_seconds: float,
    budget_seconds: float,
) -> Explanation:
    rates = chosen.rates
    node_rates = asked.tree.node_rates(rates)
    placed = {sampler.node: sampler for sampler in samplers(asked.tree, rates)}
    return Explanation(
        policy=policy,
        load_factor=load_factor,
        rows_per_second=rows_per_second,
        trigger_interval_seconds=trigger_interval_seconds,
        budget_seconds=budget_seconds,
        unshed_seconds=asked.unshed_seconds,
        unsheddable_seconds=asked.unsheddable_seconds,
        expected_seconds=asked.unsheddable_seconds + chosen.work_seconds(asked),
        steps=with_upper_steps(
            [_step(asked, index, node_rates, placed.get(index), chosen.needed) for index in _from_the_top(asked)],
            network.queries,
        ),
        outlooks=tuple(
            _with_windows(_outlook(asked, number, rates, node_rates), chosen)
            for number, demand in enumerate(asked.demands)
            if demand.counts_for is None
        ),
    )


def _sustained(unshed_seconds: Callable[[float], float], budget_seconds: float) -> float:
    """The factor on all rows per second at which everything just fits."""
    if unshed_seconds(0.0) >= budget_seconds:
        raise InvalidStatisticsError(
            f"no load is sustained: a micro-batch without rows takes {unshed_seconds(0.0):.3g} s already, of the"
            f" {budget_seconds:.3g} s that it may: a longer trigger?"
        )
    high = 1.0
    while unshed_seconds(high) < budget_seconds:
        high *= 2
        if high > 1e18:
            raise InvalidStatisticsError("no row costs anything: do the statistics hold rows per second and costs?")
    low = 0.0
    for _ in range(_HALVINGS):
        middle = (low + high) / 2
        low, high = (middle, high) if unshed_seconds(middle) < budget_seconds else (low, middle)
    return low


def _from_the_top(load: NetworkLoad) -> list[int]:
    """The nodes in order of a walk down the tree."""
    waiting = [index for index, node in enumerate(load.tree.nodes) if node.parent is None][::-1]
    order = []
    while waiting:
        index = waiting.pop()
        order.append(index)
        waiting += load.tree.children[index][::-1]
    return order


def _step(load: NetworkLoad, index: int, node_rates: Vector, sampler: Sampler | None, needed: Vector | None) -> Step:
    node, depth, above = load.tree.nodes[index], 0, load.tree.nodes[index].parent
    while above is not None:
        depth, above = depth + 1, load.tree.nodes[above].parent
    return Step(
        name=node.name,
        address=load.addresses[index],
        depth=depth,
        seconds=node.seconds,
        effective_sampling_rate=float(node_rates[index]),
        sampling_rate=None if sampler is None else sampler.sampling_rate,
        needed_share=None if needed is None or needed[index] <= 0 else float(needed[index]),
    )


def _outlook(load: NetworkLoad, number: int, rates: Vector, node_rates: Vector) -> Outlook:
    demand, rate = load.demands[number], float(rates[number])
    path = [load.tree.query_nodes[number]]
    while (above := load.tree.nodes[path[-1]].parent) is not None:
        path.append(above)
    alike = [index for index in path if node_rates[index] <= rate * (1 + 1e-9)]
    dearest = max(alike, key=lambda index: load.tree.nodes[index].seconds)
    sized = load.sized.get(demand.query) if rate < 1 else None
    counted = [
        (other, float(own))
        for other, own in zip(load.demands, rates, strict=True)
        if other.counts_for == demand.query and rate < 1
    ]
    variance = sum(other.relative_error(own) ** 2 for other, own in ((demand, rate), *counted))
    return Outlook(
        query=demand.query,
        effective_sampling_rate=rate,
        expected_error=math.sqrt(variance),
        bound_by=None if rate >= 1 else load.addresses[dearest] or load.tree.nodes[dearest].name,
        is_protected=demand.is_protected,
        whole_because=demand.whole_because,
        goal=None if demand.goal is None else str(demand.goal),
        meets_goal=demand.meets_goal(rate),
        size_column=None if sized is None else sized.column,
        size_threshold=None if sized is None else sized.threshold,
        counting_rate=max(counted[0][1], rate) if counted else None,
    )
