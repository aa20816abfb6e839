"""Spark's answers to expressions over `odd_rows`, written down by `scripts/spark_expressions.py`."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import pyarrow as pa

from streamshed.columnar.expressions.dialect import Dialect
from tests.oracles.evaluation import Evaluation, evaluation, written
from tests.oracles.odd_expressions import Grammar

ANSWERS = Path(__file__).parents[1] / "golden" / "expressions" / "answers.jsonl"
DIALECTS = (
    Dialect(ansi=True, time_zone="UTC"),
    Dialect(ansi=False, time_zone="UTC"),
    Dialect(ansi=True, time_zone="Europe/Berlin"),
    Dialect(ansi=False, time_zone="America/Sao_Paulo"),
)
LEFT_TO_SPARK = "?"
"""Stands for the answer of a row that is not sure."""
_SEED, _EXPRESSIONS = 0, 100


def drawn(rows: pa.Table) -> Iterator[tuple[Dialect, list[Evaluation]]]:
    """The expressions whose answers are written down, by dialect, evaluated without Spark."""
    grammar = Grammar(_SEED)
    for dialect in DIALECTS:
        results = (evaluation(grammar.expression(), rows, dialect) for _ in range(_EXPRESSIONS))
        yield dialect, [result for result in results if result is not None]


def line(dialect: Dialect, result: Evaluation, answer: pa.Array) -> str:
    """Write an answer down."""
    values = [value if sure else LEFT_TO_SPARK for value, sure in zip(written(answer), result.sure, strict=True)]
    fields = {"ansi": dialect.ansi, "zone": dialect.time_zone, "sql": result.sql, "type": str(answer.type)}
    return json.dumps({**fields, "answers": values})
