"""Blocks are left unread only where no row may be in a window that is kept, whatever the course of the load."""

from __future__ import annotations

from dataclasses import dataclass, replace
from itertools import groupby
from typing import Any

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from streamshed.control.decision import Decision
from streamshed.control.loop import ControlLoop
from streamshed.control.settings import ControlSettings
from streamshed.network.model.network import network
from streamshed.network.model.query import Query
from streamshed.network.run.load_prior import LoadPrior
from streamshed.planning.window_drop.track.decisions import UpcomingWindows
from streamshed.planning.window_drop.track.open_windows import EventTimes
from streamshed.planning.window_drop.track.window_drops import NOTHING_DROPPED, WindowDrops
from streamshed.statistics.measured import Measured
from tests.thoroughness import examples
from tests.unit.control.examples import outcome, upcoming
from tests.unit.planning.networks import rows_of

SECOND = 10**6
SAMPLED = rows_of("packets").window("1 minute").agg(n="count(*)").query("sampled")


@dataclass(frozen=True, kw_only=True)
class Course:
    """Some micro-batches, and a query that keeps windows.

    Args:
        rows: Of each micro-batch.
        span_seconds: Seconds of event time in each.
        size_seconds: Of the windows.
        slides: How many begin in one.
        max_gap: How many may be missing in a row.
        read_share: Which part of a row's cost is reading.
    """

    rows: list[int]
    span_seconds: int
    size_seconds: int
    slides: int
    max_gap: int
    read_share: float

    @property
    def slide(self) -> int:
        return self.size_seconds * SECOND // self.slides

    def decisions(self) -> list[tuple[EventTimes, Decision]]:
        prior = LoadPrior(fixed_seconds=0.2, seconds_per_row=1e-6, read_share=self.read_share, is_measured=True)
        settings = ControlSettings(trigger_interval_seconds=2.0, prior=prior)
        loop = ControlLoop(network(SAMPLED, self._kept()), settings, lambda: 99.0)
        drops, decisions, span = NOTHING_DROPPED, [], self.span_seconds * SECOND
        for number, count in enumerate(self.rows):
            opened = max(0, number * span - SECOND)
            times = EventTimes(opened=opened, carried_since=0, first=number * span, last=(number + 1) * span - 1)
            windows = UpcomingWindows(event_times={"packets": times}, drops=drops)
            offered = {"packets": count}
            decision = loop.plan(replace(upcoming(number, offered), blocks={"packets": 10_000}, windows=windows))
            drops = WindowDrops.from_document(decision.drops.to_document())
            took = outcome(number, offered, dict(decision.work_shares), max(0.1, decision.expected_seconds))
            loop.record(replace(took, read_shares=decision.read_shares), Measured())
            decisions.append((times, decision))
        return decisions

    def _kept(self) -> Query:
        windows = rows_of("packets").window(f"{self.size_seconds} seconds", every=f"{self.slide // 1000} ms")
        return windows.agg(most="max(value)").query("kept", mode="subset", max_gap=self.max_gap)

    def windows_of(self, times: EventTimes) -> range:
        """Numbers of the windows that rows of a micro-batch belong to; window k begins at k times the slide."""
        first = (times.first - self.size_seconds * SECOND) // self.slide + 1
        return range(first, times.last // self.slide + 1)


LONG_WINDOWS = Course(rows=[], span_seconds=20, size_seconds=60, slides=1, max_gap=10, read_share=0.9)


@st.composite
def courses(draw: Any) -> Course:
    stretches = draw(st.lists(st.tuples(st.floats(4.5, 7.5), st.integers(1, 8)), min_size=1, max_size=4))
    return Course(
        rows=[round(10**power) for power, count in stretches for _ in range(count)],
        span_seconds=draw(st.sampled_from([1, 2, 7, 20])),
        size_seconds=draw(st.sampled_from([2, 10, 60])),
        slides=draw(st.sampled_from([1, 2, 4])),
        max_gap=draw(st.integers(1, 30)),
        read_share=draw(st.floats(0.05, 0.9)),
    )


@given(courses())
@examples(60)
def test_blocks_are_left_unread_only_where_all_windows_of_the_rows_are_dropped(course: Course) -> None:
    for times, decision in course.decisions():
        if decision.read_shares:
            (part,) = decision.drops.queries.values()
            assert set(course.windows_of(times)) <= set(part.numbers())


@given(courses())
@examples(60)
def test_gaps_are_no_longer_than_they_may_be_while_the_query_is_not_shut_down(course: Course) -> None:
    decisions = [decision for _, decision in course.decisions()]
    assume(all(decision.kept_shares["kept"] > 0 for decision in decisions))
    dropped = sorted({number for one in decisions for part in one.drops.queries.values() for number in part.numbers()})
    gaps = [len(list(run)) for _, run in groupby(enumerate(dropped), key=lambda pair: pair[1] - pair[0])]
    assert max(gaps, default=0) <= course.max_gap


@pytest.mark.parametrize("read_share", [0.9, 0.97])
def test_there_are_courses_in_which_blocks_are_left_unread_between_windows_that_are_kept(read_share: float) -> None:
    """Also where all work on rows would fit, and nothing but reading does not."""
    course = replace(LONG_WINDOWS, rows=[2_500_000] * 60, read_share=read_share)
    decisions = course.decisions()
    read = [decision.read_shares.get("packets", 1.0) < 1 for _, decision in decisions]
    assert all(1 / 11 <= decision.kept_shares["kept"] <= 1 / 9 for _, decision in decisions[5:])
    assert 0.8 <= sum(read[5:]) / 55 < 1


def test_windows_that_every_micro_batch_has_some_of_are_kept_while_there_is_time_to_read_for_them() -> None:
    """How many are kept does not change what is read: reading is no reason to drop them, nor to shut the query down."""
    short = replace(LONG_WINDOWS, size_seconds=2, max_gap=8)
    fits, too_much = (
        [decision.kept_shares["kept"] for _, decision in replace(short, rows=[rows] * 30).decisions()[5:]]
        for rows in (1_800_000, 4_000_000)
    )
    assert min(fits) > 0.3
    assert max(too_much) == 0
