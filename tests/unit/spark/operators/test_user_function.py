"""What a user's function is handed and may return; without Spark, as Spark hands over Arrow arrays."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest

from streamshed.spark.operators.user_function import UserFunctionError, reaching_rows_only

LARGE = 2**62 + 1
SOME = pa.array([True, False, True])


def called(function: Callable[..., Any], returns: pa.DataType, *arguments: pa.Array, reaches: pa.Array = SOME) -> Any:
    return reaching_rows_only(function, "f", returns)(reaches, *arguments).to_pylist()


@pytest.mark.parametrize("missing", [None, 7], ids=["null", "there"])
def test_whole_numbers_keep_their_digits_whatever_the_others_of_the_chunk(missing: int | None) -> None:
    numbers = pa.array([LARGE, missing, 3])
    assert called(lambda n: n + 1, pa.int64(), numbers) == [LARGE + 1, None, 4]
    assert called(lambda n: n, pa.int64(), numbers, reaches=pa.array([True, True, True])) == [LARGE, missing, 3]


def test_only_rows_that_reach_it_are_handed_over() -> None:
    handed: list[list[int]] = []

    def seen(numbers: pd.Series, texts: pd.Series) -> pd.Series:
        handed.append(numbers.tolist())
        assert numbers.index.tolist() == texts.index.tolist() == [0, 1]
        return texts

    assert called(seen, pa.string(), pa.array([1, 2, 3]), pa.array(["a", "b", None])) == ["a", None, None]
    assert handed == [[1, 3]]


@pytest.mark.parametrize("reaches", [[False] * 3, [None] * 3, []])
def test_where_no_row_reaches_it_it_is_not_called(reaches: list[bool | None]) -> None:
    def never(_: pd.Series) -> pd.Series:
        raise AssertionError

    numbers = pa.array([1, 2, 3][: len(reaches)], pa.int64())
    assert called(never, pa.int32(), numbers, reaches=pa.array(reaches, pa.bool_())) == [None] * len(reaches)


@pytest.mark.parametrize(
    ("answer", "returns", "expected"),
    [
        (np.array([1.0, np.nan]), pa.int64(), [1, None, None]),
        ([1.5, 2.5], pa.float64(), [1.5, None, 2.5]),
        (pa.array([1, None]), pa.int64(), [1, None, None]),
        (pd.Series([1, None], dtype="Int64"), pa.int64(), [1, None, None]),
        (pd.Series([True, None]), pa.bool_(), [True, None, None]),
        (pd.Series([1, 2], index=[5, 9]), pa.int64(), [1, None, 2]),
        (pd.Series([[1], [2, 3]]), pa.list_(pa.int64()), [[1], None, [2, 3]]),
    ],
)
def test_it_may_return_whatever_can_be_a_column(answer: Any, returns: pa.DataType, expected: list[Any]) -> None:
    assert called(lambda _: answer, returns, pa.array([1, 2, 3])) == expected


@pytest.mark.parametrize(
    ("answer", "message"),
    [
        ([1], "function f returned 1 values for 2 rows: is it vectorized"),
        (3, "function f returned 1 values for 2 rows: is it vectorized"),
        (["x", "y"], "function f returned what is no int64: Could not convert 'x'"),
        ([1.5, 2.0], "function f returned what is no int64: Float value 1.5"),
    ],
)
def test_what_cannot_be_a_column_is_refused(answer: Any, message: str) -> None:
    with pytest.raises(UserFunctionError, match=message):
        called(lambda _: answer, pa.int64(), pa.array([1, 2, 3]))
