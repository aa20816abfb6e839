"""What a join takes in virtual time: comparisons grow with the square of the load, as more rows come and wait."""

from __future__ import annotations

import math
from bisect import bisect_left, bisect_right
from dataclasses import dataclass
from itertools import pairwise

from streamshed.simulator.profiles import LoadCurve
from streamshed.statistics.join_statistics import JoinStatistics

_LEAST_COMPARED = 0.1
"""Of what it may take, that a join compares for at least, whatever else it has to do: see `TimeBudget`."""
_GAUSS = (-1 / math.sqrt(3), 1 / math.sqrt(3))
"""Where to look at a function for its integral over [−1, 1], which is exact for cubics."""


@dataclass(frozen=True, slots=True, kw_only=True)
class JoinSeconds:
    """What the full join of a micro-batch takes, and a part of it.

    Args:
        overhead: Before anything is compared.
        comparing: All comparisons.

    Example:
        As in a run, comparisons have what is left of the share, and a tenth of it at least:

        >>> full = JoinSeconds(overhead=0.2, comparing=0.8)
        >>> [round(full.at(share), 3) for share in (1.0, 0.5, 0.1, 0.0)]
        [1.0, 0.5, 0.21, 0.2]
    """

    overhead: float
    comparing: float

    @property
    def full(self) -> float:
        """Nothing shed."""
        return self.overhead + self.comparing

    def at(self, work_share: float) -> float:
        """Return what it takes if a share of the cost of the full join is to be spent."""
        budget = work_share * self.full
        return self.overhead + min(self.comparing, max(_LEAST_COMPARED * budget, budget - self.overhead))


@dataclass(frozen=True, slots=True, kw_only=True)
class VirtualJoin:
    """A join under loads λ1(t) and λ2(t) of its sides.

    A left row of time t is compared with the right rows of [t − w2, t], a right one with the left rows of [t − w1, t],
    so from a to b there are ∫ λ1(t)·(Λ2(t) − Λ2(t − w2)) + λ2(t)·(Λ1(t) − Λ1(t − w1)) dt comparisons, Λ the rows until
    then. At constant loads that is λ1·λ2·(w1 + w2) a second, once windows are full ([G05] §4.1).

    Args:
        stream: The name of the stream of its results.
        left: λ1, behind the operators before the join.
        right: λ2.
        left_window_seconds: w1, how long left rows wait.
        right_window_seconds: w2, how long right ones do.
        basic_windows: How many both windows have, n1 + n2; all are read in every micro-batch.
        is_sheddable: Whether it may be done in part.
        statistics: What its work takes.
        since_seconds: Since when rows come, as at time 0 or at their first point; −∞: windows are full from time 0 on.

    Example:
        >>> from dataclasses import replace
        >>> from streamshed.simulator.profiles import constant
        >>> once = VirtualJoin(
        ...     stream="pairs", left=constant(10.0), right=constant(4.0), left_window_seconds=20.0,
        ...     right_window_seconds=5.0, basic_windows=27, is_sheddable=True, statistics=JoinStatistics(),
        ... )
        >>> [round(once.comparisons(60.0, until)) for until in (61.0, 62.0)]
        [1000, 2000]
        >>> [round(replace(once, since_seconds=since).comparisons(0.0, 1.0)) for since in (0.0, -math.inf)]
        [40, 1000]
    """

    stream: str
    left: LoadCurve
    right: LoadCurve
    left_window_seconds: float
    right_window_seconds: float
    basic_windows: int
    is_sheddable: bool
    statistics: JoinStatistics
    since_seconds: float = 0.0

    def comparisons(self, since_seconds: float, until_seconds: float) -> float:
        """Return how many comparisons the full join makes for the rows that come between two times."""
        points = [since_seconds, *self._bends(since_seconds, until_seconds), until_seconds]
        total = 0.0
        for start, end in pairwise(points):
            middle, half = (start + end) / 2, (end - start) / 2
            total += half * sum(self._comparisons_per_second(middle + half * at) for at in _GAUSS)
        return self.statistics.compared_share * total

    def seconds(self, since_seconds: float, until_seconds: float, *, micro_batches: float = 1.0) -> JoinSeconds:
        """Return what the full join takes for the rows that come between two times.

        Args:
            since_seconds: From when on.
            until_seconds: Until when, no earlier.
            micro_batches: In how many they are taken.
        """
        rows = sum(self._rows(side, since_seconds, until_seconds) for side in (self.left, self.right))
        each = self.statistics.overhead_seconds(rows=rows / micro_batches, basic_windows=self.basic_windows)
        return JoinSeconds(
            overhead=each * micro_batches,
            comparing=self.statistics.comparing_seconds(self.comparisons(since_seconds, until_seconds)),
        )

    def _comparisons_per_second(self, at: float) -> float:
        waiting_left = self._rows(self.left, at - self.left_window_seconds, at)
        waiting_right = self._rows(self.right, at - self.right_window_seconds, at)
        return self.left.load_at(at) * waiting_right + self.right.load_at(at) * waiting_left

    def _bends(self, since: float, until: float) -> list[float]:
        """The times between which comparisons per second are a polynomial: where loads bend, and a window later."""
        bends = {self.left_window_seconds, self.right_window_seconds}
        for profile, window in ((self.left, self.left_window_seconds), (self.right, self.right_window_seconds)):
            for shift in (0.0, window):
                first = bisect_right(profile.times, since - shift)
                last = bisect_left(profile.times, until - shift)
                bends.update(time + shift for time in profile.times[first:last])
        return sorted(time for time in bends if since < time < until)

    def _rows(self, side: LoadCurve, since: float, until: float) -> float:
        """Rows of a side between two times."""
        first = self.since_seconds
        return side.rows_before(max(first, until)) - side.rows_before(max(first, since))
