"""Vectorized user functions that see only the rows which reach their operator.

Rests on Spark's internals: tests/spark/contracts/test_arrow_schemas.py.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, cast

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.compute as pc
from pyspark.accumulators import Accumulator
from pyspark.sql import Column
from pyspark.sql.pandas.functions import arrow_udf
from pyspark.sql.pandas.types import to_arrow_schema
from pyspark.sql.types import StructType

from streamshed.errors import StreamshedError
from streamshed.sharing.instructions import Call
from streamshed.spark.common.call_costs import CallCosts, timed


class UserFunctionError(StreamshedError, ValueError):
    """A user's function returned what cannot be a column."""


def guarded_call(
    call: Call, arguments: Sequence[Column], reaches: Column, costs: Accumulator[CallCosts] | None = None
) -> Column:
    """Return the column of a user's function.

    Spark evaluates a Python function for every row, whatever CASE stands around it; so the function is wrapped, and
    is handed only the rows for which `reaches` is true. Where no row of a chunk does, it is not called.

    Args:
        call: Which function.
        arguments: Of what.
        reaches: Which rows it is to see.
        costs: Told how long it takes; None: nobody is.
    """
    schema = to_arrow_schema(cast(StructType, StructType.fromDDL(f"answered {call.returns}")))
    function = call.function.resolve()
    if costs is not None:
        function = timed(function, call.column, costs)
    guarded = reaching_rows_only(function, call.function.name, schema.field(0).type)
    make: Any = arrow_udf
    vectorized = make(guarded, returnType=call.returns)
    column: Column = vectorized(reaches, *arguments)
    return column


def reaching_rows_only(function: Callable[..., Any], name: str, returns: pa.DataType) -> Callable[..., pa.Array]:
    """Wrap a function of Series into one of Arrow arrays that takes, first, which rows it is to see.

    Whole numbers stay whole: where some are null, they come as pandas' nullable integers, not as floats, and rows that
    do not reach the function take nothing away from those that do.

    Args:
        function: Takes one Series per argument, returns a Series (or array) of the same length.
        name: For messages.
        returns: The type of what it returns.

    Example:
        >>> successor = reaching_rows_only(lambda n: n + 1, "successor", pa.int64())
        >>> successor(pa.array([True, False, True]), pa.array([2**53, None, 3])).to_pylist()
        [9007199254740993, None, 4]
    """

    def on_reaching(reaches: pa.Array, *arguments: pa.Array) -> pa.Array:
        seen = pc.fill_null(reaches, False)
        count = pc.sum(seen).as_py() or 0
        if not count:
            return pa.nulls(len(seen), returns)
        answered = _column(function(*[_series(argument.filter(seen)) for argument in arguments]), name, returns)
        if len(answered) != count:
            raise UserFunctionError(
                f"function {name} returned {len(answered)} values for {count} rows: is it vectorized?"
            )
        if count == len(seen):
            return answered
        is_seen = seen.to_numpy(zero_copy_only=False)
        return answered.take(pa.array(np.cumsum(is_seen) - 1, mask=~is_seen))

    on_reaching.__annotations__ = dict.fromkeys(("reaches", "arguments", "return"), pa.Array)
    return on_reaching


_NULLABLE = {
    pa.int8(): pd.Int8Dtype(),
    pa.int16(): pd.Int16Dtype(),
    pa.int32(): pd.Int32Dtype(),
    pa.int64(): pd.Int64Dtype(),
}


def _series(values: pa.Array) -> pd.Series:
    series: pd.Series = values.to_pandas(types_mapper=_NULLABLE.get if values.null_count else None)
    return series


def _column(answered: object, name: str, returns: pa.DataType) -> pa.Array:
    if isinstance(answered, pa.Array | pa.ChunkedArray):
        answered = answered.to_pandas()
    try:
        return pa.Array.from_pandas(pd.Series(answered), type=returns)
    except (pa.ArrowException, TypeError, ValueError) as error:
        raise UserFunctionError(f"function {name} returned what is no {returns}: {error}") from error
