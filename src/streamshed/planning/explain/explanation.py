"""What would be shed at some load, where, and what that would cost the answers."""

from __future__ import annotations

import math
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial

import numpy as np

from streamshed.network.model.network import QueryNetwork
from streamshed.network.terms.gap import GapsBy
from streamshed.network.terms.join_shedding import JoinMode
from streamshed.network.words.policy_names import DEFAULT_POLICY
from streamshed.planning.explain.explained_steps import Step, with_upper_steps
from streamshed.planning.explain.shed_work import ShedWork, chosen_for, decided_before
from streamshed.planning.load.join_outlook import JoinOutlook, join_outlooks
from streamshed.planning.load.joined_work import with_joined_work
from streamshed.planning.load.network_load import NetworkLoad, network_load
from streamshed.planning.load.sustained_load import sustained_factor
from streamshed.planning.place.placement import Sampler, samplers
from streamshed.planning.plan.budget import LASTING_SHARE, Budget
from streamshed.planning.plan.kept_delay import WhileKept
from streamshed.planning.plan.work_shares import allowed_seconds
from streamshed.planning.rates.hoeffding import PAPERS_BOUND, HoeffdingSettings
from streamshed.planning.rates.rate_policies import BY_SIZE, COUNTING, HOEFFDING, RatePolicy, rate_policy_named
from streamshed.planning.tree.work_tree import Vector
from streamshed.planning.window_drop.track.droppable import droppable_queries
from streamshed.statistics.network_statistics import NetworkStatistics


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
        gaps_by: By what they are missing, "window" or "group"; None likewise.
        delay_seconds: How long after a row came its answers may come, as all rows of a window are worked on that is
            kept; None: windows are not dropped, or not as a whole.
        is_joined_in_part: Whether it is answered from a part of a join that was chosen to have many results, P being
            the share of the join that is done: then nothing tells how far off it is.
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
    gaps_by: str | None = None
    delay_seconds: float | None = None
    is_joined_in_part: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Explanation:
    """A plan for a load, in full.

    Attributes:
        policy: By which policy.
        hoeffding: Settings of the policy of that name; None: by another.
        load_factor: Rows per second ÷ those sustained without shedding.
        rows_per_second: All streams together.
        trigger_interval_seconds: How often a micro-batch starts.
        budget_seconds: What a plan may fill of it.
        unshed_seconds: What it would take.
        unsheddable_seconds: What of that nothing can save, whatever is asked.
        protected_seconds: What of that queries take together that need every row.
        whole_seconds: Per query that needs every row, what it takes by itself.
        expected_seconds: What it takes under the plan.
        steps: The nodes, each directly or indirectly below the last one of lower depth.
        outlooks: Per query.
        joins: Per join, what it takes in full; that is in the seconds.
    """

    policy: str
    load_factor: float
    rows_per_second: float
    trigger_interval_seconds: float
    budget_seconds: float
    unshed_seconds: float
    unsheddable_seconds: float
    protected_seconds: float = 0.0
    whole_seconds: Mapping[str, float] = field(default_factory=dict)
    expected_seconds: float
    steps: tuple[Step, ...]
    outlooks: tuple[Outlook, ...]
    joins: tuple[JoinOutlook, ...] = ()
    hoeffding: HoeffdingSettings | None = None

    @property
    def is_saturated(self) -> bool:
        """Whether the work that nothing can save, with that of protected queries, does not fit."""
        return self.unsheddable_seconds + self.protected_seconds > self.budget_seconds * (1 + 1e-6)


def explain(  # noqa: PLR0913 - what a run is told of shedding, each by name
    network: QueryNetwork,
    statistics: NetworkStatistics,
    *,
    load_factor: float,
    rows_per_second: float | None = None,
    policy: str = DEFAULT_POLICY,
    trigger_interval_seconds: float = 2.0,
    deadline_seconds: float | None = None,
    headroom: float = 0.8,
    hoeffding: HoeffdingSettings = PAPERS_BOUND,
) -> Explanation:
    """Plan for a multiple of a load, as a run does when it lasts.

    Args:
        network: The network.
        statistics: What is known of it.
        load_factor: The multiple, above 0.
        rows_per_second: What is multiplied, of all streams together; None: what is sustained without shedding.
        policy: One of `RATE_POLICIES`.
        trigger_interval_seconds: How often a micro-batch starts.
        deadline_seconds: How long one may take, by the latency goal; None: as long as that.
        headroom: The share of it that a plan may fill.
        hoeffding: Settings of the policy of that name.

    Raises:
        InvalidNetworkError: There is no such policy.
        InvalidStatisticsError: No load is sustained, since the fixed cost takes all of the time; or every load is,
            since nothing costs anything.
    """
    rates_of = rate_policy_named(policy, hoeffding)
    budget = Budget(
        trigger_interval_seconds=trigger_interval_seconds,
        deadline_seconds=trigger_interval_seconds if deadline_seconds is None else deadline_seconds,
        headroom=headroom,
    )

    load = partial(_load_at, network, statistics, policy=policy, trigger_interval_seconds=trigger_interval_seconds)
    sustained = sustained_factor(lambda times: load(times).unshed_seconds, budget.seconds)
    usual = _rows_per_second(network, statistics)
    factor = load_factor * (sustained if rows_per_second is None else rows_per_second / usual)
    load_at_factor = load(factor)
    explanation = _explanation(
        network,
        statistics,
        load_at_factor,
        _chosen(network, load_at_factor, rates_of, budget, policy),
        policy=policy,
        load_factor=load_factor if rows_per_second is None else factor / sustained,
        rows_per_second=factor * usual,
        trigger_interval_seconds=trigger_interval_seconds,
        budget_seconds=budget.seconds,
    )
    joins = join_outlooks(network, statistics, load_factor=factor, trigger_interval_seconds=trigger_interval_seconds)
    return replace(
        explanation,
        joins=joins,
        outlooks=tuple(_in_part(network, joins, explanation.outlooks)),
        hoeffding=hoeffding if policy == HOEFFDING else None,
    )


