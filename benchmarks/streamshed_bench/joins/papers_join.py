"""The paper's operator itself, row by row ([G05] Algorithms 1 to 4): what its own rules give on the same streams.

Ours works in micro-batches, knows what comparing will cost and learns from every comparison. This one has what the
paper has: a server that makes so many comparisons a second, buffers of a second in front of it, a fraction r that is
corrected every T_r by what was fetched, yields counted from scratch in every T_c, from rows that were compared fully.
What joins is taken from a full join made before. Where the paper leaves it open: a row that cannot be fetched within a
second is dropped, a basic window in part is its youngest rows, basic windows begin at multiples of b, and of both
windows r·γ of the rows are compared fully, whatever r1 and r2 are.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np
import pyarrow as pa

from streamshed.joins.choose.join_policies import SAMPLING
from streamshed.joins.choose.papers_policies import RateAdaptation, direction_fractions
from streamshed.joins.model.arrays import Booleans, Floats, Ints
from streamshed.joins.model.side import Side
from streamshed.joins.model.specification import JoinSpecification
from streamshed.joins.partition.partition import JoinPartition
from streamshed.joins.windows.join_plan import JoinPlan
from streamshed.joins.windows.store import MemoryStore
from streamshed_bench.joins.join_runs import SECOND, MicroBatch

BUFFER_SECONDS = 1.0
"""A row that is not fetched for so long is dropped."""
ADAPTATION_SECONDS = 5.0
"""T_r and T_c."""
PAPERS_POLICIES = ("random_drop", "rate_adaptation", "time_correlation", "direction")
_LEARNING = frozenset({"time_correlation", "direction"})
_PLACE = "place"


@dataclass(frozen=True, kw_only=True)
class TimedPairs:
    """Two streams and the pairs of them that join.

    Args:
        times: Per side, seconds, in order.
        left: Per pair the place of its left row.
        right: That of its right row.
    """

    times: dict[Side, Floats]
    left: Ints
    right: Ints

    @classmethod
    def of(cls, specification: JoinSpecification, micro_batches: Iterable[MicroBatch]) -> TimedPairs:
        """Join streams in full."""
        partition = JoinPartition(specification, MemoryStore())
        times: dict[Side, list[Floats]] = {side: [np.zeros(0)] for side in Side}
        lefts, rights = [np.zeros(0, np.int64)], [np.zeros(0, np.int64)]
        for micro_batch in micro_batches:
            tables = {Side.LEFT: micro_batch.left, Side.RIGHT: micro_batch.right}
            for side, table in tables.items():
                before = sum(map(len, times[side]))
                tables[side] = table.append_column(_PLACE, pa.array(np.arange(before, before + len(table))))
                times[side].append(np.asarray(table[specification.time_of(side)]) / SECOND)
            plan = JoinPlan(watermark_microseconds=micro_batch.watermark_microseconds)
            join_result = partition.join(tables[Side.LEFT], tables[Side.RIGHT], plan)
            lefts.append(np.asarray(join_result.left_rows()[_PLACE]))
            rights.append(np.asarray(join_result.right_rows()[_PLACE]))
        return cls(
            times={side: np.concatenate(several) for side, several in times.items()},
            left=np.concatenate(lefts),
            right=np.concatenate(rights),
        )

    def partners(self, side: Side) -> list[Ints]:
        """Return for each row of a side the places of the rows of the other that it joins, in order of time."""
        mine, theirs = (self.left, self.right) if side is Side.LEFT else (self.right, self.left)
        order = np.lexsort((theirs, mine))
        return np.split(theirs[order], np.cumsum(np.bincount(mine, minlength=len(self.times[side])))[:-1])


@dataclass(slots=True)
class _Window:
    """The rows of one side that were fetched, by basic window.

    Args:
        rows: Per basic window [m·b, (m+1)·b), how many were fetched.
        fetched: Per row, whether it was.
        matches: ô_ij, results of rows of the other side that were compared fully, by age in basic windows.
        order: s_ij, the ages in order of priority.
    """

    rows: Ints
    fetched: Booleans
    matches: Floats
    order: list[int]


class PapersJoin:
    """A join of sets of equal windows on both sides.

    Args:
        pairs: The streams, and what joins.
        policy: One of `PAPERS_POLICIES`.
        comparisons_per_second: What the server makes.
        window_seconds: w1 = w2.
        basic_seconds: b.
        seed: Of the choice of rows that are compared fully.
    """

    def __init__(
        self,
        pairs: TimedPairs,
        policy: str,
        *,
        comparisons_per_second: float,
        window_seconds: float = 20.0,
        basic_seconds: float = 1.0,
        seed: int = 0,
    ) -> None:
        self._pairs, self._policy, self._speed = pairs, policy, comparisons_per_second
        self._window, self._basic = window_seconds, basic_seconds
        self._random = np.random.default_rng(seed)
        self._basic_windows = 1 + int(np.ceil(window_seconds / basic_seconds))
        last = max(float(times[-1]) for times in pairs.times.values())
        cells = int(last // basic_seconds) + 1
        self._windows = {
            side: _Window(
                np.zeros(cells, np.int64),
                np.zeros(len(times), np.bool_),
                np.zeros(self._basic_windows),
                list(range(self._basic_windows)),
            )
            for side, times in pairs.times.items()
        }
        self._adaptation = RateAdaptation()
        self._fractions = dict.fromkeys(Side, 1.0)
        self._worth = dict.fromkeys(Side, 0.0)

    def results_per_second(self) -> Floats:
        """Run it; return how many results there were in each second of arrival."""
        sides, times, places = self._arrivals()
        partners = {side: self._pairs.partners(side) for side in Side}
        results_by_second = np.zeros(int(times[-1]) + 1)
        free_at, adapt_at, fetched, arrived = 0.0, ADAPTATION_SECONDS, 0, 0
        for side, time, place in zip(sides.tolist(), times.tolist(), places.tolist(), strict=True):
            while time >= adapt_at:
                self._adapt(fetched, arrived)
                adapt_at, fetched, arrived = adapt_at + ADAPTATION_SECONDS, 0, 0
            arrived += 1
            if free_at > time + BUFFER_SECONDS:
                continue
            fetched += 1
            new_side = Side(side)
            made, results = self._probe(new_side.opposite, time, partners[new_side][place])
            self._windows[new_side].rows[int(time // self._basic)] += 1
            self._windows[new_side].fetched[place] = True
            free_at = max(free_at, time) + made / self._speed
            results_by_second[int(time)] += results
        return results_by_second

    def _arrivals(self) -> tuple[Ints, Floats, Ints]:
        sides = np.concatenate([np.full(len(times), side) for side, times in self._pairs.times.items()])
        times = np.concatenate(list(self._pairs.times.values()))
        places = np.concatenate([np.arange(len(one)) for one in self._pairs.times.values()])
        order = np.argsort(times, kind="stable")
        return sides[order], times[order], places[order]

    def _probe(self, side: Side, time: float, partners: Ints) -> tuple[int, int]:
        """Algorithm 3: compare a new row with a window; return comparisons and results."""
        window = self._windows[side]
        now = int(time // self._basic)
        begin = max(0, now - self._basic_windows + 1)
        rows = window.rows[begin : now + 1][::-1]
        times = self._pairs.times[side]
        partners = partners[window.fetched[partners]]
        since = times[partners]
        joins = partners[(since <= time) & (time - since <= self._window)]
        ages = now - (times[joins] // self._basic).astype(np.int64)
        if self._policy == "random_drop":
            return int(rows.sum()), len(joins)
        if self._policy in _LEARNING and self._random.random() < self._adaptation.fraction * SAMPLING:
            window.matches += np.bincount(ages, minlength=self._basic_windows)
            return int(rows.sum()), len(joins)
        shares = self._shares(rows, window.order, self._fractions[side])
        made = round(float(rows @ shares[: len(rows)]))
        whole = int((shares[ages] == 1.0).sum()) if len(joins) else 0
        return made, whole + self._of_parts(shares, ages, joins, side, now)

    def _shares(self, rows: Ints, order: list[int], fraction: float) -> Floats:
        """Lines 7 to 14: per basic window the share that is compared."""
        shares = np.zeros(self._basic_windows)
        left = fraction * float(rows.sum())
        for age in order:
            if age >= len(rows) or not rows[age]:
                continue
            if rows[age] > left:
                shares[age] = left / rows[age]
                break
            shares[age] = 1.0
            left -= float(rows[age])
        return shares

    def _of_parts(self, shares: Floats, ages: Ints, joins: Ints, side: Side, now: int) -> int:
        """Results within the basic window that is compared in part, its youngest rows."""
        parts = np.flatnonzero((shares > 0.0) & (shares < 1.0))
        if not len(parts):
            return 0
        age = int(parts[0])
        mine = joins[ages == age]
        if not len(mine):
            return 0
        window, times = self._windows[side], self._pairs.times[side]
        begin, end = np.searchsorted(times, [(now - age) * self._basic, (now - age + 1) * self._basic])
        stored = np.flatnonzero(window.fetched[begin:end]) + begin
        first = stored[len(stored) - round(float(shares[age]) * len(stored)) :]
        return int((mine >= first[0]).sum()) if len(first) else 0

    def _adapt(self, fetched: int, arrived: int) -> None:
        """Algorithms 1, 2 and 4."""
        sampled = self._adaptation.fraction
        if self._policy != "random_drop":
            self._adaptation = self._adaptation.update(budget=max(1.0, fetched), needed=max(1.0, arrived))
        self._fractions = dict.fromkeys(Side, self._adaptation.fraction)
        for side, window in self._windows.items():
            if window.matches.any():
                window.order = np.argsort(-window.matches, kind="stable").tolist()
                self._worth[side] = float(window.matches.mean()) / sampled
            window.matches = np.zeros(self._basic_windows)
        if self._policy == "direction" and any(self._worth.values()):
            lengths = dict.fromkeys(Side, self._window)
            self._fractions = direction_fractions(self._adaptation.fraction, lengths, self._worth)
