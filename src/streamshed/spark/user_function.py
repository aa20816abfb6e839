"""Vectorized user functions that see only the rows which reach their operator."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pandas as pd
from pyspark.sql import Column
from pyspark.sql import functions as F
from pyspark.sql.pandas.functions import pandas_udf

from streamshed.errors import StreamshedError
from streamshed.sharing.instructions import Call


class UserFunctionError(StreamshedError, ValueError):
    """A user's function returned what cannot be a column."""


def guarded_call(call: Call, reaches: Column) -> Column:
    """Return the column of a user's function.

    Spark evaluates a Python function for every row, whatever CASE stands around it; so the function is wrapped, and
    is handed only the rows for which `reaches` is true. Where no row of a chunk does, it is not called.
    """
    guarded: Any = reaching_rows_only(call.function.resolve(), call.function.name)
    make: Any = pandas_udf
    vectorized = make(guarded, returnType=call.returns)
    column: Column = vectorized(reaches, *[F.col(argument) for argument in call.arguments])
    return column


def reaching_rows_only(function: Callable[..., Any], name: str) -> Callable[..., pd.Series]:
    """Wrap a function of Series into one that takes, first, which rows it is to see.

    Args:
        function: Takes one Series per argument, returns a Series (or array) of the same length.
        name: For messages.

    Example:
        >>> doubled = reaching_rows_only(lambda size: size * 2, "double")
        >>> doubled(pd.Series([True, False, True]), pd.Series([1, 2, 3])).tolist()
        [2.0, nan, 6.0]
    """

    def on_reaching(reaches: pd.Series, *arguments: pd.Series) -> pd.Series:
        seen = reaches.fillna(False).astype(bool)
        if not seen.any():
            return pd.Series([None] * len(seen), index=seen.index, dtype=object)
        answered = pd.Series(function(*[argument[seen].reset_index(drop=True) for argument in arguments]))
        if len(answered) != int(seen.sum()):
            raise UserFunctionError(
                f"function {name} returned {len(answered)} values for {int(seen.sum())} rows: is it vectorized?"
            )
        if seen.all():
            return answered.set_axis(seen.index)
        return answered.set_axis(seen.index[seen]).reindex(seen.index)

    on_reaching.__annotations__ = dict.fromkeys(("reaches", "arguments", "return"), pd.Series)
    return on_reaching
