"""Which rows are too old, and which windows need them."""

from __future__ import annotations

from collections.abc import Mapping

import pytest

from streamshed.network.model.declared_stream import stream
from streamshed.network.model.network import QueryNetwork, network
from streamshed.network.model.query import Query
from streamshed.network.source.sources import rate
from streamshed.network.terms.window import WindowSpecification
from streamshed.planning.window_drop.track.decisions import UpcomingWindows
from streamshed.planning.window_drop.track.open_windows import Backlog, EventTimes
from streamshed.planning.window_drop.track.stale import (
    MOST_INTERVALS,
    fresh_share,
    of_streams,
    skipped_times,
    stale_numbers,
    stale_runs,
    stale_times,
    without_stale,
)
from streamshed.planning.window_drop.track.window_drops import WindowDrops

SECOND = 1_000_000
AGE = 60 * SECOND
TICKS = stream("ticks", rate(1), time="timestamp")
COUNTS = TICKS.window("10 s").agg(n="count(*)").query("counts")
ROWS = TICKS.filter("value > 3").query("rows")
LAST_FIVE = TICKS.window("5 rows").by("value").agg(n="sum(value)").query("last_five")


def seconds(first: int, last: int, *, read: int | None, newest: int, opened: int = 0) -> EventTimes:
    """Rows that come and wait, in seconds."""
    read_until = None if read is None else read * SECOND
    backlog = Backlog(read_until=read_until, coming_until=last * SECOND, newest=newest * SECOND)
    return EventTimes(
        opened=opened * SECOND, carried_since=0, first=first * SECOND, last=last * SECOND, backlog=backlog
    )


def stale(
    asked: QueryNetwork,
    times: Mapping[str, EventTimes],
    before: Mapping[int, tuple[tuple[int, int], ...]] | None = None,
) -> dict[str, list[tuple[float, float]]]:
    """By query, from when until when its rows are too old, in seconds."""
    upcoming = UpcomingWindows(event_times=times, drops=WindowDrops(queries={}, stale=before or {}))
    told = stale_times(asked, AGE, upcoming)
    return {
        query.name: [(start / SECOND, end / SECOND) for start, end in told[query.asked_definition_id]]
        for query in asked.queries
        if query.asked_definition_id in told
    }


def test_rows_that_come_in_time_are_never_too_old() -> None:
    assert skipped_times(seconds(100, 110, read=99, newest=110), AGE) is None
    # One of them is late by an hour, and the others are not.
    assert skipped_times(seconds(0, 3600, read=3599, newest=3600), AGE) is None


def test_after_a_silence_nothing_is_skipped() -> None:
    assert skipped_times(seconds(990, 1000, read=10, newest=1000), AGE) is None


def test_rows_are_skipped_that_wait_behind_newer_ones() -> None:
    assert skipped_times(seconds(11, 30, read=10, newest=1000), AGE) == (11 * SECOND, 940 * SECOND)
    assert skipped_times(seconds(11, 30, read=None, newest=1000), AGE) == (11 * SECOND, 940 * SECOND)
    assert skipped_times(EventTimes(opened=0, carried_since=0, first=0, last=9), AGE) is None


def test_windows_of_so_many_rows_miss_none() -> None:
    times = {"ticks": seconds(11, 30, read=10, newest=1000)}
    asked = network(COUNTS, ROWS, LAST_FIVE)
    assert stale(asked, times) == {"counts": [(11.0, 940.0)], "rows": [(11.0, 940.0)]}
    told = stale_times(asked, AGE, UpcomingWindows(event_times=times))
    assert of_streams(asked, told) == {}
    assert of_streams(network(COUNTS, ROWS), told) == {"ticks": ((11 * SECOND, 940 * SECOND),)}


def test_numbers_have_no_age() -> None:
    blocks = stream("blocks", rate(1), number="value")
    counts = blocks.window(10).agg(n="count(*)").query("counts")
    assert stale(network(counts), {"blocks": seconds(11, 30, read=10, newest=1000)}) == {}


def test_what_was_skipped_is_remembered_while_its_windows_are_open() -> None:
    before = {COUNTS.definition_id: ((11 * SECOND, 940 * SECOND),), 7: ((0, 1),)}
    nothing = seconds(1000, 1010, read=999, newest=1010, opened=930)
    assert stale(network(COUNTS), {"ticks": nothing}, before) == {"counts": [(11.0, 940.0)]}
    closed = seconds(1000, 1010, read=999, newest=1010, opened=940)
    assert stale(network(COUNTS), {"ticks": closed}, before) == {}
    # The window from 930 on needs rows before 939.
    before = {COUNTS.definition_id: ((11 * SECOND, 939 * SECOND),)}
    assert stale(network(COUNTS), {"ticks": seconds(1000, 1010, read=999, newest=1010, opened=939)}, before) != {}


