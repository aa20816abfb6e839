"""Predictions in the place of gaps, as rows of the answer schema that no one can take for answers."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from streamshed.answering.answer_schema import ANSWER, ANSWER_DDL, GAP, PREDICTION, arrow_schema
from streamshed.answering.dropped_windows import window_numbers
from streamshed.answering.missing_windows import missing_windows
from streamshed.answering.prediction import check_method, predict
from streamshed.answering.window_partials import Longs
from streamshed.errors import InvalidNetworkError, near_miss
from streamshed.network.network import QueryNetwork
from streamshed.network.numbering import MICROSECONDS_PER_NUMBER
from streamshed.network.window import WindowSpecification


def predictions(answers: DataFrame, network: QueryNetwork, query_name: str, *, method: str = "local") -> DataFrame:
    """Predict what the dropped windows of a query would have been answered.

    Each group is predicted between its first answer and its last one; windows of an ungrouped query before the first
    answer, and after the last one so far, too. Where gaps are by group, a window is predicted for a group where it was
    surely dropped for that group; see `missing_windows`.

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
    check_method(method)
    aggregate = network.query(query_name).aggregate
    if aggregate is None:
        raise TypeError("a set-valued query has no windows")
    window, is_grouped = aggregate.over, bool(aggregate.keys)
    start = F.col("window_from") * MICROSECONDS_PER_NUMBER if window.is_numbered else F.unix_micros("window_start")
    own = answers.where(F.col("query") == query_name).withColumn("start", start)
    gaps = own.where(F.col("kind") == GAP).agg(F.collect_set(F.struct("start", "value_text")).alias("gaps"))
    known = own.where((F.col("kind") == ANSWER) & F.col("value").isNotNull())
    each = known.select("aggregate", "key", "start", "value").crossJoin(F.broadcast(gaps))

    def of_group(group: pa.Table) -> pa.Table:
        return _predicted(group, query_name, window, method, is_grouped=is_grouped)

    return each.groupBy("aggregate", "key").applyInArrow(of_group, ANSWER_DDL)


def _predicted(group: pa.Table, query: str, window: WindowSpecification, method: str, *, is_grouped: bool) -> pa.Table:
    starts, first = np.unique(_longs(group.column("start")), return_index=True)
    values = np.asarray(group.column("value").to_numpy(), np.float64)[first]
    numbers = window_numbers(window, starts)
    gaps = group.column("gaps")[0].as_py()
    places = window_numbers(window, np.array([gap["start"] for gap in gaps], np.int64)).tolist()
    missing = missing_windows(numbers, {place: gap["value_text"] for place, gap in zip(places, gaps, strict=True)})
    if is_grouped:
        missing = missing[(missing > numbers[0]) & (missing < numbers[-1])]
    found = predict(numbers, values, missing, method=method)
    count = len(missing)
    columns = {
        "kind": pa.array([PREDICTION] * count, pa.string()),
        "query": pa.array([query] * count, pa.string()),
        "key": pa.array([group.column("key")[0].as_py()] * count, pa.list_(pa.string())),
        "aggregate": pa.array([group.column("aggregate")[0].as_py()] * count, pa.string()),
        "value": pa.array(found.values, from_pandas=True),
        "standard_error": pa.array(found.errors, from_pandas=True),
        "rows_used": pa.array(np.zeros(count, np.int64)),
        "exact": pa.array(np.zeros(count, np.bool_)),
        "low": pa.array(np.zeros(count, np.bool_)),
        "reason": pa.array([f"predicted: {method}"] * count, pa.string()),
        **_window_columns(missing * window.slide_microseconds + window.offset_microseconds, window),
    }
    schema = arrow_schema()
    arrays = [
        columns[field.name].cast(field.type) if field.name in columns else pa.nulls(count, field.type)
        for field in schema
    ]
    return pa.Table.from_arrays(arrays, schema=schema)


def _longs(column: pa.ChunkedArray) -> Longs:
    found: Longs = np.asarray(column.to_numpy(), np.int64)
    return found


def _window_columns(starts: Longs, window: WindowSpecification) -> dict[str, pa.Array]:
    ends = starts + window.size_microseconds
    if window.is_numbered:
        return {
            "window_from": pa.array(starts // MICROSECONDS_PER_NUMBER),
            "window_until": pa.array(ends // MICROSECONDS_PER_NUMBER),
        }
    return {"window_start": pa.array(starts), "window_end": pa.array(ends)}
