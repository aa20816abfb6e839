"""The work that was planned on last, for as long as only how many rows come has changed: [B04] §3.2.1, stability."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

from streamshed.network.network import QueryNetwork
from streamshed.planning.demand import Demand
from streamshed.planning.policies import Policy
from streamshed.planning.query_rates import ComingWork, coming_work
from streamshed.planning.replanning import RatePlanner
from streamshed.planning.window_drop.decisions import UpcomingWindows
from streamshed.statistics.alike import are_alike
from streamshed.statistics.forecast import Statistics
from streamshed.statistics.network_statistics import NetworkStatistics

STEADY = 0.05
"""By so little statistics may have moved since a plan was made: rates off by half of that are no worse for answers.

An error is least at the best rates, so near them it hardly changes: by about the square of what they are off.
"""

_SAME_GROWTH = 1e-9


@dataclass(frozen=True, slots=True)
class _Kept:
    known: NetworkStatistics
    statistics: Statistics
    work: ComingWork


class KeptWork:
    """The work of one network, micro-batch by micro-batch; worked out anew only where that may change a plan.

    Where nothing has changed but how many rows come, all work has grown by one factor and all errors have shrunk by
    one, so shares of the work buy what they bought before: tree and demands are kept, and rates are found by
    `RatePlanner`. That is not so where windows are dropped, groups cost, a query has a goal, some errors depend on the
    load and others do not, or streams grow apart: there each plan is a new one.

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

    @property
    def worked_out(self) -> int:
        """How often the work was worked out anew."""
        return self._worked_out

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
        self._kept = None if work.droppable else _Kept(known, statistics, replace(work, planner=planner))
        self._worked_out += 1
        return work

    def _again(self, known: NetworkStatistics, statistics: Statistics) -> ComingWork | None:
        """The work that is kept, if only the load has changed since; None: it has to be worked out anew."""
        kept = self._kept
        if kept is None or kept.work.tree.grouped_nodes or any(one.goal is not None for one in kept.work.demands):
            return None
        growth = self._growth(kept.statistics, statistics)
        if growth is None or not are_alike(known, kept.known, tolerance=STEADY):
            return None
        factor = _common(self._error_factors(kept, growth))
        demands = None if factor is None else _scaled(kept.work.demands, factor)
        return None if demands is None else replace(kept.work, demands=demands)

    def _growth(self, before: Statistics, now: Statistics) -> float | None:
        """How many times the rows come; None where it is not the same for all streams, in rows and in work."""
        names = [stream.name for stream in self._network.streams]
        growth = _common(_ratios([(before.offered_rows.get(name, 0), now.offered_rows.get(name, 0)) for name in names]))
        of_work = _common(_ratios([(before.work_seconds(name), now.work_seconds(name)) for name in names]))
        return None if of_work is None else growth

    def _error_factors(self, kept: _Kept, growth: float) -> Iterator[float]:
        """By which factor the squared error of each query changes: windows that time ends hold more rows."""
        for demand in kept.work.demands:
            if demand.is_protected:
                continue
            query = self._network.query(demand.counts_for or demand.query)
            about = kept.known.queries.get(query.name)
            by_groups = demand.counts_for is None and about is not None and about.groups is not None
            yield 1.0 if by_groups or query.stream.is_numbered else 1 / growth


def _ratios(pairs: Sequence[tuple[float, float]]) -> Iterator[float]:
    for before, now in pairs:
        if before > 0 and now > 0:
            yield now / before
        elif before != now:
            yield math.inf


def _common(factors: Iterator[float]) -> float | None:
    """The factor that all are, 1 where there is none; None where they differ."""
    found = list(factors)
    if not found:
        return 1.0
    alike = all(math.isclose(found[0], factor, rel_tol=_SAME_GROWTH) for factor in found)
    return found[0] if alike and math.isfinite(found[0]) else None


def _scaled(demands: tuple[Demand, ...], factor: float) -> tuple[Demand, ...] | None:
    """The demands at another load; None where an error is, or would be, as large as any is taken to be."""
    found = []
    for demand in demands:
        if demand.is_protected:
            found.append(replace(demand, coefficient=min(1.0, demand.coefficient * factor)))
            continue
        coefficient = demand.coefficient * factor
        if max(coefficient, demand.coefficient) >= 1 or coefficient <= 0:
            return None
        found.append(replace(demand, coefficient=coefficient))
    return tuple(found)
