"""How far streams have come: those with rows, silent ones, and those whose rows cannot be read."""

from __future__ import annotations

from dataclasses import replace

import pytest

from streamshed.network.model.declared_stream import stream
from streamshed.network.model.rows import Rows
from streamshed.network.source.sources import folder
from streamshed.spark.loop.carrier_clock import CarrierClock
from streamshed.spark.plan.plan_row import PlanRow, StreamPlan
from streamshed.spark.source.progress import MicroBatchReport
from streamshed.spark.source.upcoming_rows import EventBounds, StreamRows

SECOND = 1_000_000
START = 1_700_000_000
STEP = 2
IDLE = 60


def a_stream(name: str) -> Rows:
    source = folder(f"/in/{name}", "json", schema="ts timestamp, v int")
    return stream(name, source, time="ts", watermark="1 second")


def told(clock: CarrierClock, number: int, readable: dict[str, int], unreadable: tuple[str, ...] = ()) -> None:
    """Run a micro-batch with rows of these streams, some of which cannot be read; carriers' times are reported, too."""
    now = START + STEP * number
    offered = dict.fromkeys((*readable, *unreadable), 10)
    clock.advance(now, offered)
    shown = {name: clock.interval(name)["carrier_time"] for name in offered}
    carried = {name: instant for name, instant in shown.items() if instant is not None}
    earliest = {name: min(carried.get(name, at(number)), readable.get(name, at(number))) for name in offered}
    clock.observe(
        replace(a_report(number, {**carried, **readable}, offered), earliest_event=earliest, readable=set(readable))
    )


def a_report(number: int, latest: dict[str, int], offered: dict[str, int] | None = None) -> MicroBatchReport:
    """The report of a micro-batch of which each stream's latest event is known."""
    rows = dict.fromkeys(latest, 10) if offered is None else offered
    return MicroBatchReport(
        micro_batch_id=number,
        started_at_seconds=START + STEP * number,
        processing_seconds=0.5,
        offered_rows=rows,
        admitted_rows=rows,
        earliest_event=latest,
        latest_event=latest,
        readable=set(latest),
        watermark=0,
        state_rows=0,
    )


def at(number: int) -> int:
    """The event time of rows that come in a micro-batch."""
    return (START + STEP * number - 5) * SECOND


def until(clock: CarrierClock, name: str) -> int | None:
    return clock.interval(name)["carrier_until"]


def test_a_stream_whose_rows_can_no_longer_be_read_is_taken_to_be_where_the_others_are() -> None:
    clock = CarrierClock([a_stream("a").stream, a_stream("b").stream])
    for number in range(100):
        broken = number >= 10
        told(clock, number, {"a": at(number)} | ({} if broken else {"b": at(number)}), ("b",) if broken else ())
        if number == 9 + IDLE // STEP - 2:
            assert until(clock, "b") == at(9)
    assert until(clock, "b") == until(clock, "a") == at(98)


def test_one_micro_batch_that_can_be_read_is_a_sign_of_life() -> None:
    clock = CarrierClock([a_stream("a").stream, a_stream("b").stream])
    for number in range(100):
        told(clock, number, {"a": at(number), **({"b": at(number) - SECOND} if number % 20 == 0 else {})}, ("b",))
    assert until(clock, "b") == at(80) - SECOND


def test_where_nobody_else_has_events_time_moves_on_with_the_wall_clock() -> None:
    clock = CarrierClock([a_stream("a").stream])
    told(clock, 0, {"a": at(0)})
    for number in range(1, 101):
        told(clock, number, {}, ("a",))
    assert until(clock, "a") == at(99), "that the first of them cannot be read is known when it is over"


