from dataclasses import replace

import pytest

from streamshed.control.decision import Decision, Upcoming
from streamshed.control.known_needs import KnownNeeds
from streamshed.control.loop import ControlLoop
from streamshed.control.needs import NetworkNeeds, StreamNeeds
from streamshed.control.own_needs import own_needs
from streamshed.control.settings import ControlSettings
from streamshed.network.model.declared_stream import stream
from streamshed.network.model.network import QueryNetwork, network
from streamshed.network.run.load_prior import LoadPrior
from streamshed.network.source.sources import rate
from streamshed.planning.window_drop.track.decisions import UpcomingWindows
from streamshed.planning.window_drop.track.open_windows import EventTimes
from tests.unit.control.examples import outcome, upcoming

SECOND = 1_000_000
SETTINGS = ControlSettings(
    trigger_interval_seconds=2.0,
    prior=LoadPrior(fixed_seconds=0.6, seconds_per_row=1e-3, read_share=0.2, is_measured=True),
)
TICKS = stream("ticks", rate(1), time="timestamp")


def counts() -> QueryNetwork:
    return network(TICKS.window("1 second").agg(n="count(*)").query("n"))


def looped(queries: QueryNetwork, rows: int, **more: object) -> tuple[ControlLoop, Decision]:
    loop = ControlLoop(queries, SETTINGS, lambda: 0.0)
    first = Upcoming(
        micro_batch_id=0,
        offered_rows={queries.streams[0].name: rows},
        sizes_known=True,
        backlog_rows=0,
        now_seconds=50.0,
    )
    return loop, loop.plan(replace(first, **more))  # type: ignore[arg-type]


def needs_of(queries: QueryNetwork, rows: int, **more: object) -> NetworkNeeds:
    loop, decision = looped(queries, rows, **more)
    return own_needs(
        loop.network,
        decision,
        SETTINGS,
        loop.state.load_model,
        latest_rows=decision.offered_rows if rows else {},
        lifetime_seconds=10.0,
    )


@pytest.mark.parametrize("rows", [10, 500, 5_000, 50_000])
def test_what_can_be_used_does_not_depend_on_what_comes(rows: int) -> None:
    # 0.8 of two seconds, less 0.6, at a millisecond a row: 1,000 rows in two seconds.
    assert needs_of(counts(), rows).streams["ticks"].rows_per_second == pytest.approx(500.0, rel=1e-6)


def test_before_any_row_has_come_it_is_not_known() -> None:
    assert needs_of(counts(), 0).streams["ticks"].rows_per_second is None


def test_while_none_come_it_is_what_it_was() -> None:
    loop, _ = looped(counts(), 800)
    loop.record(outcome(0, {"ticks": 800}, {}, 1.4))
    silent = loop.plan(upcoming(1, {"ticks": 0}))
    told = own_needs(
        loop.network,
        silent,
        SETTINGS,
        loop.state.load_model,
        latest_rows={"ticks": 800},
        lifetime_seconds=10.0,
    )
    assert told.streams["ticks"].rows_per_second == pytest.approx(500.0, rel=0.1)


def test_where_all_time_goes_without_rows_a_tenth_of_it_is_for_them() -> None:
    slow = replace(SETTINGS, trigger_interval_seconds=0.5)
    loop, decision = looped(counts(), 100)
    told = own_needs(
        loop.network,
        decision,
        slow,
        loop.state.load_model,
        latest_rows=decision.offered_rows,
        lifetime_seconds=10.0,
    )
    # A tenth of 0.4 s, at a millisecond a row: 40 rows in half a second.
    assert told.streams["ticks"].rows_per_second == pytest.approx(80.0, rel=1e-6)


def test_it_tells_when_and_for_how_long() -> None:
    told = needs_of(counts(), 10)
    assert (told.told_at_seconds, told.lifetime_seconds) == (50.0, 10.0)


def test_what_is_asked_of_it_is_passed_on() -> None:
    rows = network(TICKS.query("rows"))
    asked = KnownNeeds(rows_per_second={"rows": 20.0})
    for coming in (500, 40, 1):
        found = needs_of(rows, coming, needs=asked).streams["ticks"].rows_per_second
        assert found == pytest.approx(20.0, rel=1e-6)
    both = network(TICKS.query("rows"), *counts().queries)
    assert needs_of(both, 500, needs=asked).streams["ticks"].rows_per_second == pytest.approx(500.0, rel=1e-6)


def test_sides_of_joins_are_not_told_of() -> None:
    other = stream("tocks", rate(1), time="timestamp")
    pairs = TICKS.join(other, on="value", within="1 second", name="pairs", prefixes=("a_", "b_"))
    queries = network(pairs.window("1 second").agg(n="count(*)").query("n"))
    assert needs_of(queries, 0).streams == {}


def subset(*more: str) -> QueryNetwork:
    tolerant = TICKS.window("10 seconds").agg(n="count(*)").query("tolerant", mode="subset", max_gap=4)
    return network(tolerant, *(TICKS.filter("value > 3").query(one) for one in more))


def dropping(queries: QueryNetwork) -> StreamNeeds:
    """Needs of a network with far too much to do, of rows over a minute."""
    times = EventTimes(opened=0, carried_since=0, first=0, last=60 * SECOND)
    windows = UpcomingWindows(event_times={"ticks": times})
    return needs_of(queries, 20_000, windows=windows).streams["ticks"]


def test_times_of_dropped_windows_are_told() -> None:
    found = dropping(subset())
    assert found.unneeded
    assert all((end - start) % (10 * SECOND) == 0 and start % (10 * SECOND) == 0 for start, end in found.unneeded)
    assert 0 < found.kept_shares["tolerant"] < 1


def test_times_that_another_query_needs_are_not() -> None:
    assert dropping(subset("rows")).unneeded == ()
