"""Overload of a join whose query misses windows, in virtual time: as many are kept as there is time for."""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from itertools import groupby

import pytest

from streamshed.control.decision import Upcoming
from streamshed.control.loop import ControlLoop
from streamshed.control.settings import ControlSettings
from streamshed.joins.model.side import Side
from streamshed.network.model.declared_stream import stream
from streamshed.network.model.network import QueryNetwork, network
from streamshed.network.model.rows import Rows
from streamshed.network.model.stream import Stream
from streamshed.network.run.load_prior import LoadPrior
from streamshed.network.source.sources import rate
from streamshed.planning.window_drop.track.decisions import UpcomingWindows
from streamshed.planning.window_drop.track.open_windows import EventTimes
from streamshed.planning.window_drop.track.retention import needed_share
from streamshed.planning.window_drop.track.window_drops import NOTHING_DROPPED, WindowDrops
from streamshed.spark.source.event_times import joined_times
from streamshed.statistics.micro_batch import MicroBatchOutcome

SECOND = 1_000_000
TRIGGER_SECONDS, FIXED_SECONDS, READ_SHARE, SECONDS_PER_ROW = 2.0, 0.2, 0.02, 60e-6
ROWS_PER_SECOND = 10_000
BURST, SETTLED_SECONDS, END = range(20, 140), 20, 170
MAX_GAP = 30
SOURCES = ("calls", "alerts")
CALLS, ALERTS = (stream(name, rate(1), time="timestamp") for name in SOURCES)
SIDES = {"rows": CALLS, "answers": CALLS.window("200 ms", every="100 ms").by("value").agg(n="count(*)")}


@dataclass
class Course:
    """What came of a load.

    Attributes:
        seconds: By micro-batch that began in the burst, how long it took, and how long rows had gathered.
        needed: The shares of rows of the burst that were admitted, each with the time they took to come.
        dropped: Numbers of windows that were dropped.
    """

    seconds: list[tuple[float, float]] = field(default_factory=list)
    needed: list[tuple[float, float]] = field(default_factory=list)
    dropped: set[int] = field(default_factory=set)


def _joined_times(pairs: Stream, first: int, last: int, *, is_first: bool) -> EventTimes:
    of_sources = dict.fromkeys(SOURCES, _times(first, last))
    return joined_times(pairs, of_sources, carried_since=None if is_first else 0)


def run(side: Rows, overload: float) -> Course:
    """Run a join in virtual time, rows stamped as they come; a row costs what it does if its side admits it."""
    pairs = side.join(ALERTS, on="value", within=("500 ms", "100 ms"), name="pairs")
    loop = _loop(network(pairs.window("500 ms").agg(n="count(*)").query("q", mode="subset", max_gap=MAX_GAP)))
    course, drops, before, now, number = Course(), NOTHING_DROPPED, 0.0, TRIGGER_SECONDS, 0
    while now < END:
        first, last = round(before * SECOND), round(now * SECOND) - 1
        offered = {"pairs": round(ROWS_PER_SECOND * (_load(now, overload) - _load(before, overload)))}
        times = _joined_times(pairs.stream, first, last, is_first=not number)
        decision = loop.plan(
            Upcoming(
                micro_batch_id=number,
                offered_rows=offered,
                sizes_known=True,
                backlog_rows=0,
                now_seconds=now,
                windows=UpcomingWindows(event_times={"pairs": times}, drops=drops),
            )
        )
        drops = decision.drops
        admitted = _admitted_share(drops, first, last)
        took = _seconds(offered["pairs"], admitted)
        loop.record(
            MicroBatchOutcome(
                micro_batch_id=number,
                offered_rows=offered,
                admitted_rows={"pairs": offered["pairs"] * admitted},
                sampling_rates={"pairs": 1.0},
                work_shares=decision.work_shares,
                processing_seconds=took,
                trigger_interval_seconds=TRIGGER_SECONDS,
                started_at_seconds=now,
            )
        )
        course.dropped |= {window for query in drops.queries.values() for window in query.numbers()}
        if BURST[0] + SETTLED_SECONDS <= before and now <= BURST[-1]:
            course.seconds.append((took, now - before))
            course.needed.append((admitted, now - before))
        due = (math.floor(now / TRIGGER_SECONDS + 1e-9) + 1) * TRIGGER_SECONDS
        before, number, now = now, number + 1, max(now + took, due)
    return course


def _times(first: int, last: int) -> EventTimes:
    return EventTimes(opened=max(0, first - SECOND), carried_since=None, first=first, last=last)


def _loop(queries: QueryNetwork) -> ControlLoop:
    prior = LoadPrior(
        fixed_seconds=FIXED_SECONDS, seconds_per_row=SECONDS_PER_ROW, read_share=READ_SHARE, is_measured=True
    )
    return ControlLoop(queries, ControlSettings(trigger_interval_seconds=TRIGGER_SECONDS, prior=prior), lambda: 0.0)


def _admitted_share(drops: WindowDrops, first: int, last: int) -> float:
    queries = list(drops.queries.values())
    needed = [needed_share([query.unneeded_of_side(side) for query in queries], first, last) for side in Side]
    return sum(needed) / len(needed) if queries else 1.0


def _seconds(rows: int, admitted_share: float) -> float:
    return FIXED_SECONDS + rows * SECONDS_PER_ROW * (READ_SHARE + (1 - READ_SHARE) * admitted_share)


def _load(now: float, overload: float) -> float:
    in_burst = min(max(now - BURST[0], 0.0), float(len(BURST)))
    return now + (overload - 1) * in_burst


@pytest.mark.parametrize("side", SIDES)
def test_as_many_windows_are_kept_as_there_is_time_for(side: str) -> None:
    """Of three times what fits into the interval, 1.4 of 3.6 seconds of work are planned."""
    course = run(SIDES[side], 3.0)
    windows = range(2 * (BURST[0] + SETTLED_SECONDS), 2 * BURST[-1])
    kept = sum(number not in course.dropped for number in windows) / len(windows)
    took, gathered = (sum(one) for one in zip(*course.seconds, strict=True))
    needed = sum(share * length for share, length in course.needed) / gathered
    assert took <= gathered
    assert needed > 0.8 * 1.4 / 3.6
    # Windows reach into what is spared: runs of them, the less the longer.
    assert 0.8 * needed < kept < needed
    runs = groupby(enumerate(sorted(course.dropped)), key=lambda pair: pair[1] - pair[0])
    assert max(len(list(found)) for _, found in runs) <= MAX_GAP
    assert not course.dropped & set(range(2 * (BURST[-1] + 10), 2 * END))
