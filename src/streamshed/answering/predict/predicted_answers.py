"""Predictions in the place of a query's gaps, from rows of the answer schema in Arrow; no Spark."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from streamshed.answering.predict.predicted_groups import AnsweredGroup, Gaps, gaps_of, predicted_groups
from streamshed.answering.predict.predicted_query import PredictedQuery
from streamshed.answering.table.answer_schema import ANSWER, GAP
from streamshed.answering.table.window_partials import Longs
from streamshed.network.words.numbering import MICROSECONDS_PER_NUMBER

COLUMNS_READ = (
    "kind",
    "query",
    "window_start",
    "window_end",
    "window_from",
    "window_until",
    "key",
    "aggregate",
    "value",
    "value_text",
)
"""What of the rows of a sink predictions are made from."""

_SORTED_BY = ("window_start", "window_from", "aggregate")


def predicted_answers(rows: pa.Table, query: PredictedQuery, *, method: str) -> pa.Table:
    """Predict what the dropped windows of a query would have been answered.

    Args:
        rows: Rows of the answer schema, of any kind and query, with `COLUMNS_READ` at least. Only answers and gaps are
            made use of, and only those of the query's own windows: predictions never rest on predictions.
        query: The query.
        method: One of `PREDICTION_METHODS`.

    Returns:
        Rows of the answer schema, of kind "prediction", by window.

    Raises:
        InvalidNetworkError: There is no such method.
    """
    query_rows = own_windows(rows, query)
    gaps = gaps_in(query_rows, query)
    groups_to_predict = ((group, group.missing(query, gaps)) for group in answered_groups(query_rows, query))
    return by_window(predicted_groups(query, groups_to_predict, method=method))


def by_window(predictions: pa.Table) -> pa.Table:
    """Sort predictions by window."""
    return predictions.sort_by([(name, "ascending") for name in _SORTED_BY])


def own_windows(rows: pa.Table, query: PredictedQuery) -> pa.Table:
    """Return the answers and gaps of a query; those of other windows that once had its name are left out.

    The column `start` is added: when the window starts, in microseconds.
    """
    of_query = pc.and_(pc.equal(rows["query"], query.name), pc.is_in(rows["kind"], pa.array([ANSWER, GAP])))
    query_rows = rows.filter(of_query)
    start, end = _edges(query_rows, query)
    window = query.window
    places = np.asarray(pc.fill_null(start, 0).to_numpy(), np.int64) - window.offset_microseconds
    fits = pc.and_kleene(
        pc.equal(pc.subtract(end, start), window.size_microseconds),
        pa.array(places % window.slide_microseconds == 0),
    )
    has_keys = pc.or_kleene(
        pc.equal(query_rows["kind"], GAP), pc.equal(pc.list_value_length(query_rows["key"]), query.keys)
    )
    return query_rows.append_column("start", start).filter(pc.and_kleene(fits, has_keys))


def gaps_in(query_rows: pa.Table, query: PredictedQuery) -> Gaps:
    """Return the gaps among rows that `own_windows` returned."""
    gaps = query_rows.filter(pc.equal(query_rows["kind"], GAP))
    return gaps_of(query, _longs(gaps["start"]), gaps["value_text"].to_pylist())


def answered_groups(query_rows: pa.Table, query: PredictedQuery) -> Iterator[AnsweredGroup]:
    """Return the groups with numeric answers among rows that `own_windows` returned."""
    numeric_answers = query_rows.filter(pc.and_(pc.equal(query_rows["kind"], ANSWER), pc.is_valid(query_rows["value"])))
    names = [f"key_{place}" for place in range(query.keys)]
    columns = {name: pc.list_element(numeric_answers["key"], place) for place, name in enumerate(names)}
    flat = pa.table({name: numeric_answers[name] for name in ("aggregate", "start", "value")} | columns)
    groups = flat.group_by(["aggregate", *names]).aggregate([("start", "list"), ("value", "list")])
    for group in groups.to_batches():
        starts, values = group.column("start_list"), group.column("value_list")
        for place in range(len(group)):
            yield AnsweredGroup.of(
                query,
                group.column("aggregate")[place].as_py(),
                (group.column(name)[place].as_py() for name in names),
                np.asarray(starts[place].values.to_numpy(), np.int64),
                np.asarray(values[place].values.to_numpy(), np.float64),
            )


def _edges(rows: pa.Table, query: PredictedQuery) -> tuple[pa.ChunkedArray, pa.ChunkedArray]:
    if query.window.is_numbered:
        start, end = (pc.multiply(rows[name], MICROSECONDS_PER_NUMBER) for name in ("window_from", "window_until"))
        return start, end
    start, end = (
        rows[name].cast(pa.timestamp("us", tz="UTC")).cast(pa.int64()) for name in ("window_start", "window_end")
    )
    return start, end


def _longs(column: pa.ChunkedArray) -> Longs:
    longs: Longs = np.asarray(column.to_numpy(), np.int64)
    return longs
