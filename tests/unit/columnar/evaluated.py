"""Expressions evaluated on a few rows."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pyarrow as pa

from streamshed.columnar.expressions.compiled import compiled
from streamshed.columnar.expressions.dialect import Dialect
from streamshed.columnar.untranslatable import Unsure

ANSI, LAX = Dialect(ansi=True, time_zone="UTC"), Dialect(ansi=False, time_zone="UTC")
UNSURE = "unsure"
"""Stands for the value of a row that is left to Spark."""


def evaluated(sql: str, columns: Mapping[str, pa.Array], dialect: Dialect = ANSI) -> list[Any]:
    """The values of an expression, `UNSURE` where they are."""
    rows = len(next(iter(columns.values())))
    expression = compiled(sql, {name: array.type for name, array in columns.items()}, dialect)
    try:
        values: list[Any] = expression.evaluate(columns, rows).to_pylist()
        return values
    except Unsure as unsure:
        sure = pa.array(~unsure.rows)
        few = {name: array.filter(sure) for name, array in columns.items()}
        rest = iter(expression.evaluate(few, sum(sure.to_pylist())).to_pylist())
        return [next(rest) if is_sure else UNSURE for is_sure in sure.to_pylist()]


def values(sql: str, dialect: Dialect = ANSI, **columns: pa.Array) -> list[Any]:
    """The same, columns by keyword."""
    return evaluated(sql, columns, dialect)
