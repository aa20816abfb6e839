"""What a table of window partials tells of the values of queries."""

import math
from typing import Any

import pyarrow as pa
import pytest

from streamshed.answering.estimate.value_ranges import RangeSums
from streamshed.answering.table.answer_schema import ANSWER
from streamshed.answering.table.window_partials import WindowPartials
from streamshed.spark.windows.window_sums import window_sums
from streamshed.statistics.measured import GroupCounts

_SUMS = ("rows", "present", "total", "squares", "sizes")
_TYPES = {
    "kind": pa.string(),
    **dict.fromkeys(("definition_id", "slot", "window_start"), pa.int64()),
    **dict.fromkeys([f"{name}_weighted" for name in _SUMS], pa.float64()),
    **dict.fromkeys(("greatest_weight", "least_number", "greatest_number"), pa.float64()),
}


def partials(*rows: dict[str, Any]) -> WindowPartials:
    """Each of four rows with the values 1 and 3, of which no value is known, unless it says otherwise."""
    usual = {"kind": ANSWER, "definition_id": 7, "slot": 0, "window_start": 0, "greatest_weight": 1.0}
    usual |= {"least_number": None, "greatest_number": None}
    usual |= {f"{name}_weighted": value for name, value in zip(_SUMS, (4.0, 2.0, 4.0, 10.0, 4.0), strict=True)}
    columns = [pa.array([(usual | row)[name] for row in rows], kind) for name, kind in _TYPES.items()]
    return WindowPartials(pa.RecordBatch.from_arrays(columns, names=list(_TYPES)))


@pytest.mark.parametrize("number", [math.inf, -math.inf, math.nan])
@pytest.mark.parametrize("name", ["total", "squares", "sizes"])
def test_windows_without_finite_sums_tell_of_rows_alone(name: str, number: float) -> None:
    found = window_sums(partials({}, {"window_start": 1, f"{name}_weighted": number}))[7, 0]
    assert (found.windows, found.rows) == (frozenset({0, 1}), 8.0)
    assert (found.present, found.total, found.squares, found.sizes) == (2.0, 4.0, 10.0, 4.0)
    assert found.groups == GroupCounts({2: 2}, frozenset({0, 1}))


def test_groups_of_windows_with_a_sampled_row_are_told_apart() -> None:
    sampled = {"window_start": 1, "rows_weighted": 7.5, "greatest_weight": 2.5}
    found = window_sums(partials({}, {"rows_weighted": 1.0}, {"window_start": 1}, sampled))[7, 0]
    assert found.groups == GroupCounts({2: 1, 0: 1}, frozenset({0}))
    assert found.sampled_groups == GroupCounts({2: 1, 3: 1}, frozenset({1}))


def test_windows_without_values_count_as_such() -> None:
    none: dict[str, Any] = dict.fromkeys(("total_weighted", "squares_weighted", "sizes_weighted"))
    none |= {"window_start": 1, "present_weighted": 0.0}
    found = window_sums(partials({}, none))[7, 0]
    assert (found.rows, found.present, found.total, found.squares, found.sizes) == (8.0, 2.0, 4.0, 10.0, 4.0)


def test_extremes_tell_how_far_apart_values_are() -> None:
    """Of what was not sampled there are none where nobody asks for them."""
    sampled = [{"least_number": -1.0, "greatest_number": 3.0}, {"least_number": 2.0, "greatest_number": 2.0}]
    found = window_sums(partials({}, *sampled, {"slot": 1, "least_number": math.inf, "greatest_number": math.inf}))
    ranges = RangeSums(ranges=16.0, ranged=1.0, sizes=13.0, negative=1.0, positive=2.0, sized=2.0)
    assert (found[7, 0].ranges, found[7, 1].ranges) == (ranges, RangeSums())


def test_values_are_told_apart() -> None:
    found = window_sums(partials({}, {"slot": 1, "total_weighted": 6.0}, {"kind": "gap", "total_weighted": 99.0}))
    assert {share: sums.total for share, sums in found.items()} == {(7, 0): 4.0, (7, 1): 6.0}
