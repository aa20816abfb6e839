"""Aggregates of the user's own: what they are handed, what they may return, and what is refused."""

from __future__ import annotations

import runpy
from datetime import UTC, date, datetime
from decimal import Decimal
from pathlib import Path
from typing import Any

import duckdb
import pytest
from pyspark.errors import PythonException
from pyspark.sql import SparkSession

from streamshed.errors import InvalidNetworkError
from streamshed.network.model.declared_stream import stream
from streamshed.network.model.network import network
from streamshed.network.model.query import AnswerMode
from streamshed.network.terms.aggregate import AggregateCall, user_aggregate
from tests.spark.run_example import EXAMPLES, printed_by


class Types:
    """What `incr` was given."""

    def init(self) -> list[str]:
        return []

    def incr(self, state: list[str], *values: object) -> list[str]:
        return [repr(value) for value in values]

    def final(self, state: list[str]) -> str:
        return " ".join(state)


class Returned:
    """Returns what it is made with."""

    def __init__(self, answer: object) -> None:
        self._answer = answer

    def init(self) -> None:
        return None

    def incr(self, state: None, value: object) -> None:
        return None

    def final(self, state: None) -> object:
        return self._answer


VALUES = {
    "7": 7,
    "2.5D": 2.5,
    "CAST(1.20 AS DECIMAL(5, 2))": Decimal("1.20"),
    "true": True,
    "'a'": "a",
    "X'01FF'": b"\x01\xff",
    "date'2024-02-29'": date(2024, 2, 29),
    "timestamp'2024-01-01 00:00:00.000001'": datetime(2024, 1, 1, 0, 0, 0, 1, UTC),
    "CAST(NULL AS INT)": None,
    "CAST('NaN' AS DOUBLE)": float("nan"),
    "'a\\\\Nb\\u001f'": "a\\Nb\x1f",
}
"""By what Spark is asked, what it is in Python."""

TYPED = [
    ("double", 0.1, 0.1, "0.1"),
    ("bigint", 2**53 + 1, float(2**53), str(2**53 + 1)),
    ("decimal(10,2)", Decimal("1.50"), 1.5, "1.50"),
    ("boolean", True, None, "true"),
    ("string", "x", None, "x"),
    ("timestamp", datetime(2024, 1, 1, tzinfo=UTC), None, "2024-01-01 00:00:00"),
    ("double", None, None, None),
]
"""A type that is declared, what is returned, and how it is answered."""


def _answered(spark: SparkSession, *aggregates: AggregateCall) -> list[Any]:
    """What one query answers of one row, aggregate by aggregate."""
    columns = ", ".join(f"{value} AS c{number}" for number, value in enumerate(VALUES))
    rows = spark.sql(f"SELECT timestamp'2024-01-01 00:00:01' AS ts, {columns}")
    named = {f"a{number:02}": aggregate for number, aggregate in enumerate(aggregates)}
    query = stream("s", rows, time="ts").window("1 minute").agg(**named).query("q", mode=AnswerMode.EXACT)
    return sorted(network(query).answers(spark, {"s": rows}).collect(), key=lambda row: str(row.aggregate))


def _returning(returns: str, answer: object) -> AggregateCall:
    return user_aggregate(_Made(answer), columns=["c0"], returns=returns)


def test_values_come_as_what_they_are_and_answers_have_the_type_that_was_declared(spark: SparkSession) -> None:
    types = user_aggregate(Types, columns=[f"c{number}" for number in range(len(VALUES))], returns="string")
    told, *typed = _answered(spark, types, *(_returning(returns, answer) for returns, answer, _, _ in TYPED))
    assert (told.value, told.value_text) == (None, " ".join(map(repr, VALUES.values())))
    shown = [(row.value, row.value_text, row.exact) for row in typed]
    assert shown == [(value, text, True) for _, _, value, text in TYPED]


@pytest.mark.parametrize(
    ("returns", "answer", "says"), [("bigint", 1.5, "returned what is no bigint"), ("double", "x", "what is no double")]
)
def test_answers_of_another_type_are_refused_by_name(
    spark: SparkSession, returns: str, answer: object, says: str
) -> None:
    with pytest.raises(PythonException, match=f"(?s)_Made.*{says}"):
        _answered(spark, _returning(returns, answer))


