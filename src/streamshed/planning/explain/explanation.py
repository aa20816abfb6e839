"""What would be shed at some load, where, and what that would cost the answers."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass, field, replace

import numpy as np

from streamshed.network.model.network import QueryNetwork
from streamshed.planning.explain.explained_steps import Step, with_upper_steps
from streamshed.planning.explain.outlook import Counting, Outlook, outlook_of, with_windows
from streamshed.planning.explain.shed_work import ShedWork
from streamshed.planning.load.join_outlook import JoinOutlook
from streamshed.planning.load.network_load import NetworkLoad
from streamshed.planning.place.placement import Sampler, samplers
from streamshed.planning.plan.kept_delay import WhileKept
from streamshed.planning.rates.hoeffding import HoeffdingSettings
from streamshed.planning.rates.rate_policies import rate_policy_named
from streamshed.planning.tree.work_tree import Vector
from streamshed.statistics.network_statistics import NetworkStatistics


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


def explanation_of(  # noqa: PLR0913 - what was decided, and under which load, each by name
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
    """Explain what was chosen to be shed under a load.

    Args:
        network: The network.
        statistics: What is known of it.
        load: What it takes.
        chosen: What of that is done.
        policy: The policy that chose it.
        load_factor: Times the load that is sustained without shedding.
        rows_per_second: What comes, all streams together.
        trigger_interval_seconds: How often a micro-batch starts.
        budget_seconds: What a plan may fill of it.
    """
    node_rates = load.tree.node_rates(chosen.rates)
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
        protected_seconds=protected_seconds(load, chosen.windows, policy),
        whole_seconds=_whole_seconds(load, chosen.windows),
        expected_seconds=load.unsheddable_seconds + float(load.tree.node_seconds @ chosen.done),
        steps=with_upper_steps(_steps(statistics, load, chosen, node_rates), network.queries),
        outlooks=_outlooks(load, chosen, node_rates, while_kept),
    )


def _whole_seconds(load: NetworkLoad, droppable: Collection[str]) -> dict[str, float]:
    alone = np.eye(len(load.demands))
    return {
        demand.query: load.tree.load_seconds(alone[number])
        for number, demand in enumerate(load.demands)
        if demand.is_protected and demand.query not in droppable
    }


def _outlooks(load: NetworkLoad, chosen: ShedWork, node_rates: Vector, while_kept: WhileKept) -> tuple[Outlook, ...]:
    counting: Counting = {}
    for demand, counting_rate in zip(load.demands, chosen.rates.tolist(), strict=True):
        if demand.counts_for is not None:
            counting.setdefault(demand.counts_for, []).append((demand, counting_rate))
    return tuple(
        with_windows(outlook_of(load, number, chosen.rates, node_rates, counting), chosen, while_kept)
        for number, demand in enumerate(load.demands)
        if demand.counts_for is None
    )


def protected_seconds(load: NetworkLoad, droppable: Collection[str], policy: str) -> float:
    """Return the time of queries that need every row: the load of the rates that a policy gives without a budget."""
    demands = [replace(one, is_protected=one.is_protected and one.query not in droppable) for one in load.demands]
    return load.tree.load_seconds(rate_policy_named(policy)(load.tree, demands, 0.0))


def _steps(statistics: NetworkStatistics, load: NetworkLoad, chosen: ShedWork, node_rates: Vector) -> list[Step]:
    placed = {sampler.node: sampler for sampler in samplers(load.tree, chosen.rates)}
    return [
        _step(statistics, load, index, node_rates, placed.get(index), chosen.needed) for index in _from_the_top(load)
    ]


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