def test_before_the_first_event_time_moves_on_from_the_epoch() -> None:
    clock = CarrierClock([a_stream("a").stream])
    for number in range(IDLE // STEP + 1):
        assert clock.interval("a")["carrier_time"] is None
        told(clock, number, {}, ("a",))
    assert clock.interval("a") == {"carrier_from": None, "carrier_until": None, "carrier_time": IDLE * SECOND}
    told(clock, 200, {"a": at(200)})
    clock.advance(START + 402)
    assert clock.interval("a") == {"carrier_from": at(200), "carrier_until": at(200), "carrier_time": at(200)}


def test_a_stream_without_any_row_has_no_time() -> None:
    clock = CarrierClock([a_stream("a").stream])
    for number in range(100):
        told(clock, number, {})
    assert set(clock.interval("a").values()) == {None}


def test_where_time_moves_on_with_the_clock_draining_has_an_end() -> None:
    clock = CarrierClock([a_stream("a").stream])
    told(clock, 0, {"a": at(0)})
    for number in range(1, 100):
        told(clock, number, {})
    shown = until(clock, "a")
    assert shown is not None
    clock.drain(10 * SECOND)
    target = clock.drained_at
    assert target is not None
    assert target > shown + 2 * 10 * SECOND
    told(clock, 100, {})
    assert clock.drained_at == target
    assert clock.interval("a")["carrier_time"] == target + SECOND, "the watermark lags by a second"


def test_numbers_do_not_move_on_by_themselves() -> None:
    source = folder("/in/n", "json", schema="n bigint, v int")
    clock = CarrierClock([stream("a", source, number="n").stream])
    told(clock, 0, {"a": 7_000})
    for number in range(1, 101):
        told(clock, number, {}, ("a",))
    assert clock.interval("a") == {"carrier_from": 7_000, "carrier_until": 7_000, "carrier_time": 7_000}
    assert clock.latest(START) is None


def test_before_the_first_number_there_is_none() -> None:
    clock = CarrierClock([stream("a", folder("/in/n", "json", schema="n bigint, v int"), number="n").stream])
    for number in range(100):
        told(clock, number, {}, ("a",))
    assert clock.interval("a") == {"carrier_from": None, "carrier_until": None, "carrier_time": None}


def test_rows_of_the_micro_batch_before_draining_count() -> None:
    """It was planned before, and showed no time of its own."""
    clock = CarrierClock([a_stream("a").stream])
    told(clock, 0, {"a": at(0)})
    clock.advance(START + STEP, {"a": 10})
    clock.observe(a_report(1, {"a": at(1)}))
    clock.advance(START + 2 * STEP)
    clock.drain(10 * SECOND)
    assert until(clock, "a") == at(1)
    drained_at = clock.drained_at
    assert drained_at is not None
    clock.observe(a_report(2, {"a": drained_at + SECOND}), was_draining=True)
    clock.advance(START + 3 * STEP)
    assert until(clock, "a") == at(1), "this is the carrier's time"
    assert clock.drained_at == drained_at


@pytest.mark.parametrize(
    ("are_told_before", "are_told_now", "goes_on"),
    [(True, True, False), (False, True, True), (True, False, True), (False, False, True)],
)
def test_carriers_pass_the_last_dropped_window_where_nothing_tells_of_its_rows(
    *, are_told_before: bool, are_told_now: bool, goes_on: bool
) -> None:
    """They were shed, and may be later than all that was seen; footers tell of them all the same."""
    clock = CarrierClock([a_stream("a").stream])
    clock.advance(START)
    clock.observe(a_report(0, {"a": at(0)}), {"a": EventBounds(at(0), at(0))} if are_told_before else {})
    clock.advance(START + STEP)
    dropped = at(0) + 30 * SECOND
    clock.drain(10 * SECOND, dropped, {"a": StreamRows(0, is_counted=are_told_now)})
    assert until(clock, "a") == (dropped if goes_on else at(0))
    drained_at = clock.drained_at
    assert drained_at is not None
    assert drained_at > (dropped if goes_on else at(0)) + 2 * 10 * SECOND
    clock.advance(START + 2 * STEP)
    assert clock.drained_at == drained_at


def test_a_dropped_window_that_is_behind_takes_no_carrier_back() -> None:
    clock = CarrierClock([a_stream("a").stream])
    told(clock, 0, {"a": at(0)})
    clock.advance(START + STEP)
    clock.drain(10 * SECOND, at(0) - SECOND)
    assert until(clock, "a") == at(0)


def test_what_a_carrier_showed_while_draining_is_no_event_after_a_restart() -> None:
    clock = CarrierClock([a_stream("a").stream], a_plan({"a": 40 * SECOND}, drained_at=900 * SECOND), 900 * SECOND)
    clock.observe(a_report(4, {"a": 901 * SECOND}), was_draining=True)
    clock.advance(START)
    assert clock.latest_event == {"a": 40 * SECOND}


def test_rows_that_come_after_a_restart_behind_draining_are_drained_in_their_turn() -> None:
    """An earlier run was drained, and had another micro-batch begun, which runs again."""
    before = a_plan({"a": at(0)}, drained_at=at(0) + 21 * SECOND)
    clock = CarrierClock([a_stream("a").stream], before, at(0) + 21 * SECOND)
    clock.observe(a_report(4, {"a": at(0) + 22 * SECOND}), was_draining=True)
    clock.advance(START + STEP)
    come = at(0) + 60 * SECOND
    clock.observe(a_report(5, {"a": come}))
    clock.advance(START + 2 * STEP)
    clock.drain(10 * SECOND)
    assert clock.drained_at is not None
    assert clock.drained_at > come + 2 * 10 * SECOND


def a_plan(latest: dict[str, int], drained_at: int | None = None) -> PlanRow:
    streams = {name: StreamPlan(carrier_from=0, carrier_until=instant) for name, instant in latest.items()}
    return PlanRow(micro_batch_id=4, open=0, streams=streams, latest_event=latest, drained_at=drained_at)


def test_after_a_restart_carriers_go_as_far_as_the_watermark_says_rows_have_come() -> None:
    """The last plan was made before its micro-batch ran, and does not know how far its rows went."""
    clock = CarrierClock(
        [a_stream("a").stream, a_stream("b").stream], a_plan({"a": 40 * SECOND, "b": 70 * SECOND}), 59 * SECOND
    )
    clock.advance(START)
    assert clock.interval("a") == {
        "carrier_from": 40 * SECOND,
        "carrier_until": 60 * SECOND,
        "carrier_time": 60 * SECOND,
    }
    assert until(clock, "b") == 70 * SECOND


def test_after_a_kill_behind_the_first_micro_batch_the_watermark_says_how_far_its_rows_went() -> None:
    """Its plan knows no event: else draining would end before any window does, and answer none."""
    first = PlanRow(micro_batch_id=0, open=0, streams={"a": StreamPlan(), "b": StreamPlan(carrier_time=7)})
    clock = CarrierClock([a_stream("a").stream, a_stream("b").stream], first, 59 * SECOND)
    clock.advance(START)
    assert clock.latest_event == {"a": 60 * SECOND}, "that of b may be its carrier's"
    assert clock.interval("a")["carrier_from"] == 60 * SECOND
    clock.drain(10 * SECOND)
    assert clock.drained_at is not None
    assert clock.drained_at > 60 * SECOND


def test_after_a_kill_behind_the_first_micro_batch_footers_say_when_its_rows_began() -> None:
    """So windows without rows in between are answered, and a stream ahead of the others is waited for."""
    first = PlanRow(micro_batch_id=0, open=0, streams={"a": StreamPlan(), "b": StreamPlan()})
    clock = CarrierClock([a_stream("a").stream, a_stream("b").stream], first, 59 * SECOND)
    ahead = StreamRows(10, events=EventBounds(500 * SECOND, 900 * SECOND), is_counted=True)
    clock.resume({"a": StreamRows(10, events=EventBounds(20 * SECOND, 60 * SECOND), is_counted=True), "b": ahead})
    clock.advance(START)
    assert [clock.interval("a")[name] for name in ("carrier_from", "carrier_until")] == [20 * SECOND, 60 * SECOND]
    assert [clock.interval("b")[name] for name in ("carrier_from", "carrier_until")] == [500 * SECOND, 900 * SECOND]
    clock.drain(10 * SECOND)
    assert clock.drained_at is not None
    assert clock.drained_at > 900 * SECOND


def test_a_watermark_that_was_drained_says_nothing_of_rows() -> None:
    clock = CarrierClock([a_stream("a").stream], a_plan({"a": 40 * SECOND}, drained_at=900 * SECOND), 900 * SECOND)
    clock.advance(START)
    assert until(clock, "a") == 40 * SECOND


class TestSilence:
    """Rows of which nobody knows before they are read, as those of a broker."""

    def test_a_downtime_is_none(self) -> None:
        clock = CarrierClock([a_stream("a").stream, a_stream("b").stream], a_plan({"a": at(0), "b": at(0) - SECOND}))
        clock.advance(7.0)
        assert until(clock, "b") == at(0) - SECOND

    def test_what_was_silent_before_a_downtime_is_so_after_it(self) -> None:
        before = replace(a_plan({"a": at(0), "b": at(-90)}), silent_seconds={"b": IDLE - STEP})
        clock = CarrierClock([a_stream("a").stream, a_stream("b").stream], before)
        assert clock.silent_seconds == {"a": 0.0, "b": IDLE - STEP}
        for number in range(3):
            clock.advance(7.0 + STEP * number)
            assert until(clock, "b") == (at(-90) if number < 2 else at(1)), "seen when the second was over"
            clock.observe(a_report(number, {"a": at(number)}))

    def test_it_goes_on_from_the_micro_batch_that_is_run_again_after_a_restart(self) -> None:
        clock = CarrierClock([a_stream("a").stream, a_stream("b").stream], a_plan({"a": at(0), "b": at(0)}))
        clock.begin(7.0)
        clock.observe(a_report(0, {"a": at(0)}))
        clock.advance(7.0 + IDLE, {"a": 10, "b": 0})
        assert clock.silent_seconds == {"a": 0.0, "b": IDLE}

    def test_a_long_micro_batch_is_none(self) -> None:
        clock = CarrierClock([a_stream("a").stream, a_stream("b").stream])
        clock.advance(0.0)
        clock.observe(a_report(0, {"a": at(0), "b": at(0)}))
        clock.advance(1.0)
        clock.observe(replace(a_report(1, {"a": at(1)}), processing_seconds=600.0))
        clock.advance(601.0)
        assert until(clock, "b") == at(0), "rows that came meanwhile have not been looked for"
        clock.observe(a_report(2, {"a": at(2)}))
        clock.advance(602.0)
        assert until(clock, "b") == at(2)


@pytest.mark.parametrize(
    ("ahead_seconds", "latest_seconds"), [(-5, 60), (30, 90), (60, 120), (61, None), (3 * 86_400, None)]
)
def test_event_times_ahead_of_the_wall_clock_tell_that_it_is_behind(
    ahead_seconds: int, latest_seconds: int | None
) -> None:
    """What was shed then may be as late as it likes; else no later than a minute from the latest that is possible."""
    clock = CarrierClock([a_stream("a").stream])
    clock.advance(7.0)
    clock.observe(a_report(0, {"a": (START + ahead_seconds) * SECOND}))
    assert clock.latest(START) == (None if latest_seconds is None else (START + latest_seconds) * SECOND)