class _Made:
    """Makes aggregates that return one value."""

    def __init__(self, answer: object) -> None:
        self.answer = repr(answer)
        self.value = answer if isinstance(answer, int | float | str | type(None)) else None
        self.written = None if self.value is not None else str(answer)
        self.kind = type(answer).__name__

    def __call__(self) -> Returned:
        if self.kind == "Decimal":
            return Returned(Decimal(str(self.written)))
        if self.kind == "datetime":
            return Returned(datetime.fromisoformat(str(self.written)))
        return Returned(self.value)


def test_what_is_no_aggregate_is_refused_before_anything_runs(spark: SparkSession) -> None:
    rows = spark.sql("SELECT timestamp'2024-01-01 00:00:01' AS ts, 7 AS i, map(1, 2) AS m")
    known = stream("s", rows, time="ts")
    incomplete = user_aggregate("builtins:dict", columns=["i"], returns="double")
    query = known.window("1 minute").agg(told=incomplete).query("q", mode="exact")
    with pytest.raises(InvalidNetworkError, match=r'query "q", aggregate "told".*no method init'):
        network(query).answers(spark, {"s": rows})
    of_map = user_aggregate(Types, columns=["m"], returns="string")
    query = known.window("1 minute").agg(told=of_map).query("q", mode="exact")
    with pytest.raises(InvalidNetworkError, match='"m" is a map<int,int>, which incr cannot be given'):
        network(query).answers(spark, {"s": rows})


def test_the_example_of_the_paper_answers_as_sql_does(spark: SparkSession, tmp_path: Path) -> None:
    printed = printed_by("stocks.py", spark)
    runpy.run_path(str(EXAMPLES / "stocks.py"))["write_trades"](tmp_path)
    with duckdb.connect() as database:
        expected = database.execute(
            "SELECT strftime(hour, '%Y-%m-%d %H:%M:%S'), count(*) FROM"
            " (SELECT time_bucket(INTERVAL '5 minutes', ts AT TIME ZONE 'UTC') AS five,"
            " max(price) - min(price) AS spread, date_trunc('hour', ts AT TIME ZONE 'UTC') AS hour"
            f" FROM '{tmp_path}/*.parquet' WHERE symbol = 'IBM' GROUP BY ALL) WHERE spread > 5 GROUP BY ALL"
        ).fetchall()
    lines = [line.strip("|").split("|") for line in printed.splitlines() if line.startswith("|2024")]
    assert {start.strip(): float(value) for start, value, _ in lines} == dict(expected)


def test_a_null_is_no_distinct_value(spark: SparkSession) -> None:
    """Of rows, of windows of so many rows, and of answers of others."""
    values = [None, 1, None, 1, 2, None, None, None, 3, 4, None, 3]
    rows = spark.createDataFrame(
        [(datetime(2024, 1, 1, 0, 0, second, tzinfo=UTC), value) for second, value in enumerate(values)],
        "ts timestamp, v int",
    )
    numbers, distinct = stream("numbers", rows, time="ts"), {"d": "count(DISTINCT v)"}
    asked = network(
        numbers.window("4 seconds").agg(**distinct).query("timed", mode="exact"),
        numbers.window("4 rows").agg(**distinct).query("counted", mode="exact"),
        numbers.window("2 seconds").agg(v="max(v)").window("4 seconds").agg(**distinct).query("nested", mode="exact"),
    )
    answers = asked.answers(spark, {"numbers": rows}).where("kind = 'answer'").orderBy("window_end", "window_until")
    counts = {
        name: [row.value for row in answers.where(f"query = '{name}'").collect()]
        for name in ("timed", "counted", "nested")
    }
    with duckdb.connect() as database:
        windows = database.execute(
            "SELECT n // 4, count(DISTINCT v) FROM (SELECT unnest(range(12)) AS n, unnest(?) AS v)"
            " GROUP BY 1 ORDER BY 1",
            [values],
        ).fetchall()
    expected = [count for _, count in windows]
    assert counts == {"timed": expected, "counted": expected, "nested": expected}
