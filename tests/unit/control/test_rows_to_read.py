"""What waits is read in pieces that there is time for."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace

from hypothesis import given
from hypothesis import strategies as st

from streamshed.control.decision import Upcoming
from streamshed.control.loop import ControlLoop
from streamshed.control.rows_to_read import FIRST_ROWS, LARGEST_STEP, StreamReading, rows_to_read
from streamshed.control.settings import ControlSettings
from streamshed.control.state import ControlState
from streamshed.network.model.declared_stream import stream
from streamshed.network.model.network import QueryNetwork, network
from streamshed.network.source.sources import rate
from streamshed.planning.window_drop.track.decisions import UpcomingWindows
from streamshed.planning.window_drop.track.open_windows import Backlog, EventTimes
from streamshed.statistics.micro_batch import MicroBatchOutcome

TICKS = stream("ticks", rate(5), time="timestamp")
COUNTS = TICKS.window("10 seconds").agg(n="count(*)")
EXACT, SHEDDABLE = network(COUNTS.query("n", mode="exact")), network(COUNTS.query("n"))
READ_SHARE = 0.25
"""The part of what a row costs that is spent on reading it, be it shed or not."""
SETTINGS = ControlSettings(trigger_interval_seconds=2.0, latency_seconds=5.0, headroom=0.8)
BUDGET = 1.6


@dataclass(frozen=True)
class Piece:
    rows: int
    seconds: float


def pieces(waiting: int, seconds_per_row: float, fixed_seconds: float, asked: QueryNetwork = EXACT) -> Iterator[Piece]:
    """The micro-batches in which a backlog is read by a machine of known speed; nothing new comes."""
    now = 100.0
    loop = ControlLoop(asked, SETTINGS, clock=lambda: now)
    most, limit = 0, FIRST_ROWS
    for number in range(60):
        rows = min(waiting, limit)
        waiting -= rows
        most = max(most, rows)
        decision = loop.plan(
            Upcoming(
                micro_batch_id=number,
                offered_rows={"ticks": rows},
                sizes_known=True,
                backlog_rows=waiting,
                now_seconds=now,
            )
        )
        share = decision.work_shares["ticks"]
        seconds = fixed_seconds + seconds_per_row * rows * (READ_SHARE + (1 - READ_SHARE) * share)
        yield Piece(rows, seconds)
        limit = rows_to_read(loop.state, {"ticks": StreamReading(most, 0.0)}, budget_seconds=BUDGET)["ticks"]
        loop.record(
            MicroBatchOutcome(
                micro_batch_id=number,
                started_at_seconds=now,
                processing_seconds=seconds,
                trigger_interval_seconds=2.0,
                offered_rows={"ticks": rows},
                admitted_rows={"ticks": round(rows * share)},
                sampling_rates={"ticks": share},
            )
        )
        now += max(2.0, seconds)
        if not waiting:
            return


@given(
    seconds_per_row=st.floats(1e-7, 4e-5),
    fixed_seconds=st.floats(0.1, 1.0),
    waiting=st.integers(FIRST_ROWS, 20_000_000),
)
def test_each_piece_fits_once_costs_are_known(seconds_per_row: float, fixed_seconds: float, waiting: int) -> None:
    course = list(pieces(waiting, seconds_per_row, fixed_seconds))
    assert course[0].rows == FIRST_ROWS
    for number, piece in enumerate(course[1:], 1):
        assert piece.rows <= LARGEST_STEP * max(one.rows for one in course[:number])
    # Costs that were never seen may be off by as much as a step; afterwards a piece takes about its time.
    assert max(piece.seconds for piece in course) < LARGEST_STEP * 2.0 + fixed_seconds
    assert all(piece.seconds < 2.0 * 1.5 for piece in course[8:])


def test_a_backlog_is_read_at_the_speed_that_there_is() -> None:
    course = list(pieces(10_000_000, 1e-6, 0.3))
    assert sum(piece.rows for piece in course) == 10_000_000
    assert len(course) < 15


def test_what_may_be_shed_is_read_sooner() -> None:
    """A backlog of thirty seconds' work: exact answers take about as long, the others three quarters less."""
    exact = list(pieces(7_500_000, 4e-6, 0.3))
    shed = list(pieces(7_500_000, 4e-6, 0.3, SHEDDABLE))
    assert sum(piece.rows for piece in shed) == 7_500_000
    assert all(piece.seconds < 2.0 * 1.5 for piece in shed[6:])
    assert len(shed) < len(exact) / 2


def test_more_arriving_rows_are_read_than_there_is_time_for() -> None:
    """They are shed: what waits gets less all the same."""
    state = ControlState.initial(["ticks"], SETTINGS)
    read = rows_to_read(state, {"ticks": StreamReading(10_000_000, 4_000_000.0)}, budget_seconds=BUDGET)
    assert read["ticks"] == 2 * 4_000_000 * BUDGET


def test_streams_are_told_apart() -> None:
    state = ControlState.initial(["a", "b"], replace(SETTINGS))
    read = rows_to_read(state, {"a": StreamReading(0, 0.0), "b": StreamReading(100_000, 1e9)}, budget_seconds=BUDGET)
    assert read == {"a": FIRST_ROWS, "b": 400_000}


def test_rows_that_are_skipped_take_no_time_beyond_reading_them() -> None:
    """An hour waits, of which the last minute is answered."""
    second, settings = 1_000_000, replace(SETTINGS, max_age_microseconds=60_000_000)

    def limit(newest: int) -> int:
        loop = ControlLoop(EXACT, settings, clock=lambda: 0.0)
        backlog = Backlog(read_until=0, coming_until=9 * second, newest=newest * second)
        times = EventTimes(opened=0, carried_since=0, first=0, last=9 * second, backlog=backlog)
        decision = loop.plan(
            Upcoming(
                micro_batch_id=0,
                offered_rows={"ticks": 100_000},
                sizes_known=True,
                backlog_rows=10**7,
                now_seconds=2.0,
                windows=UpcomingWindows(event_times={"ticks": times}),
            )
        )
        assert (decision.skipped_rows > 99_000) is (newest > 60)
        reading = StreamReading(10**7, 0.0)
        return rows_to_read(loop.state, {"ticks": reading}, budget_seconds=BUDGET)["ticks"]

    assert 3 < limit(3600) / limit(10) <= 8