def _load_at(
    network: QueryNetwork,
    statistics: NetworkStatistics,
    factor: float,
    *,
    policy: str,
    trigger_interval_seconds: float,
) -> NetworkLoad:
    """What the network takes at a multiple of the rows per second that are known."""
    joined = with_joined_work(
        network, statistics, load_factor=factor, trigger_interval_seconds=trigger_interval_seconds
    )
    return network_load(
        network,
        joined,
        trigger_interval_seconds=trigger_interval_seconds,
        load_factor=factor,
        large_values=policy in BY_SIZE,
        counted_rows=policy in COUNTING,
    )


def _chosen(network: QueryNetwork, load: NetworkLoad, rates_of: RatePolicy, budget: Budget, policy: str) -> ShedWork:
    """What is shed so that the load fits into a budget."""
    droppable = {} if policy == "uniform" else {query.query: query for query in droppable_queries(network)}
    unsheddable_seconds = load.unsheddable_seconds
    needed_seconds = unsheddable_seconds + _protected_seconds(load, droppable, policy)
    for_work = allowed_seconds(load.unshed_seconds, needed_seconds, budget) - unsheddable_seconds
    utmost = LASTING_SHARE * budget.trigger_interval_seconds - unsheddable_seconds
    return chosen_for(load.tree, load.demands, rates_of, for_work, droppable, utmost_seconds=utmost)


def _in_part(network: QueryNetwork, joins: Sequence[JoinOutlook], outlooks: Sequence[Outlook]) -> Iterator[Outlook]:
    """Note which queries get results of a join that is done in part."""
    in_part = {join.join for join in joins if join.is_sheddable and join.mode == JoinMode.SUBSET}
    for outlook in outlooks:
        is_partial = network.query(outlook.query).stream.name in in_part and outlook.effective_sampling_rate < 1
        yield replace(outlook, is_joined_in_part=is_partial)


