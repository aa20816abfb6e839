"""Predictions in the place of gaps, as rows of the answer schema that no one can take for answers."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pandas as pd
from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from streamshed.answering.answer_schema import ANSWER, ANSWER_DDL, ANSWER_SCHEMA, GAP, PREDICTION
from streamshed.answering.prediction import predict
from streamshed.errors import InvalidNetworkError, near_miss
from streamshed.network.network import QueryNetwork
from streamshed.network.numbering import MICROSECONDS_PER_NUMBER
from streamshed.network.window import WindowSpecification


def predictions(answers: DataFrame, network: QueryNetwork, query_name: str, *, method: str = "local") -> DataFrame:
    """Predict what the dropped windows of a query would have been answered.

    Each group is predicted between its first answer and its last one; windows of an ungrouped query before the first
    answer, and after the last one so far, too.

    Args:
        answers: Rows of the answer schema, such as those of a sink; a static DataFrame.
        network: The network that gave them.
        query_name: The query, one with aggregates.
        method: "linear" or "local"; see `streamshed.answering.prediction.predict`.

    Returns:
        Rows of the answer schema, `kind` "prediction": `value` with `standard_error`, how far off predictions were of
        windows that were answered, and the method in `reason`. Bounds and `value_text` are null, `exact` is false.

    Raises:
        InvalidNetworkError: There is no such query with aggregates, or no such method.
    """
    names = [query.name for query in network.queries if query.aggregate is not None]
    if query_name not in names:
        raise InvalidNetworkError(f'no query "{query_name}" with aggregates{near_miss(query_name, names)}')
    predict(np.array([0]), np.array([0.0]), np.array([1]), method=method)
    aggregate = network.query(query_name).aggregate
    if aggregate is None:
        raise TypeError("a set-valued query has no windows")
    window, is_grouped = aggregate.window, bool(aggregate.keys)
    start = F.col("window_from") * MICROSECONDS_PER_NUMBER if window.is_numbered else F.unix_micros("window_start")
    own = answers.where(F.col("query") == query_name).withColumn("start", start)
    gaps = own.where(F.col("kind") == GAP).agg(F.sort_array(F.collect_set("start")).alias("gaps"))
    known = own.where((F.col("kind") == ANSWER) & F.col("value").isNotNull())
    each = known.select("aggregate", "key", "start", "value").crossJoin(F.broadcast(gaps))

    def of_group(group: pd.DataFrame) -> pd.DataFrame:
        return _predicted(group, query_name, window, method, is_grouped=is_grouped)

    return each.groupBy("aggregate", "key").applyInPandas(of_group, ANSWER_DDL)


def _predicted(
    group: pd.DataFrame, query: str, window: WindowSpecification, method: str, *, is_grouped: bool
) -> pd.DataFrame:
    answered = group.sort_values("start").drop_duplicates("start")
    numbers = _numbers(answered["start"], window)
    missing = np.setdiff1d(_numbers(group["gaps"].iloc[0], window), numbers)
    if is_grouped:
        missing = missing[(missing > numbers[0]) & (missing < numbers[-1])]
    found = predict(numbers, answered["value"].to_numpy(np.float64), missing, method=method)
    starts = missing * window.slide_microseconds + window.offset_microseconds
    columns: dict[str, Any] = {
        "kind": PREDICTION,
        "query": query,
        "key": [group["key"].iloc[0]] * len(missing),
        "aggregate": group["aggregate"].iloc[0],
        "value": found.values,
        "standard_error": found.errors,
        "rows_used": 0,
        "exact": False,
        "low": False,
        "reason": f"predicted: {method}",
        **_window_columns(starts, window),
    }
    told = pd.DataFrame(columns, index=range(len(missing)))
    return told.reindex(columns=[name for name, _ in ANSWER_SCHEMA])


def _numbers(starts: Sequence[int] | pd.Series, window: WindowSpecification) -> np.ndarray[Any, np.dtype[np.int64]]:
    found = np.asarray(starts, np.int64)
    return np.asarray((found - window.offset_microseconds) // window.slide_microseconds, np.int64)


def _window_columns(starts: np.ndarray[Any, np.dtype[np.int64]], window: WindowSpecification) -> dict[str, Any]:
    ends = starts + window.size_microseconds
    if window.is_numbered:
        return {
            "window_from": starts // MICROSECONDS_PER_NUMBER,
            "window_until": ends // MICROSECONDS_PER_NUMBER,
        }
    return {
        "window_start": pd.to_datetime(starts, unit="us", utc=True),
        "window_end": pd.to_datetime(ends, unit="us", utc=True),
    }
