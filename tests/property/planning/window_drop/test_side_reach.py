"""Windows of results of a join that are dropped while it runs: what is kept is whole, whichever side rows come from."""

from __future__ import annotations

import itertools
import json
from collections.abc import Sequence
from dataclasses import dataclass

from hypothesis import given
from hypothesis import strategies as st

from streamshed.joins.model.side import Side
from streamshed.network.model.declared_stream import stream
from streamshed.network.model.rows import Rows
from streamshed.network.source.sources import rate
from streamshed.network.terms.join_condition import pairs_where
from streamshed.network.terms.window import WindowSpecification
from streamshed.planning.window_drop.track.open_windows import EventTimes, QueryDrops
from streamshed.planning.window_drop.track.side_reach import SideReach, side_reaches, unneeded_of_sides
from streamshed.planning.window_drop.track.window_drops import WindowDrops
from streamshed.planning.window_drop.windows.gap_coin import GapCoin
from streamshed.planning.window_drop.windows.kept_runs import RunGrid, lay_runs
from streamshed.planning.window_drop.windows.provenance import NeededRows
from tests.property.planning.window_drop.test_nested_drops import contents, windows
from tests.spark.joined_sides import any_pair
from tests.thoroughness import examples

LONGEST = 60
SIDES = 2


@dataclass(frozen=True)
class Joined:
    """Windows over a join, of which a side waits for `waits`, and is what `below` makes of rows."""

    below: tuple[tuple[WindowSpecification, ...], ...]
    waits: tuple[int, ...]
    over: tuple[WindowSpecification, ...]

    @property
    def reaches(self) -> tuple[SideReach, ...]:
        """As networks say it."""
        left, right = (
            _over(stream(name, rate(1), time="timestamp"), chain)
            for name, chain in zip(("calls", "alerts"), self.below, strict=True)
        )
        within = tuple(f"{wait} microseconds" for wait in self.waits)
        joined = left.join(right, on=pairs_where(any_pair), within=within, name="joined")
        query = _over(joined, self.over).query("q", mode="exact")
        return side_reaches(joined.stream, query.asked_windows)

    def behind(self, side: int, rows: frozenset[int]) -> dict[int, frozenset[tuple[int, int, frozenset[int]]]]:
        """What of a side is behind each window of results, by its start: stamps, times of results, rows behind these.

        Anything may be on the other side: a row, or an answer, joins at every time from its stamp on until it has
        waited for long enough.
        """
        stamped = contents(self.below[side], rows) if self.below[side] else {row: frozenset([row]) for row in rows}
        results = [
            (time, (stamp, time, own))
            for stamp, own in stamped.items()
            for time in range(stamp, stamp + self.waits[side] + 1)
        ]
        found: dict[int, frozenset[tuple[int, int, frozenset[int]]]] = {}
        by_time: dict[int, set[tuple[int, int, frozenset[int]]]] = {}
        for time, result in results:
            by_time.setdefault(time, set()).add(result)
        for start, times in contents(self.over, frozenset(by_time)).items():
            found[start] = frozenset(result for time in times for result in by_time[time])
        return found


def _over(node: Rows, chain: Sequence[WindowSpecification]) -> Rows:
    for one in chain:
        lengths = (one.size_microseconds, one.slide_microseconds, one.offset_microseconds)
        size, slide, offset = (f"{length} microseconds" for length in lengths)
        node = node.window(size, every=slide, offset=offset).agg(n="count(*)")
    return node


@st.composite
def joins(draw: st.DrawFn) -> Joined:
    below = tuple(tuple(draw(st.lists(windows(), max_size=2))) for _ in range(SIDES))
    waits = draw(st.tuples(st.integers(0, 9), st.integers(0, 9)).filter(any))
    return Joined(below, waits, tuple(draw(st.lists(windows(), min_size=1, max_size=2))))


STEPS = st.lists(st.tuples(st.integers(1, 25), st.integers(0, 10), st.floats(0, 1)), min_size=3, max_size=8)


