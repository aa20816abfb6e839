"""Expressions over `odd_rows` evaluated without Spark, and how their values are compared and written down."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from streamshed.columnar.expressions.compiled import ColumnExpression, compiled
from streamshed.columnar.expressions.dialect import Dialect
from streamshed.columnar.untranslatable import Unsure, Untranslatable


@dataclass(frozen=True)
class Evaluation:
    """An expression evaluated without Spark.

    Attributes:
        sql: The expression.
        values: Its values; of rows that are not sure they mean nothing.
        sure: Which rows are.
    """

    sql: str
    values: pa.Array
    sure: npt.NDArray[np.bool_]

    def difference(self, answer: pa.Array) -> str | None:
        """Say how Spark's answer differs, in its type or in any bit of a sure row."""
        if answer.type != self.values.type:
            return f"of type {self.values.type}, Spark says {answer.type}"
        pairs = zip(written(self.values), written(answer), self.sure, strict=True)
        for row, (ours, theirs, is_sure) in enumerate(pairs):
            if is_sure and ours != theirs:
                return f"in row {row} {ours}, Spark says {theirs}"
        return None


def evaluation(sql: str, rows: pa.Table, dialect: Dialect) -> Evaluation | None:
    """Evaluate an expression on the rows that are sure; None: it is left to Spark."""
    try:
        expression = compiled(sql, {field.name: field.type for field in rows.schema}, dialect)
    except Untranslatable:
        return None
    sure = np.ones(rows.num_rows, np.bool_)
    try:
        values = _checked(expression, rows)
    except Unsure as unsure:
        sure = ~unsure.rows
        places = np.where(sure, np.cumsum(sure) - 1, 0)
        values = _checked(expression, rows.filter(pa.array(sure))).take(pa.array(places, mask=~sure))
    return Evaluation(sql, values, sure)


def _checked(expression: ColumnExpression, rows: pa.Table) -> pa.Array:
    columns: Mapping[str, pa.Array] = {name: rows.column(name).combine_chunks() for name in rows.column_names}
    values = expression.evaluate(columns, rows.num_rows)
    values.validate(full=True)
    assert (values.type, len(values)) == (expression.type, rows.num_rows)
    return values


def written(array: pa.Array) -> list[str | None]:
    """SureValues as texts that are equal where the values are, to the bit; all NaN are."""
    if pa.types.is_temporal(array.type):
        array = array.cast(pa.int32() if pa.types.is_date32(array.type) else pa.int64())
    return [None if value is None else str(value) for value in array.to_pylist()]
