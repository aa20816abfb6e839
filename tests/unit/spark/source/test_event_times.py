"""How far windows are decided on before rows are read."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from streamshed.network.model.declared_stream import stream
from streamshed.network.source.sources import rate
from streamshed.network.terms.window import WindowSpecification
from streamshed.planning.rates.least_error import least_error_rates
from streamshed.planning.tree.demand import Demand
from streamshed.planning.tree.work_tree import WorkNode, WorkTree
from streamshed.planning.window_drop.choose.drop_plan import DropPlan, drop_plan
from streamshed.planning.window_drop.choose.tolerant_work import TolerantWork
from streamshed.planning.window_drop.track.decisions import UpcomingWindows
from streamshed.planning.window_drop.track.droppable import DroppableQuery
from streamshed.planning.window_drop.track.open_windows import EventTimes
from streamshed.spark.source.event_times import FURTHEST_STEPS, GUESSED_STEPS, event_times, joined_times
from streamshed.spark.source.upcoming_rows import EventBounds

YEAR_2038 = 2**61


def times(events: EventBounds | None, **known: int | None) -> EventTimes:
    told = {"opened": 0, "carried_since": 0, "latest": 1000, "latest_before": 900, "least_step": 0, **known}
    return event_times(events, **told)  # type: ignore[arg-type]


def test_footers_tell() -> None:
    assert (times(EventBounds(950, 1100)).first, times(EventBounds(950, 1100)).last) == (950, 1100)


def test_a_row_far_ahead_moves_nothing() -> None:
    assert times(EventBounds(1001, YEAR_2038)).last == 1001 + FURTHEST_STEPS * 100
    # Afterwards the latest event is there, but rows still come where they did.
    after = times(EventBounds(1101, 1200), latest=YEAR_2038)
    assert after.last == 1200


SECOND = 1_000_000
FIRST = 1_700_000_000 * SECOND


def planned(events: EventBounds) -> DropPlan:
    """The plan for 10 s of which a fifth fits, of windows of 2 s every second."""
    work = TolerantWork(
        WorkTree((WorkNode(name="rows", parent=None, seconds=1.0, query=0),)),
        [Demand(query="q", coefficient=1.0, is_protected=True)],
        {
            "q": DroppableQuery(
                query="q",
                definition_id=1,
                stream="rows",
                window=WindowSpecification(2 * SECOND, SECOND),
                gap_windows=9,
                epoch=4 * SECOND,
                weight=1.0,
            )
        },
    )
    known = times(events, opened=FIRST - SECOND, carried_since=0, latest=FIRST, latest_before=FIRST - 10 * SECOND)
    upcoming = UpcomingWindows(event_times={"rows": known}, steady_seconds=0.2)
    return drop_plan(work, 0.2, least_error_rates, upcoming)


def test_a_row_from_1970_does_not_make_of_what_is_needed_everything() -> None:
    ordinary = planned(EventBounds(FIRST, FIRST + 10 * SECOND - 1))
    with_odd_row = planned(EventBounds(0, FIRST + 10 * SECOND - 1))
    assert ordinary.needed[0] < 0.5
    assert with_odd_row.needed[0] == pytest.approx(ordinary.needed[0], abs=0.1)
    assert len(with_odd_row.drops.queries["1"].numbers()) >= len(ordinary.drops.queries["1"].numbers())


@given(st.integers(0, 2000), st.integers(0, 1000), st.integers(0, 1500))
def test_rows_that_are_late_do_not_count_unless_all_are(first: int, length: int, opened: int) -> None:
    found = times(EventBounds(first, first + length), opened=opened, latest=None)
    assert first <= found.first <= found.last <= first + length
    if opened <= found.last:
        assert found.first == max(first, opened)


def test_without_footers_time_is_taken_to_go_on_as_it_did() -> None:
    assert (times(None).first, times(None).last) == (1000, 1000 + GUESSED_STEPS * 100)
    assert times(None, least_step=500).last == 1000 + GUESSED_STEPS * 500


def test_before_anything_was_seen_only_footers_tell() -> None:
    assert times(None, latest=None, latest_before=None, carried_since=None).last == 0
    assert times(EventBounds(5, 90), latest=None, latest_before=None, carried_since=None).last == 90


def test_at_the_second_micro_batch_the_first_event_tells_how_far_time_went() -> None:
    assert times(EventBounds(1001, 2000), latest=1000, latest_before=None, carried_since=0).last == 2000


def test_windows_over_a_join_are_decided_on_as_far_ahead_as_rows_wait_and_are_open_as_long_as_answers_come() -> None:
    calls, alerts = (stream(name, rate(1), time="timestamp") for name in ("calls", "alerts"))
    busy = calls.window("20 s", every="10 s").by("value").agg(n="count(*)")
    joined = busy.join(alerts, on="value", within=("30 s", "5 s"))
    sides = {
        "calls": EventTimes(opened=900_000_000, carried_since=1, first=910_000_000, last=990_000_000),
        "alerts": EventTimes(opened=900_000_000, carried_since=2, first=905_000_000, last=980_000_000),
    }
    told = joined_times(joined.stream, sides, carried_since=7)
    assert (told.opened, told.carried_since) == (880_000_000, 7)
    assert (told.first, told.last, told.decided_until) == (905_000_000, 990_000_000, 1_020_000_000)
