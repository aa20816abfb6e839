"""The work that was planned on last, for as long as only how many rows come has changed: [B04] §3.2.1, stability."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace

from streamshed.network.network import QueryNetwork
from streamshed.planning.coming_work import ComingWork, coming_work
from streamshed.planning.demand import Demand
from streamshed.planning.policies import Policy
from streamshed.planning.replanning import RatePlanner
from streamshed.planning.window_drop.decisions import UpcomingWindows
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
class _Kept:
    """What was planned on; of the queries that may be shed, how their errors go with the load.

    Attributes:
        known: Statistics of the network.
        statistics: The rows, and what they cost.
        work: The work.
        depends: Which answers there are: True: the error of a query falls as more rows come; False: it does not.
        least_coefficient: The smallest error coefficient of any.
        most_coefficient: The largest.
    """

    known: NetworkStatistics
    statistics: Statistics
    work: ComingWork
    depends: frozenset[bool]
    least_coefficient: float
    most_coefficient: float


class KeptWork:
    """The work of one network, micro-batch by micro-batch; worked out anew only where that may change a plan.

    Where nothing has changed but how many rows come, all work has grown by one factor and all errors have shrunk by
    one, so shares of the work buy what they bought before: tree and demands are kept, and rates are found by
    `RatePlanner`. That is not so where windows are dropped, groups cost, a query has a goal, some errors depend on the
    load and others do not, streams grow apart, or a policy makes no proportion of errors: there each plan is a new one.

    Args:
        network: The network.
        policy: How it is shed.
        trigger_interval_seconds: How long rows gather.
    """

    def __init__(self, network: QueryNetwork, policy: Policy, *, trigger_interval_seconds: float) -> None:
        self._network, self._policy = network, policy
        self._trigger_interval_seconds = trigger_interval_seconds
        self._kept: _Kept | None = None
        self._worked_out = 0
        self._told: tuple[LearnedStatistics, NetworkStatistics | None, NetworkStatistics] | None = None

    @property
    def worked_out(self) -> int:
        """How often the work was worked out anew."""
        return self._worked_out

    def known(self, learned: LearnedStatistics, given: NetworkStatistics | None) -> NetworkStatistics:
        """Return what is known of the network; the same object for as long as nothing more was learned.

        Args:
            learned: What was measured.
            given: What is known without that; None: a guess.
        """
        if self._told is None or self._told[0] is not learned or self._told[1] is not given:
            told = learned.statistics(self._network, believed_statistics(self._network, given))
            self._told = (learned, given, told)
        return self._told[2]

    def coming_work(
        self, known: NetworkStatistics, statistics: Statistics, windows: UpcomingWindows | None = None
    ) -> ComingWork:
        """Return the work on the rows of a micro-batch: its seconds are those of the load it was worked out for.

        Args:
            known: What is known of the network.
            statistics: The coming rows and what they cost.
            windows: What is known of windows; None: none is dropped.
        """
        again = self._again(known, statistics)
        if again is not None:
            return again
        work = coming_work(
            self._network,
            known,
            statistics,
            trigger_interval_seconds=self._trigger_interval_seconds,
            large_values=self._policy.large_values,
            counted_rows=self._policy.counted_rows,
            windows=windows,
        )
        rates = self._policy.rates
        planner = None if rates is None else RatePlanner(work.tree, work.demands, rates)
        self._kept = (
            None
            if work.droppable
            else self._kept_of(known, statistics, replace(work, planner=planner, known_least_shares=work.least_shares))
        )
        self._worked_out += 1
        return work

    def _again(self, known: NetworkStatistics, statistics: Statistics) -> ComingWork | None:
        """The work that is kept, if only the load has changed since; None: it has to be worked out anew."""
        kept = self._kept
        if kept is None or not self._policy.is_proportional or kept.work.tree.grouped_nodes:
            return None
        if any(one.goal is not None for one in kept.work.demands):
            return None
        growth = self._growth(kept.statistics, statistics)
        if growth is None or not are_alike(known, kept.known, tolerance=STEADY):
            return None
        factor = _common(1 / growth if depends else 1.0 for depends in kept.depends)
        if factor is None or max(1.0, factor) * kept.most_coefficient >= 1 or factor * kept.least_coefficient <= 0:
            return None  # errors change differently, or one is as large as any is taken to be
        return replace(kept.work, error_factor=factor)

    def _growth(self, before: Statistics, now: Statistics) -> float | None:
        """How many times the rows come; None where it is not the same for all streams, in rows and in work."""
        names = [stream.name for stream in self._network.streams]
        growth = _common(_ratios([(before.offered_rows.get(name, 0), now.offered_rows.get(name, 0)) for name in names]))
        of_work = _common(_ratios([(before.work_seconds(name), now.work_seconds(name)) for name in names]))
        return None if of_work is None else growth

    def _kept_of(self, known: NetworkStatistics, statistics: Statistics, work: ComingWork) -> _Kept:
        sheddable = [demand for demand in work.demands if not demand.is_protected]
        coefficients = [demand.coefficient for demand in sheddable]
        return _Kept(
            known=known,
            statistics=statistics,
            work=work,
            depends=frozenset(self._depends_on_load(demand, known) for demand in sheddable),
            least_coefficient=min(coefficients, default=1.0),
            most_coefficient=max(coefficients, default=0.0),
        )

    def _depends_on_load(self, demand: Demand, known: NetworkStatistics) -> bool:
        """Whether windows hold more rows when more come: not those of so many rows, nor groups of known sizes."""
        query = self._network.query(demand.counts_for or demand.query)
        about = known.queries.get(query.name)
        by_groups = demand.counts_for is None and about is not None and about.groups is not None
        return not (by_groups or query.stream.is_numbered)


def _ratios(pairs: Sequence[tuple[float, float]]) -> Iterator[float]:
    for before, now in pairs:
        if before > 0 and now > 0:
            yield now / before
        elif before != now:
            yield math.inf


def _common(factors: Iterable[float]) -> float | None:
    """The factor that all are, 1 where there is none; None where they differ."""
    found = list(factors)
    if not found:
        return 1.0
    alike = all(math.isclose(found[0], factor, rel_tol=_SAME_GROWTH) for factor in found)
    return found[0] if alike and math.isfinite(found[0]) else None
