"""The work of the last plan, used again as long as only the number of rows changes: [B04] §3.2.1, stability."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace

from streamshed.network.model.network import QueryNetwork
from streamshed.planning.plan.coming_work import ComingWork, coming_work
from streamshed.planning.plan.policies import Policy
from streamshed.planning.plan.replanning import RatePlanner
from streamshed.planning.tree.demand import Demand
from streamshed.planning.window_drop.track.decisions import UpcomingWindows
from streamshed.statistics.alike import are_alike
from streamshed.statistics.forecast import Statistics
from streamshed.statistics.guess import believed_statistics
from streamshed.statistics.learned import LearnedStatistics
from streamshed.statistics.network_statistics import NetworkStatistics

STEADY = 0.05
"""By so little statistics may have moved since a plan was made: rates off by half of that are no worse for answers.

An error is least at the best rates, so near them it hardly changes: by about the square of what they are off.
"""

_SAME_GROWTH = 1e-9


@dataclass(frozen=True, slots=True)
class _Basis:
    """The work of the last plan, and how the errors of its queries depend on the load.

    Attributes:
        network_statistics: Statistics of the network.
        statistics: The rows, and what they cost.
        work: The work.
        depends: Which answers there are: True: the error of a query falls as more rows come; False: it does not.
        least_coefficient: The smallest error coefficient of any.
        most_coefficient: The largest.
    """

    network_statistics: NetworkStatistics
    statistics: Statistics
    work: ComingWork
    depends: frozenset[bool]
    least_coefficient: float
    most_coefficient: float


class KeptWork:
    """The work of one network, micro-batch by micro-batch; worked out anew only where that may change a plan.

    Where only the number of rows has changed, all work has grown by one factor, and all errors have shrunk by one. So
    shares of the work are worth what they were: tree and demands stay, and `RatePlanner` finds the rates. Work is
    computed anew for each plan where windows are dropped, groups cost, a query has a goal, only some errors depend on
    the load, streams grow by different factors, or a policy makes no proportion of errors.

    Args:
        network: The network.
        policy: How it is shed.
        trigger_interval_seconds: How long rows gather.
    """

    def __init__(self, network: QueryNetwork, policy: Policy, *, trigger_interval_seconds: float) -> None:
        self._network, self._policy = network, policy
        self._trigger_interval_seconds = trigger_interval_seconds
        self._basis: _Basis | None = None
        self._latest_statistics: tuple[LearnedStatistics, NetworkStatistics | None, NetworkStatistics] | None = None

    def network_statistics(self, learned: LearnedStatistics, given: NetworkStatistics | None) -> NetworkStatistics:
        """Return what is known of the network; the same object for as long as nothing more was learned.

        Args:
            learned: What was measured.
            given: What is known without that; None: a guess.
        """
        if (
            self._latest_statistics is None
            or self._latest_statistics[0] is not learned
            or self._latest_statistics[1] is not given
        ):
            statistics = learned.statistics(self._network, believed_statistics(self._network, given))
            self._latest_statistics = (learned, given, statistics)
        return self._latest_statistics[2]

    def coming_work(
        self, network_statistics: NetworkStatistics, statistics: Statistics, windows: UpcomingWindows | None = None
    ) -> ComingWork:
        """Return the work on the rows of a micro-batch: its seconds are those of the load it was worked out for.

        Args:
            network_statistics: What is known of the network.
            statistics: The coming rows and what they cost.
            windows: What is known of windows; None: none is dropped.
        """
        again = self._again(network_statistics, statistics)
        if again is not None:
            return again
        work = coming_work(
            self._network,
            network_statistics,
            statistics,
            trigger_interval_seconds=self._trigger_interval_seconds,
            large_values=self._policy.large_values,
            counted_rows=self._policy.counted_rows,
            windows=windows,
        )
        rates = self._policy.rates
        planner = None if rates is None else RatePlanner(work.tree, work.demands, rates)
        self._basis = (
            None
            if work.droppable
            else self._basis_of(
                network_statistics, statistics, replace(work, planner=planner, known_least_shares=work.least_shares)
            )
        )
        return work

    def _again(self, network_statistics: NetworkStatistics, statistics: Statistics) -> ComingWork | None:
        """The work of the last plan, if only the load has changed since; None: it has to be computed anew."""
        basis = self._basis
        if basis is None or not self._policy.is_proportional or basis.work.tree.grouped_nodes:
            return None
        if any(demand.goal is not None for demand in basis.work.demands):
            return None
        growth = self._growth(basis.statistics, statistics)
        if growth is None or not are_alike(network_statistics, basis.network_statistics, tolerance=STEADY):
            return None
        factor = _common(1 / growth if depends else 1.0 for depends in basis.depends)
        if factor is None or max(1.0, factor) * basis.most_coefficient >= 1 or factor * basis.least_coefficient <= 0:
            return None  # errors change differently, or one is as large as any is taken to be
        return replace(basis.work, error_factor=factor)

    def _growth(self, before: Statistics, now: Statistics) -> float | None:
        """How many times the rows come; None where it is not the same for all streams, in rows and in work."""
        names = [stream.name for stream in self._network.streams]
        growth = _common(_ratios([(before.offered_rows.get(name, 0), now.offered_rows.get(name, 0)) for name in names]))
        of_work = _common(_ratios([(before.work_seconds(name), now.work_seconds(name)) for name in names]))
        return None if of_work is None else growth

    def _basis_of(self, network_statistics: NetworkStatistics, statistics: Statistics, work: ComingWork) -> _Basis:
        sheddable = [demand for demand in work.demands if not demand.is_protected]
        coefficients = [demand.coefficient for demand in sheddable]
        return _Basis(
            network_statistics=network_statistics,
            statistics=statistics,
            work=work,
            depends=frozenset(self._depends_on_load(demand, network_statistics) for demand in sheddable),
            least_coefficient=min(coefficients, default=1.0),
            most_coefficient=max(coefficients, default=0.0),
        )

    def _depends_on_load(self, demand: Demand, network_statistics: NetworkStatistics) -> bool:
        """Whether windows hold more rows at a higher load: neither windows of n rows do, nor groups of known size."""
        query = self._network.query(demand.counts_for or demand.query)
        about = network_statistics.queries.get(query.name)
        by_groups = demand.counts_for is None and about is not None and about.groups is not None
        return not (by_groups or query.stream.is_numbered)


def _ratios(pairs: Sequence[tuple[float, float]]) -> Iterator[float]:
    for before, now in pairs:
        if before > 0 and now > 0:
            yield now / before
        elif before != now:
            yield math.inf


def _common(factors: Iterable[float]) -> float | None:
    """The one value of all factors, 1 where there are none; None where they differ."""
    all_factors = list(factors)
    if not all_factors:
        return 1.0
    alike = all(math.isclose(all_factors[0], factor, rel_tol=_SAME_GROWTH) for factor in all_factors)
    return all_factors[0] if alike and math.isfinite(all_factors[0]) else None
