"""Extremes of floating-point numbers are those that DuckDB tells, as Spark does: NaN is larger than any number."""

import math

import duckdb
import numpy as np
import pyarrow as pa
import pytest

from streamshed.joins.sums.summed_class import ValueForm
from streamshed.joins.sums.value_sums import Counted, RowValues, sums_of_values

NAN, INF = math.nan, math.inf


@pytest.mark.parametrize("is_wild", [False, True])
def test_extremes_of_groups_with_nan_infinities_and_nulls(*, is_wild: bool) -> None:
    values: list[list[float | None]] = [[1.5, -2.0, 1.5], [None, None], [7.0, None]]
    if is_wild:
        values += [[NAN, NAN], [NAN, None], [NAN, INF], [NAN, -INF, 3.0], [INF], [-INF, -INF]]
    rows = pa.table(
        {
            "number": pa.array([number for group in values for number in group], pa.float64()),
            "group": pa.array([place for place, group in enumerate(values) for _ in group], pa.int64()),
        }
    )
    counted = Counted(np.asarray(rows["group"]), len(values))
    column = rows["number"].combine_chunks()
    sums = sums_of_values(RowValues.of(column, ValueForm.FLOATING), counted, extremes=True)
    extremes = zip(sums["least_number"].to_pylist(), sums["greatest_number"].to_pylist(), strict=True)
    with duckdb.connect() as connection:
        connection.register("rows", rows)
        expected = connection.sql(
            'SELECT min(number), max(number) FROM rows GROUP BY "group" ORDER BY "group"'
        ).fetchall()
    assert repr([*extremes]) == repr(expected)
