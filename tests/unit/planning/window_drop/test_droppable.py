"""Whose windows may be dropped, and together with whose."""

from __future__ import annotations

import pytest

from streamshed.network.model.network import network
from streamshed.network.model.query import Query
from streamshed.planning.window_drop.track.droppable import DroppableQuery, droppable_queries
from tests.unit.planning.networks import rows_of

SECOND = 1_000_000


def counted(name: str, size: str, every: str | None = None, *, gap: int | str = 10, stream: str = "packets") -> Query:
    counts = rows_of(stream).window(size, every=every).agg(n="count(*)")
    return counts.query(name, mode="subset", max_gap=gap)


def droppable(*queries: Query) -> dict[str, DroppableQuery]:
    return {one.query: one for one in droppable_queries(network(*queries))}


def test_only_queries_that_tolerate_gaps_are() -> None:
    windows = rows_of("packets").window("1 minute").agg(n="count(*)")
    rows = rows_of("packets").query("rows", mode="subset")
    never = rows_of("packets").window("2 minutes").agg(n="count(*)").query("never", mode="subset", max_gap=0)
    found = droppable(windows.query("exact", mode="exact"), rows, never, counted("tolerant", "5 minutes"))
    assert set(found) == {"tolerant"}


@pytest.mark.parametrize(("other", "batches"), [({"mode": "exact"}, []), ({"mode": "subset", "max_gap": 3}, [3, 3])])
def test_queries_that_ask_the_same_miss_the_same(other: dict[str, str | int], batches: list[int]) -> None:
    windows = rows_of("packets").window("1 minute").agg(n="count(*)")
    twin = Query("twin", windows.node, **other)  # type: ignore[arg-type]
    found = droppable(windows.query("one", mode="subset", max_gap=9), twin)
    assert [one.gap_windows for one in found.values()] == batches


def test_over_a_join_all_have_to_tolerate_gaps() -> None:
    pairs = rows_of("packets").join(rows_of("others"), on="value", within=("9 seconds", "0 s"), name="pairs")
    minutes = pairs.window("1 minute").agg(n="count(*)")
    some = minutes.query("some", mode="subset", max_gap=7)
    nested = minutes.window("5 minutes").agg(most="max(n)").query("nested", mode="subset", max_gap=3)
    assert set(droppable(some, nested, counted("q", "1 second"))) == {"some", "nested", "q"}
    for mode in ("approximate", "exact"):
        beside = pairs.window("7 seconds").agg(n="count(*)").query("beside", mode=mode)
        assert set(droppable(some, beside, counted("q", "1 second"))) == {"q"}


def test_windows_over_a_join_need_the_rows_of_both_sides() -> None:
    """Left rows wait for 9 s, and answers on the right, of windows of 20 s, for 5."""
    busy = rows_of("others").window("20 seconds", every="10 seconds").by("value").agg(n="count(*)")
    pairs = rows_of("packets").join(busy, on="value", within=("9 seconds", "5 seconds"), name="pairs")
    one = droppable(pairs.window("10 seconds").agg(n="count(*)").query("q", mode="subset", max_gap=30))["q"]
    assert (one.stream, one.gap_windows, len(one.sides)) == ("pairs", 30, 2)
    # Of the answers stamped from 5 s before a window on, until its end, the only one begins with it and reaches 20 s.
    assert one.reach.size_microseconds == 20 * SECOND
    assert one.early_share > 0.5


def test_a_tumbling_window_is_decided_on_by_itself() -> None:
    assert droppable(counted("q", "10 seconds", gap=50))["q"].epoch == 10 * SECOND


@pytest.mark.parametrize("gap", [1, 3, 10, 50])
def test_an_epoch_is_no_longer_than_the_gap_allowed(gap: int) -> None:
    one = droppable(counted("q", "10 seconds", "2 seconds", gap=gap))["q"]
    assert one.epoch <= gap * 2 * SECOND
    assert one.early_share >= 0.8 * max(0.0, 1 - 8 / (2 * gap)) - 1e-9


def test_queries_over_one_stream_share_an_epoch_that_serves_all() -> None:
    found = droppable(
        counted("short", "1 second", gap=20),
        counted("sliding", "5 seconds", "1 second", gap=40),
        counted("elsewhere", "1 second", gap=20, stream="others"),
    )
    assert found["short"].epoch == found["sliding"].epoch > 4 * SECOND
    assert found["elsewhere"].epoch == SECOND


def test_an_epoch_that_is_shared_serves_each_at_least_half_as_well_as_its_own() -> None:
    strict, sliding = (
        counted("strict", "4 seconds", "2 seconds", gap=2),
        counted("sliding", "1 minute", "1 second", gap=600),
    )
    alone = {name: one for query in (strict, sliding) for name, one in droppable(query).items()}
    for name, one in droppable(strict, sliding).items():
        assert one.early_share >= 0.5 * alone[name].early_share > 0