def test_what_is_skipped_besides_touches_or_stands_apart() -> None:
    before = {COUNTS.definition_id: ((11 * SECOND, 940 * SECOND),)}
    onward = seconds(500, 600, read=499, newest=1020, opened=10)
    assert stale(network(COUNTS), {"ticks": onward}, before) == {"counts": [(11.0, 960.0)]}
    later = seconds(1000, 1001, read=999, newest=1100, opened=10)
    assert stale(network(COUNTS), {"ticks": later}, before) == {"counts": [(11.0, 940.0), (1000.0, 1040.0)]}


def test_no_more_intervals_are_told_apart_than_that() -> None:
    apart = tuple((number * 10 * SECOND, (number * 10 + 1 + number % 3) * SECOND) for number in range(50))
    times = {"ticks": seconds(5000, 5001, read=4999, newest=5001)}
    told = stale(network(COUNTS), times, {COUNTS.definition_id: apart})["counts"]
    assert len(told) == MOST_INTERVALS
    assert all(any(low <= start / SECOND and end / SECOND <= high for low, high in told) for start, end in apart)


def test_results_of_a_join_lack_rows_for_as_long_as_these_would_have_waited() -> None:
    calls, alerts = (stream(name, rate(10), time="timestamp") for name in ("calls", "alerts"))
    busy = calls.window("1 minute").by("value").agg(n="count(*)")
    pairs = busy.join(alerts, on="value", within=("90 s", "30 s"))
    plain = calls.join(alerts, on="value", within="9 s")
    of_calls = {"calls": seconds(100, 200, read=99, newest=1000)}
    none = {"alerts": seconds(990, 1000, read=989, newest=1000)}
    for joined, interval in ((plain, (100.0, 949.0)), (pairs, (40.0, 1030.0))):
        query = joined.window("10 s").agg(n="count(*)").query("joined")
        assert stale(network(query), of_calls | none) == {"joined": [interval]}
        assert stale(network(query), none) == {}


NESTED = (WindowSpecification(4, 4), WindowSpecification(30, 10))


@pytest.mark.parametrize(
    ("interval", "expected"),
    [((28, 52), (0, 4)), ((28, 53), (0, 5)), ((32, 33), (1, 3)), ((33, 34), (1, 3)), ((31, 32), (0, 2))],
)
def test_a_window_over_answers_needs_the_rows_of_those_that_are_stamped_in_it(
    interval: tuple[int, int], expected: tuple[int, int]
) -> None:
    # The window from S to S + 30 holds the answers stamped at multiples of 4 in it, of 4 each.
    needing = [
        number
        for number in range(-9, 20)
        if any(
            number * 10 <= stamp < number * 10 + 30 and stamp < interval[1] and interval[0] < stamp + 4
            for stamp in range(-400, 800, 4)
        )
    ]
    assert stale_numbers(NESTED, interval) == expected == (needing[0], needing[-1])


def test_runs_of_windows_do_not_overlap() -> None:
    assert stale_runs(NESTED, [(28, 29), (44, 45), (400, 401)]) == ((0, 4), (38, 40))


def test_what_is_left_begins_where_the_old_rows_end() -> None:
    times = seconds(11, 30, read=10, newest=1000)
    assert without_stale(times, [(11 * SECOND, 940 * SECOND)]).first == 940 * SECOND
    assert without_stale(times, [(11 * SECOND, 940 * SECOND)]).last == 940 * SECOND
    assert without_stale(times, [(12 * SECOND, 940 * SECOND)]) == times
    assert fresh_share(times, [(11 * SECOND, 940 * SECOND)]) == 0.0


def test_it_is_written_down_and_read_again() -> None:
    query: Query = COUNTS
    drops = WindowDrops(queries={}, stale={query.definition_id: ((11 * SECOND, 940 * SECOND),)})
    document = drops.to_document()
    document["stale"] = {str(key): [list(one) for one in value] for key, value in document["stale"].items()}
    assert WindowDrops.from_document(document) == drops
    assert drops.missing == {query.definition_id}
    assert drops.last_start == 940 * SECOND - 1
