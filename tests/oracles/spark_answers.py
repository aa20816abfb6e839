"""What Spark answers to expressions over `odd_rows`, beside what is evaluated without it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
from pyspark.errors import AnalysisException, PySparkException
from pyspark.sql import DataFrame, SparkSession

from streamshed.columnar.expressions.dialect import Dialect
from tests.oracles.evaluation import Evaluation

ROW = "row_number"
AT_ONCE = 50
"""How many expressions Spark evaluates together."""
_TYPES: Mapping[pa.DataType, str] = {
    pa.int8(): "tinyint",
    pa.int16(): "smallint",
    pa.int32(): "int",
    pa.int64(): "bigint",
    pa.float32(): "float",
    pa.float64(): "double",
    pa.bool_(): "boolean",
    pa.string(): "string",
    pa.binary(): "binary",
    pa.decimal128(10, 2): "decimal(10,2)",
    pa.decimal128(18, 9): "decimal(18,9)",
    pa.date32(): "date",
    pa.timestamp("us", "UTC"): "timestamp",
    pa.timestamp("us"): "timestamp_ntz",
}


@dataclass(frozen=True)
class Failure:
    """Spark failed to evaluate an expression on rows of which the evaluation without it is sure.

    Attributes:
        message: What it said.
    """

    message: str


Answers = Mapping[str, pa.Array | Failure]
"""By expression. What Spark does not take for an expression at all is not in it."""


def spark_answers(session: SparkSession, rows: pa.Table, results: Sequence[Evaluation], dialect: Dialect) -> Answers:
    """What Spark answers to expressions in a session of some dialect, on the rows that are sure."""
    session.conf.set("spark.sql.ansi.enabled", str(dialect.ansi).lower())
    session.conf.set("spark.sql.session.timeZone", dialect.time_zone)
    frame = _frame(session, rows)
    answers: dict[str, pa.Array | Failure] = {}
    for start in range(0, len(results), AT_ONCE):
        answers |= _answered(frame, results[start : start + AT_ONCE])
    return answers


def _frame(session: SparkSession, rows: pa.Table) -> DataFrame:
    numbered = rows.append_column(ROW, pa.array(range(rows.num_rows), pa.int32()))
    schema = ", ".join(f"{field.name} {_TYPES[field.type]}" for field in rows.schema)
    return session.createDataFrame(numbered, schema=f"{schema}, {ROW} int")


def _answered(frame: DataFrame, results: Sequence[Evaluation]) -> dict[str, pa.Array | Failure]:
    """Evaluate expressions together, those that fail apart."""
    try:
        columns = [f"{_guarded(result)} AS c{number}" for number, result in enumerate(results)]
        table = frame.selectExpr(ROW, *columns).toArrow().sort_by(ROW)
    except PySparkException as error:
        if len(results) > 1:
            middle = len(results) // 2
            return _answered(frame, results[:middle]) | _answered(frame, results[middle:])
        return {} if isinstance(error, AnalysisException) else {results[0].sql: Failure(str(error))}
    arrays = (table.column(f"c{number}").combine_chunks() for number in range(len(results)))
    return {result.sql: _in_utc(array) for result, array in zip(results, arrays, strict=True)}


def _guarded(result: Evaluation) -> str:
    """SQL that has Spark evaluate an expression on the sure rows only."""
    if result.sure.all():
        return result.sql
    return f"if(substring('{_digits(result.sure)}', {ROW} + 1, 1) = '1', {result.sql}, NULL)"


def _digits(sure: npt.NDArray[np.bool_]) -> str:
    return "".join("1" if is_sure else "0" for is_sure in sure)


def _in_utc(array: pa.Array) -> pa.Array:
    """Spark's timestamps carry the session's time zone: give them that of streams."""
    has_zone = pa.types.is_timestamp(array.type) and array.type.tz is not None
    return array.cast(pa.timestamp("us", "UTC")) if has_zone else array


def disagreements(results: Sequence[Evaluation], answers: Mapping[str, Any]) -> list[str]:
    """Say where Spark answers otherwise, one line for each expression."""
    lines = []
    for result in results:
        answer = answers.get(result.sql)
        if isinstance(answer, Failure):
            lines.append(f"{result.sql}: Spark fails on a row that was sure: {answer.message[:200]}")
        elif answer is not None and (difference := result.difference(answer)) is not None:
            lines.append(f"{result.sql}: {difference}")
    return lines