@given(joins(), st.integers(1, 8), st.booleans(), STEPS)
@examples(150)
def test_kept_windows_of_results_are_whole_whatever_the_sides_hold(
    joined: Joined, batch: int, in_runs: bool, steps: list[tuple[int, int, float]]
) -> None:
    window, reaches = joined.over[-1], joined.reaches
    coin = GapCoin(1, batch, window, batch * window.slide_microseconds)
    known: QueryDrops | None = None
    kept: list[set[int]] = [set() for _ in range(SIDES)]
    ever_dropped: set[int] = set()
    now = opened = 0
    for length, disorder, share in steps:
        times = EventTimes(
            opened=opened,
            carried_since=0,
            first=max(opened, now - disorder),
            last=now + length - 1,
            ahead=max(joined.waits),
        )
        if known is None:
            known = QueryDrops.starting(coin, times, joined.over[:-1], reaches)
        assert known is not None
        known = _advanced(known, times, min(share, batch / (batch + 1)), in_runs=in_runs)
        ever_dropped |= set(known.numbers())
        told = WindowDrops.from_document(json.loads(json.dumps(WindowDrops(queries={"q": known}).to_document())))
        assert told.queries["q"] == known
        for side in range(SIDES):
            unneeded = told.queries["q"].unneeded_of_side(list(Side)[side])
            kept[side] |= {row for row in range(now, now + length) if not _lies_in(row, unneeded)}
        now += length
        opened = max(opened, now - disorder)
    for side in range(SIDES):
        whole, left = joined.behind(side, frozenset(range(now))), joined.behind(side, frozenset(kept[side]))
        for start, behind in whole.items():
            number = (start - window.offset_microseconds) // window.slide_microseconds
            if number not in ever_dropped:
                assert left.get(start) == behind
    runs = itertools.groupby(enumerate(sorted(ever_dropped)), key=lambda pair: pair[1] - pair[0])
    assert max((len(list(run)) for _, run in runs), default=0) <= batch


def _advanced(known: QueryDrops, times: EventTimes, drop_share: float, *, in_runs: bool) -> QueryDrops:
    runner = known.runner(1 - drop_share)
    if not (in_runs and runner.spares_rows):
        return known.advanced(times, drop_share=drop_share)
    grid = RunGrid.of([runner.slide], known.coin.epoch, span=times.last + 1 - times.first, longest=runner.longest_gap)
    laid = lay_runs({"q": runner}, grid, times.first, times.decided_until)
    return known.advanced_in_runs(times, laid["q"], drop_share=drop_share)


@given(joins(), st.frozensets(st.integers(0, 12), max_size=13))
@examples(150)
def test_rows_that_only_dropped_windows_need_are_spared(joined: Joined, dropped: frozenset[int]) -> None:
    """Where windows are of one aggregate, all such rows are; those of neither side are those of both."""
    window = joined.over[-1]
    lists = []
    for side, reach in enumerate(joined.reaches):
        unneeded = reach.unneeded(window, dropped)
        lists.append({time for one in unneeded for time in range(one.start, one.end)})
        of_row: dict[int, set[int]] = {}
        for start, behind in joined.behind(side, frozenset(range(-LONGEST, 3 * LONGEST))).items():
            for row in frozenset().union(*(rows for _, _, rows in behind)):
                number = (start - window.offset_microseconds) // window.slide_microseconds
                of_row.setdefault(row, set()).add(number)
        for row in range(LONGEST):
            is_spared = row in lists[-1]
            assert not is_spared or of_row.get(row, set()) <= dropped
            if of_row.get(row) and not (joined.below[side] or joined.over[:-1]):
                assert is_spared == (of_row[row] <= dropped)
    both = unneeded_of_sides(joined.reaches, window, dropped)
    assert {time for one in both for time in range(one.start, one.end)} == lists[0] & lists[1]


def _lies_in(instant: int, intervals: Sequence[NeededRows]) -> bool:
    return any(one.start <= instant < one.end for one in intervals)
