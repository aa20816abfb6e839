"""The values of an expression, of the rows that are asked for: of rows that are alike, computed once."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
import pyarrow as pa

from streamshed.columnar.expressions.compiled import ColumnExpression
from streamshed.columnar.texts.dictionaries import Entries, plain
from streamshed.columnar.untranslatable import Unsure
from streamshed.joins.model.arrays import Booleans


def values_of(
    expression: ColumnExpression, columns: Mapping[str, pa.Array], rows: int, reaches: Booleans | None
) -> pa.Array:
    """Return the values of an expression, right for rows that reach it; of others they may be anything.

    Args:
        expression: What is computed.
        columns: The columns that it needs, and others; texts may be numbers of entries.
        rows: How many rows.
        reaches: Which rows reach it; None: all.

    Raises:
        Unsure: Spark has to tell the value of a row that reaches it.

    Example:
        >>> from streamshed.columnar.expressions.compiled import compiled
        >>> from streamshed.columnar.expressions.dialect import Dialect
        >>> upper = compiled("upper(host)", {"host": pa.string()}, Dialect(ansi=True, time_zone="UTC"))
        >>> hosts = pa.array(["a", "b", "a", "a", None]).dictionary_encode()
        >>> values_of(upper, {"host": hosts}, 5, None).to_pylist()
        ['A', 'B', 'A', 'A', None]
    """
    values, entries = _of_entries(expression, columns, rows, reaches)
    return values if entries is None else values.take(pa.array(entries.places))


def encoded_values_of(
    expression: ColumnExpression, columns: Mapping[str, pa.Array], rows: int, reaches: Booleans | None
) -> pa.Array:
    """Return the same, as numbers of entries where rows that are alike were computed once; see `values_of`."""
    values, entries = _of_entries(expression, columns, rows, reaches)
    if entries is None:
        return values
    encoded = values.dictionary_encode()
    return pa.DictionaryArray.from_arrays(encoded.indices.take(pa.array(entries.places)), encoded.dictionary)


def _of_entries(
    expression: ColumnExpression, columns: Mapping[str, pa.Array], rows: int, reaches: Booleans | None
) -> tuple[pa.Array, Entries | None]:
    """The values of entries, and these; None: those of rows."""
    needed = {name: columns[name] for name in expression.columns}
    entries = Entries.of(next(iter(needed.values()))) if len(needed) == 1 else None
    if entries is None:
        return _evaluated(expression, {name: plain(column) for name, column in needed.items()}, rows, reaches), None
    of_entries = dict.fromkeys(needed, entries.values)
    try:
        return _evaluated(expression, of_entries, len(entries.values), entries.used(reaches)), entries
    except Unsure as unsure:
        of_rows = unsure.rows[entries.places]
        raise Unsure(of_rows if reaches is None else of_rows & reaches) from unsure


def _evaluated(
    expression: ColumnExpression, columns: Mapping[str, pa.Array], rows: int, reaches: Booleans | None
) -> pa.Array:
    try:
        return expression.evaluate(columns, rows)
    except Unsure as unsure:
        if reaches is None or (unsure.rows & reaches).any():
            raise Unsure(unsure.rows if reaches is None else unsure.rows & reaches) from unsure
        left = unsure.rows
    places = np.flatnonzero(~left)
    some = {name: column.take(pa.array(places)) for name, column in columns.items()}
    values = expression.evaluate(some, len(places))
    spread = np.zeros(rows, np.int64)
    spread[places] = np.arange(len(places))
    return values.take(pa.array(spread, mask=left))
