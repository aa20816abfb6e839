"""Windows of nested aggregates that are dropped while a stream runs: what is kept is whole, and nothing else is."""

from __future__ import annotations

import itertools
from collections.abc import Sequence

from hypothesis import given
from hypothesis import strategies as st

from streamshed.network.terms.window import WindowSpecification
from streamshed.planning.window_drop.track.open_windows import EventTimes, QueryDrops
from streamshed.planning.window_drop.windows.gap_coin import GapCoin
from streamshed.planning.window_drop.windows.provenance import extent, needed_rows
from tests.thoroughness import examples

LONGEST = 120
DEEPEST = 4


@st.composite
def windows(draw: st.DrawFn) -> WindowSpecification:
    slide = draw(st.integers(1, 7))
    return WindowSpecification(slide + draw(st.integers(0, 8)), slide, draw(st.integers(0, 3)))


Chain = Sequence[WindowSpecification]


def contents(chain: Chain, rows: frozenset[int]) -> dict[int, frozenset[int]]:
    """The rows behind each answer, by the start of its window: computed aggregate by aggregate, as defined."""
    below = {row: frozenset([row]) for row in rows}
    for window in chain:
        found: dict[int, frozenset[int]] = {}
        for stamp, behind in below.items():
            last = (stamp - window.offset_microseconds) // window.slide_microseconds
            for number in itertools.count(last, -1):
                start = window.offset_microseconds + number * window.slide_microseconds
                if start + window.size_microseconds <= stamp:
                    break
                found[start] = found.get(start, frozenset()) | behind
        below = found
    return below


@given(st.lists(windows(), min_size=1, max_size=DEEPEST), st.integers(-30, 30))
@examples(300)
def test_what_a_window_needs_deviates_from_it_no_further_than_its_extent(
    chain: list[WindowSpecification], k: int
) -> None:
    start = chain[-1].offset_microseconds + k * chain[-1].slide_microseconds
    needed, bound = needed_rows(chain, start), extent(chain)
    if needed is not None:
        assert needed.start >= start + bound.lead
        assert needed.end <= start + chain[-1].size_microseconds + bound.beyond


@given(
    st.lists(windows(), min_size=1, max_size=DEEPEST),
    st.integers(1, 6),
    st.integers(1, 5),
    st.lists(st.tuples(st.integers(1, 25), st.integers(0, 10), st.floats(0, 1)), min_size=3, max_size=12),
)
@examples(300)
def test_kept_windows_are_whole_and_rows_that_none_of_them_needs_are_gone(
    chain: list[WindowSpecification], batch: int, epochs: int, steps: list[tuple[int, int, float]]
) -> None:
    outermost = chain[-1]
    coin = GapCoin(1, batch, outermost, min(batch, epochs) * outermost.slide_microseconds)
    most = batch / (batch + 1)
    of_row = {row: set[int]() for row in range(LONGEST * 3)}
    for start, behind in contents(chain, frozenset(of_row)).items():
        for row in behind:
            of_row[row].add((start - outermost.offset_microseconds) // outermost.slide_microseconds)
    known: QueryDrops | None = None
    kept: set[int] = set()
    ever_dropped: set[int] = set()
    now = opened = 0
    for length, disorder, share in steps:
        times = EventTimes(opened=opened, carried_since=0, first=max(opened, now - disorder), last=now + length - 1)
        known = QueryDrops.starting(coin, times, tuple(chain[:-1])) if known is None else known
        assert known is not None
        known = known.advanced(times, drop_share=min(share, most))
        ever_dropped |= set(known.numbers())
        unneeded = known.unneeded
        for row in range(now, now + length):
            is_gone = any(one.start <= row < one.end for one in unneeded)
            if not is_gone:
                kept.add(row)
            decided = set(known.numbers())
            if of_row[row]:
                assert is_gone == (of_row[row] <= decided), row
        now += length
        opened = max(opened, now - disorder)
    whole, left = contents(chain, frozenset(range(now))), contents(chain, frozenset(kept))
    for start, behind in whole.items():
        number = (start - outermost.offset_microseconds) // outermost.slide_microseconds
        if number not in ever_dropped:
            assert left.get(start) == behind
    runs = [
        len(list(run))
        for _, run in itertools.groupby(enumerate(sorted(ever_dropped)), key=lambda pair: pair[1] - pair[0])
    ]
    assert max(runs, default=0) <= batch
