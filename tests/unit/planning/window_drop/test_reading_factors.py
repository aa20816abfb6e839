"""How much is read for windows that are kept."""

from __future__ import annotations

import pytest

from streamshed.network.terms.window import WindowSpecification
from streamshed.planning.window_drop.track.droppable import DroppableQuery
from streamshed.planning.window_drop.track.open_windows import EventTimes
from streamshed.planning.window_drop.track.reading_factors import reading_factors_of_windows


def _query(name: str, size: int, *, gap_windows: int = 10, is_by_group: bool = False) -> DroppableQuery:
    return DroppableQuery(
        query=name,
        definition_id=1,
        stream="rides",
        window=WindowSpecification(size, size),
        gap_windows=gap_windows,
        epoch=size,
        weight=1.0,
        is_by_group=is_by_group,
    )


def _times(span: int) -> dict[str, EventTimes]:
    return {"rides": EventTimes(opened=0, carried_since=0, first=1000, last=999 + span)}


@pytest.mark.parametrize(("span", "factor"), [(0, 1.0), (20, 4 / 3), (60, 2.0), (240, 5.0)])
def test_what_micro_batches_read_beside_a_window_comes_on_top(span: int, factor: float) -> None:
    assert reading_factors_of_windows([_query("q", 60)], _times(span), lasts=True) == {"rides": pytest.approx(factor)}


def test_where_nearly_everything_is_read_in_any_case_it_counts_only_if_that_lasts_no_time() -> None:
    for query, span in ((_query("q", 60), 300), (_query("q", 60, is_by_group=True), 1)):
        assert reading_factors_of_windows([query], _times(span), lasts=True) == {}
    assert reading_factors_of_windows([_query("q", 60)], _times(300), lasts=False) == {"rides": 6.0}
    assert reading_factors_of_windows([_query("q", 60)], _times(9000), lasts=False) == {"rides": 11.0}
    assert reading_factors_of_windows([_query("q", 60, is_by_group=True)], _times(1), lasts=False) == {"rides": 11.0}


def test_the_query_for_which_most_is_read_counts() -> None:
    queries = [_query("long", 600), _query("short", 60), _query("rare", 120, gap_windows=100)]
    assert reading_factors_of_windows(queries, _times(60), lasts=True) == {"rides": 2.0}
    hardly_any_gaps = [*queries, _query("often", 300, gap_windows=1)]
    assert reading_factors_of_windows(hardly_any_gaps, _times(60), lasts=True) == {}


def test_streams_without_rows_are_left_out() -> None:
    assert reading_factors_of_windows([_query("q", 60)], {}, lasts=False) == {}
