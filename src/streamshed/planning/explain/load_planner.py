"""Plans a network's shedding for any load, and explains it."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property

from streamshed.network.model.network import QueryNetwork
from streamshed.network.run.settings import Settings
from streamshed.network.terms.join_shedding import JoinMode
from streamshed.planning.explain.explanation import Explanation, explanation_of, protected_seconds
from streamshed.planning.explain.outlook import Outlook
from streamshed.planning.explain.shed_work import ShedWork, chosen_for, decided_before
from streamshed.planning.load.join_outlook import JoinOutlook, join_outlooks
from streamshed.planning.load.joined_work import with_joined_work
from streamshed.planning.load.network_load import NetworkLoad, network_load
from streamshed.planning.load.sustained_load import sustained_factor
from streamshed.planning.plan.budget import LASTING_SHARE, Budget
from streamshed.planning.plan.work_shares import allowed_seconds
from streamshed.planning.rates.hoeffding import PAPERS_BOUND, HoeffdingSettings
from streamshed.planning.rates.rate_policies import BY_SIZE, COUNTING, HOEFFDING, RatePolicy, rate_policy_named
from streamshed.planning.window_drop.track.droppable import droppable_queries
from streamshed.statistics.network_statistics import NetworkStatistics

_TRIGGER_SECONDS = Settings().trigger_seconds


@dataclass(frozen=True, kw_only=True)
class LoadPlanner:
    """Plans for any load of a network, as a run does when the load lasts.

    Attributes:
        network: The network.
        statistics: What is known of it.
        policy: One of `RATE_POLICIES`.
        trigger_interval_seconds: How often a micro-batch starts.
        deadline_seconds: How long one may take, by the latency goal; None: as long as that.
        headroom: The share of it that a plan may fill.
        hoeffding: Settings of the policy of that name.
    """

    network: QueryNetwork
    statistics: NetworkStatistics
    policy: str = Settings.policy
    trigger_interval_seconds: float = _TRIGGER_SECONDS
    deadline_seconds: float | None = None
    headroom: float = Settings.headroom
    hoeffding: HoeffdingSettings = PAPERS_BOUND

    @cached_property
    def sustained_rows_per_second(self) -> float:
        """How many rows of all streams together are sustained without shedding.

        Raises:
            InvalidStatisticsError: None are, since the fixed cost takes all of the time; or any number is, since
                nothing costs anything.
        """
        factor = sustained_factor(lambda times: self._load_at(times).unshed_seconds, self._budget.seconds)
        return factor * self.usual_rows_per_second

    def plan(self, rows_per_second: float) -> Explanation:
        """Return the plan for a load.

        Args:
            rows_per_second: Of all streams together, above 0.

        Returns:
            The plan; its load factor is infinite where not even a micro-batch without rows fits.

        Raises:
            InvalidNetworkError: There is no such policy.
            InvalidStatisticsError: Nothing costs anything.
        """
        network, statistics, interval = self.network, self.statistics, self.trigger_interval_seconds
        rates_of = rate_policy_named(self.policy, self.hoeffding)
        is_sustained = self._load_at(0.0).unshed_seconds < self._budget.seconds
        load_factor = rows_per_second / self.sustained_rows_per_second if is_sustained else math.inf
        factor = rows_per_second / self.usual_rows_per_second
        load = self._load_at(factor)
        explanation = explanation_of(
            network,
            statistics,
            load,
            _chosen(network, load, rates_of, self._budget, self.policy),
            policy=self.policy,
            load_factor=load_factor,
            rows_per_second=rows_per_second,
            trigger_interval_seconds=interval,
            budget_seconds=self._budget.seconds,
        )
        joins = join_outlooks(network, statistics, load_factor=factor, trigger_interval_seconds=interval)
        return replace(
            explanation,
            joins=joins,
            outlooks=tuple(_in_part(network, joins, explanation.outlooks)),
            hoeffding=self.hoeffding if self.policy == HOEFFDING else None,
        )

    def plan_at(self, load_factor: float) -> Explanation:
        """Return the plan for a multiple of the load that is sustained without shedding.

        Args:
            load_factor: The multiple, above 0.

        Raises:
            InvalidNetworkError: There is no such policy.
            InvalidStatisticsError: As for `sustained_rows_per_second`.
        """
        rate_policy_named(self.policy, self.hoeffding)
        return replace(self.plan(load_factor * self.sustained_rows_per_second), load_factor=load_factor)

    @property
    def _budget(self) -> Budget:
        interval, deadline = self.trigger_interval_seconds, self.deadline_seconds
        return Budget(
            trigger_interval_seconds=interval,
            deadline_seconds=interval if deadline is None else deadline,
            headroom=self.headroom,
        )

    @property
    def usual_rows_per_second(self) -> float:
        """How many rows of all streams together come by the statistics."""
        return _rows_per_second(self.network, self.statistics)

    def _load_at(self, factor: float) -> NetworkLoad:
        """What the network takes at a multiple of the rows per second that are known."""
        interval = self.trigger_interval_seconds
        joined = with_joined_work(self.network, self.statistics, load_factor=factor, trigger_interval_seconds=interval)
        return network_load(
            self.network,
            joined,
            trigger_interval_seconds=interval,
            load_factor=factor,
            large_values=self.policy in BY_SIZE,
            counted_rows=self.policy in COUNTING,
        )


def _chosen(network: QueryNetwork, load: NetworkLoad, rates_of: RatePolicy, budget: Budget, policy: str) -> ShedWork:
    """What is shed so that the load fits into a budget."""
    droppable = {} if policy == "uniform" else {query.query: query for query in droppable_queries(network)}
    unsheddable_seconds = load.unsheddable_seconds
    needed_seconds = unsheddable_seconds + protected_seconds(load, droppable, policy)
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
    headroom: float = Settings.headroom,
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
    return explanation_of(
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


def _rows_per_second(network: QueryNetwork, statistics: NetworkStatistics) -> float:
    return sum(statistics.stream(stream.name).rows_per_second for stream in network.streams)