def explain_rates(  # noqa: PLR0913 - what was decided, and under which load, each by name
    network: QueryNetwork,
    statistics: NetworkStatistics,
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
        statistics: What is known of it.
        effective_sampling_rates: That of every query, as the journal has them.
        policy: The policy that chose them.
        load_factor: Times the load that is sustained without shedding.
        rows_per_second: What came, all streams together.
        trigger_interval_seconds: How often a micro-batch starts.
        headroom: The share of it that a plan may fill.
        kept_shares: Per query whose windows may be dropped, the share of them that it keeps; None: none is dropped.
    """
    usual = _rows_per_second(network, statistics)
    load = network_load(
        network,
        statistics,
        trigger_interval_seconds=trigger_interval_seconds,
        load_factor=rows_per_second / usual if usual > 0 else 1.0,
        large_values=policy in BY_SIZE,
    )
    return _explanation(
        network,
        statistics,
        load,
        decided_before(network, load, effective_sampling_rates, kept_shares or {}),
        policy=policy,
        load_factor=load_factor,
        rows_per_second=rows_per_second,
        trigger_interval_seconds=trigger_interval_seconds,
        budget_seconds=headroom * trigger_interval_seconds,
    )


def _with_windows(outlook: Outlook, chosen: ShedWork, while_kept: WhileKept) -> Outlook:
    if outlook.query not in chosen.windows:
        return outlook
    query, kept_share = chosen.windows[outlook.query]
    return replace(
        outlook,
        is_protected=False,
        kept_share=kept_share,
        max_gap=query.gap_windows,
        gaps_by=str(GapsBy.GROUP if query.is_by_group else GapsBy.WINDOW),
        delay_seconds=while_kept.delay_seconds(query, kept_share),
    )


def _rows_per_second(network: QueryNetwork, statistics: NetworkStatistics) -> float:
    return sum(statistics.stream(stream.name).rows_per_second for stream in network.streams)


def _explanation(  # noqa: PLR0913 - what was decided, and under which load, each by name
    network: QueryNetwork,
    statistics: NetworkStatistics,
    load: NetworkLoad,
    chosen: ShedWork,
    *,
    policy: str,
    load_factor: float,
    rows_per_second: float,
    trigger_interval_seconds: float,
    budget_seconds: float,
) -> Explanation:
    rates, droppable = chosen.rates, chosen.windows
    node_rates = load.tree.node_rates(rates)
    placed = {sampler.node: sampler for sampler in samplers(load.tree, rates)}
    while_kept = WhileKept(
        micro_batch_seconds=load.unsheddable_seconds + chosen.seconds_while_kept(load.tree, load.demands),
        trigger_interval_seconds=trigger_interval_seconds,
        speeds={stream.name: statistics.stream(stream.name).event_seconds_per_second for stream in network.streams},
    )
    return Explanation(
        policy=policy,
        load_factor=load_factor,
        rows_per_second=rows_per_second,
        trigger_interval_seconds=trigger_interval_seconds,
        budget_seconds=budget_seconds,
        unshed_seconds=load.unshed_seconds,
        unsheddable_seconds=load.unsheddable_seconds,
        protected_seconds=_protected_seconds(load, droppable, policy),
        whole_seconds={
            demand.query: load.tree.load_seconds(np.eye(len(rates))[number])
            for number, demand in enumerate(load.demands)
            if demand.is_protected and demand.query not in droppable
        },
        expected_seconds=load.unsheddable_seconds + float(load.tree.node_seconds @ chosen.done),
        steps=with_upper_steps(
            [
                _step(statistics, load, index, node_rates, placed.get(index), chosen.needed)
                for index in _from_the_top(load)
            ],
            network.queries,
        ),
        outlooks=tuple(
            _with_windows(_outlook(load, number, rates, node_rates), chosen, while_kept)
            for number, demand in enumerate(load.demands)
            if demand.counts_for is None
        ),
    )


def _protected_seconds(load: NetworkLoad, droppable: Collection[str], policy: str) -> float:
    """The time of queries that need every row: the load of the rates that a policy gives without a budget."""
    demands = [replace(one, is_protected=one.is_protected and one.query not in droppable) for one in load.demands]
    return load.tree.load_seconds(rate_policy_named(policy)(load.tree, demands, 0.0))


def _from_the_top(load: NetworkLoad) -> list[int]:
    """The nodes in order of a walk down the tree."""
    waiting = [index for index, node in enumerate(load.tree.nodes) if node.parent is None][::-1]
    order = []
    while waiting:
        index = waiting.pop()
        order.append(index)
        waiting += load.tree.children[index][::-1]
    return order


def _step(
    statistics: NetworkStatistics,
    load: NetworkLoad,
    index: int,
    node_rates: Vector,
    sampler: Sampler | None,
    needed: Vector | None,
) -> Step:
    node, depth, above = load.tree.nodes[index], 0, load.tree.nodes[index].parent
    while above is not None:
        depth, above = depth + 1, load.tree.nodes[above].parent
    operator = statistics.operators.get(load.addresses[index] or "")
    return Step(
        name=node.name,
        address=load.addresses[index],
        depth=depth,
        seconds=node.seconds,
        effective_sampling_rate=float(node_rates[index]),
        sampling_rate=None if sampler is None else sampler.sampling_rate,
        needed_share=None if needed is None or needed[index] <= 0 else float(needed[index]),
        is_measured=operator is not None and operator.is_measured,
    )


def _outlook(load: NetworkLoad, number: int, rates: Vector, node_rates: Vector) -> Outlook:
    demand, sampling_rate = load.demands[number], float(rates[number])
    path = [load.tree.query_nodes[number]]
    while (above := load.tree.nodes[path[-1]].parent) is not None:
        path.append(above)
    alike = [index for index in path if node_rates[index] <= sampling_rate * (1 + 1e-9)]
    dearest = max(alike, key=lambda index: load.tree.nodes[index].seconds)
    sized = load.sized.get(demand.query) if sampling_rate < 1 else None
    counted = [
        (other, float(counting_rate))
        for other, counting_rate in zip(load.demands, rates, strict=True)
        if other.counts_for == demand.query and sampling_rate < 1
    ]
    variance = sum(
        other.relative_error(counting_rate) ** 2 for other, counting_rate in ((demand, sampling_rate), *counted)
    )
    return Outlook(
        query=demand.query,
        effective_sampling_rate=sampling_rate,
        expected_error=math.sqrt(variance),
        bound_by=None if sampling_rate >= 1 else load.addresses[dearest] or load.tree.nodes[dearest].name,
        is_protected=demand.is_protected,
        whole_because=demand.whole_because,
        goal=None if demand.goal is None else str(demand.goal),
        meets_goal=demand.meets_goal(sampling_rate),
        size_column=None if sized is None else sized.column,
        size_threshold=None if sized is None else sized.threshold,
        counting_rate=max(counted[0][1], sampling_rate) if counted else None,
    )
