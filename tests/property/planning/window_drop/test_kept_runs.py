"""Runs in which windows are kept: as many as asked for, no gap too long, nearly as much delivered as there could be."""

from __future__ import annotations

import json
import math
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from functools import cache
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from streamshed.network.model.declared_stream import stream
from streamshed.network.model.network import network
from streamshed.network.source.sources import rate
from streamshed.planning.window_drop.track.decisions import UpcomingWindows, advanced_drops
from streamshed.planning.window_drop.track.droppable import DroppableQuery, droppable_queries
from streamshed.planning.window_drop.track.open_windows import EventTimes
from streamshed.planning.window_drop.track.run_needs import RunNeeds
from streamshed.planning.window_drop.track.window_drops import WindowDrops
from streamshed.planning.window_drop.windows.kept_runs import MOST_CELLS, RunGrid
from streamshed_bench.windows.windows_optimum import most_delivered
from streamshed_bench.windows.windows_queries import WindowsQuery
from tests.thoroughness import examples, share_of

WATERMARK = 10


@dataclass
class Course:
    """Queries over one stream through many micro-batches.

    Attributes:
        queries: By name.
        drops: What was decided last.
        dropped: The windows of each query that were dropped so far.
        until: The event time that was reached, microseconds.
        restarts_every: What was decided goes through a document, as between runs, every so many micro-batches.
        steps: How many there were.
    """

    queries: dict[str, DroppableQuery]
    drops: WindowDrops = field(default_factory=lambda: WindowDrops(queries={}))
    dropped: dict[str, set[int]] = field(default_factory=dict)
    until: int = 0
    restarts_every: int = 1
    steps: int = 0

    def step(self, length: int, kept_shares: dict[str, float]) -> None:
        """Decide on a micro-batch."""
        times = EventTimes(
            opened=self.until - WATERMARK, carried_since=0, first=self.until, last=self.until + length - 1
        )
        if self.steps % self.restarts_every == 0:
            self.drops = WindowDrops.from_document(json.loads(json.dumps(self.drops.to_document())))
        self.drops = advanced_drops(
            self.queries, kept_shares, UpcomingWindows(event_times={"rows": times}, drops=self.drops)
        )
        self.until += length
        self.steps += 1
        for name, one in self.queries.items():
            (part,) = one.parts
            self.dropped.setdefault(name, set()).update(self.drops.queries[part].numbers())

    def kept(self, name: str, since: int = 0) -> list[int]:
        """The windows of a query that were kept, of those that lie in what was seen."""
        window = self.queries[name].window
        last = (self.until - window.size_microseconds - window.offset_microseconds) // window.slide_microseconds
        first = -(-(since - window.offset_microseconds) // window.slide_microseconds)
        return [n for n in range(first, last + 1) if n not in self.dropped[name]]

    def share(self, name: str) -> float:
        """Which share of its windows was kept."""
        window = self.queries[name].window
        last = (self.until - window.size_microseconds - window.offset_microseconds) // window.slide_microseconds
        return len(self.kept(name)) / (last + 1)

    def needed(self) -> float:
        """Which share of the time windows need that were kept."""
        times = set[int]()
        for name, one in self.queries.items():
            for number in self.kept(name):
                start = one.window.offset_microseconds + number * one.window.slide_microseconds
                times |= set(range(start, start + one.window.size_microseconds))
        return len(times) / self.until


def course_of(*windows: tuple[int, int, int], offsets: Sequence[int] = (), restarts_every: int = 1) -> Course:
    """One of queries over the same rows, each of size, slide and bound of gaps, all in microseconds."""
    rows = stream("rows", rate(1), time="timestamp")
    asked = [
        rows.window(f"{size} us", every=f"{slide} us", offset=f"{offset} us")
        .agg(**{f"n{number}": f"sum(value + {number})"})
        .query(f"q{number}", mode="subset", max_gap=batch)
        for number, ((size, slide, batch), offset) in enumerate(
            zip(windows, offsets or [0] * len(windows), strict=True)
        )
    ]
    return Course({one.query: one for one in droppable_queries(network(*asked))}, restarts_every=restarts_every)


@pytest.mark.parametrize("window", [(10, 10, 8), (10, 5, 20), (40, 10, 30), (40, 10, 2)])
@pytest.mark.parametrize("times", [0.2, 0.5, 0.8, 0.98])
@pytest.mark.parametrize("length", [13, 60])
def test_the_share_holds_in_the_long_run(window: tuple[int, int, int], times: float, length: int) -> None:
    """More is kept only of windows that overlap so much that those which are kept need all rows anyway."""
    batch = window[2]
    kept_share = 1 - times * batch / (batch + 1)
    course = course_of(window, restarts_every=10)
    for number in range(share_of(30_000, least=15_000) // length):
        course.step(length + number % 7, {"q0": kept_share})
    assert course.share("q0") >= kept_share - 0.012
    if window[0] <= window[1] * batch:
        assert course.share("q0") <= kept_share + 0.012


@examples(60)
@given(
    st.lists(st.tuples(st.integers(0, 30), st.integers(1, 12), st.integers(1, 12)), min_size=1, max_size=3),
    st.lists(st.tuples(st.integers(5, 60), st.floats(0, 1), st.floats(0, 1)), min_size=2, max_size=12),
    st.lists(st.integers(0, 11), min_size=3, max_size=3),
)
def test_no_gap_is_too_long_however_shares_change(
    windows: list[tuple[int, int, int]], steps: list[tuple[int, float, float]], offsets: list[int]
) -> None:
    course = course_of(
        *[(slide + more, slide, batch) for more, slide, batch in windows],
        offsets=[offset % slide for offset, (_, slide, _) in zip(offsets, windows, strict=False)],
    )
    for length, one, other in steps:
        course.step(length, {name: max((one, other)[number % 2], 1e-9) for number, name in enumerate(course.queries)})
    for name, query in course.queries.items():
        kept = [-1, *course.kept(name)]
        assert all(b - a - 1 <= query.gap_windows for a, b in pairwise(kept))


@given(st.lists(st.tuples(st.integers(5, 60), st.floats(0.05, 0.9)), min_size=3, max_size=10), st.integers(40, 90))
def test_after_a_burst_all_is_kept(steps: list[tuple[int, float]], calm: int) -> None:
    course = course_of((20, 10, 6), (30, 5, 30))
    for length, share in steps:
        course.step(length, dict.fromkeys(course.queries, share))
    begins = course.until
    for _ in range(4):
        course.step(calm, dict.fromkeys(course.queries, 1.0))
    for name, one in course.queries.items():
        first = -(-begins // one.window.slide_microseconds)
        kept = set(course.kept(name, since=begins))
        assert set(range(first, max(kept, default=first) + 1)) <= kept


MIXED = ((5, 5, 10), (10, 5, 40), (10, 10, 10))
OTHERS = ((6, 3, 12), (6, 6, 8))


@cache
def steady(windows: tuple[tuple[int, int, int], ...], kept_share: float) -> Course:
    """As long a course as it takes until shares have settled, of which all queries keep the same one."""
    course = course_of(*windows)
    for _ in range(120):
        course.step(30, dict.fromkeys(course.queries, kept_share))
    return course


@pytest.mark.parametrize("windows", [MIXED, OTHERS, ((4, 2, 9),)])
@pytest.mark.parametrize("kept_share", [0.15, 0.25, 0.4, 0.6, 0.9])
def test_nearly_as_much_is_delivered_as_any_policy_could_from_as_many_rows(
    windows: tuple[tuple[int, int, int], ...], kept_share: float
) -> None:
    course = steady(windows, kept_share)
    delivered = sum(course.share(name) for name in course.queries) / len(windows)
    asked = [WindowsQuery(name=str(w), size=w[0], slide=w[1], gap_windows=w[2]) for w in windows]
    assert delivered >= 0.93 * most_delivered(asked, [1.0] * 400, course.needed())


@pytest.mark.parametrize("windows", [MIXED, OTHERS, ((4, 2, 9),), ((40, 10, 30),), ((5, 5, 60), (10, 10, 20))])
@pytest.mark.parametrize("kept_share", [0.15, 0.25, 0.4, 0.6, 0.9])
def test_what_runs_need_is_what_was_planned_for(windows: tuple[tuple[int, int, int], ...], kept_share: float) -> None:
    course = steady(windows, kept_share)
    planned = RunNeeds.of(list(course.queries.values()))
    assert planned is not None
    assert course.needed() == pytest.approx(planned.needed(kept_share), rel=0.1)


@examples(25)
@given(
    st.lists(st.tuples(st.integers(1, 3), st.integers(12, 40), st.integers(0, 9)), min_size=2, max_size=3),
    st.sampled_from([0.15, 0.25, 0.4, 0.6, 0.8]),
)
def test_where_windows_begin_at_different_times_runs_hold_whole_windows_of_all_and_need_what_was_planned_for(
    windows: list[tuple[int, int, int]], kept_share: float
) -> None:
    course = course_of(*[(10 * long, 10, batch) for long, batch, _ in windows], offsets=[one[2] for one in windows])
    planned = RunNeeds.of(list(course.queries.values()))
    assert planned is not None
    for _ in range(120):
        course.step(30, dict.fromkeys(course.queries, kept_share))
    assert course.needed() <= 1.12 * planned.needed(kept_share)
    assert all(course.share(name) >= kept_share - 0.012 for name in course.queries)


@given(st.integers(1, 50), st.integers(1, 200), st.integers(0, 60), st.floats(0.01, 0.9), st.floats(0, 1))
def test_the_share_that_fills_some_rows_needs_them(
    epoch: int, longest_gap: int, overlap: int, least: float, rows: float
) -> None:
    needs = RunNeeds(epoch=epoch, longest_gap=longest_gap, overlap=overlap)
    kept = needs.most_kept(rows, least)
    assert least <= kept <= 1
    assert needs.needed(kept) <= max(rows, needs.needed(least)) + 1e-9
    assert kept > 1 - 1e-6 or needs.needed(min(1.0, kept + 1e-6)) >= rows - 1e-9


@given(
    st.lists(st.integers(1, 40), min_size=1, max_size=4), st.integers(1, 200), st.integers(1, 5000), st.integers(0, 40)
)
def test_all_begin_a_window_where_a_cell_begins_if_that_is_often(
    slides: list[int], epoch: int, span: int, offset: int
) -> None:
    grid = RunGrid.of(slides, epoch, span=span, longest=300, offset=offset)
    assert grid.at(1234) <= 1234 < grid.at(1234) + grid.cell <= 1234 + 300
    if grid.cell < 300:
        assert span / grid.cell <= MOST_CELLS
        common = math.lcm(*slides)
        assert common > epoch or ((grid.at(1234) - offset) % common == 0 == grid.cell % common)


def test_a_query_that_came_later_runs_with_the_others() -> None:
    both = course_of((10, 10, 8), (20, 10, 20))
    first = Course({"q0": both.queries["q0"]})
    for _ in range(10):
        first.step(30, {"q0": 0.3})
    both = replace(both, drops=first.drops, until=first.until, dropped={"q0": first.dropped["q0"]})
    for _ in range(200):
        both.step(30, {"q0": 0.3, "q1": 0.3})
    starts = {name: {10 * n for n in both.kept(name, since=1000)} for name in both.queries}
    assert len(starts["q1"] - starts["q0"]) < 0.05 * len(starts["q1"])
    assert both.share("q1") == pytest.approx(0.3, abs=0.05)
