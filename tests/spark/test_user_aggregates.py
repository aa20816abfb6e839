"""Aggregates of the user's own: rows in order, alone and nested, against DuckDB."""

from __future__ import annotations

import importlib.util
import subprocess
import sys
from datetime import UTC, date, datetime, timedelta
from decimal import Decimal
from itertools import pairwise
from pathlib import Path
from typing import Any

import duckdb
import numpy as np
import pyarrow as pa
import pytest
from pyspark.errors import PythonException
from pyspark.sql import SparkSession

from streamshed.errors import InvalidNetworkError
from streamshed.network.aggregate import user_aggregate
from streamshed.network.network import QueryNetwork, network
from streamshed.network.query import AnswerMode
from streamshed.network.sources import folder
from streamshed.network.stream import Stream, stream
from tests.spark.streaming.files import EPOCH_MICROSECONDS, write_parquet
from tests.spark.streaming.forced import force_sampling
from tests.spark.streaming.harness import QUICK, Collected, finish

FILES, ROWS, SECONDS = 6, 600, 60
EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


class Turns:
    """How often the price turned, which depends on the order of rows; null prices are passed over."""

    def init(self) -> list[float]:
        return []

    def incr(self, state: list[float], price: float | None) -> list[float]:
        return state if price is None else [*state, price]

    def final(self, state: list[float]) -> int:
        moves = [second - first for first, second in pairwise(state) if second != first]
        return sum((first > 0) != (second > 0) for first, second in pairwise(moves))


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


def _rows() -> pa.Table:
    chance = np.random.default_rng(5)
    instants = EPOCH_MICROSECONDS + np.sort(chance.choice(SECONDS * 1_000_000, ROWS, replace=False))
    return pa.table(
        {
            "ts": pa.array(instants, pa.timestamp("us", "UTC")),
            "price": pa.array(chance.integers(0, 50, ROWS).astype(float), mask=chance.random(ROWS) < 0.1),
            "symbol": pa.array(chance.choice(["IBM", "SUN"], ROWS)),
        }
    )


def _trades(path: Path) -> Stream:
    source = folder(path, "parquet", schema="ts timestamp, price double, symbol string", max_files_per_micro_batch=1)
    return stream("trades", source, time="ts", watermark="5 seconds")


def _queries(trades: Stream) -> QueryNetwork:
    turns = user_aggregate(Turns, columns=["price"], returns="bigint")
    by_symbol = trades.window("6 seconds", every="3 seconds").by("symbol").agg(turns=turns, n="count(*)")
    most = (
        by_symbol.filter("n > 3")
        .window("12 seconds")
        .agg(most="max(turns)", again=user_aggregate(Turns, columns=["turns"], returns="double"))
    )
    return network(
        by_symbol.query("turns", mode="subset", max_gap=2),
        most.query("most", mode="exact"),
        trades.window("10 seconds").agg(n="count(*)").query("plain"),
    )


def _turns(prices: list[float | None]) -> int:
    return Turns().final([price for price in prices if price is not None])


def _expected(rows: pa.Table) -> dict[tuple[int, str], int]:
    """Lists in order from DuckDB; the turns counted in it by hand."""
    with duckdb.connect() as database:
        database.register("rows", rows)
        found = database.execute(
            "SELECT k * 3000000, symbol, list(price ORDER BY ts) FROM"
            " (SELECT *, unnest(generate_series((epoch_us(ts) - 6000000) // 3000000 + 1, epoch_us(ts) // 3000000)) k"
            " FROM rows) GROUP BY ALL"
        ).fetchall()
    return {(start, symbol): _turns(prices) for start, symbol, prices in found}


def test_rows_are_handed_over_in_order_from_files_out_of_order(spark: SparkSession, tmp_path: Path) -> None:
    rows = _rows()
    arrival = np.asarray(rows["ts"].cast(pa.int64())) + np.random.default_rng(1).integers(0, 5_000_000, ROWS)
    arriving = rows.take(pa.array(np.argsort(arrival)))
    for number in range(FILES):
        write_parquet(tmp_path / "in" / f"{number}.parquet", arriving.slice(number * ROWS // FILES, ROWS // FILES))
    collected = Collected()
    with pytest.MonkeyPatch.context() as patch:
        force_sampling(patch, lambda _: {}, kept_shares=lambda number: {"turns": 0.4} if number else {})
        whole = _queries(_trades(tmp_path / "in"))
        run = whole.start(spark, checkpoint=str(tmp_path / "c"), sink=collected, **QUICK)
        finish(run, FILES - 1)
    expected = _expected(rows)
    gaps = {row.window_start for row in collected.rows("turns", kind="gap")}
    found = {
        ((row.window_start - EPOCH) // timedelta(microseconds=1), row.key[0]): (row.value, row.value_text, row.exact)
        for row in collected.rows("turns")
        if row.aggregate == "turns"
    }
    assert gaps
    assert found == {
        place: (float(turns), str(turns), True)
        for place, turns in expected.items()
        if EPOCH + timedelta(microseconds=place[0]) not in gaps
    }
    most = collected.values("most", "most")
    by_window: dict[datetime, list[int]] = {}
    for (start, _), turns in expected.items():
        by_window.setdefault(EPOCH + timedelta(microseconds=start // 12_000_000 * 12_000_000), []).append(turns)
    assert {start: value for start, value in most.items() if value is not None} == {
        start: max(turns) for start, turns in by_window.items()
    }
    assert all(row.exact for row in collected.rows("most"))


def test_values_come_as_what_they_are(spark: SparkSession) -> None:
    rows = spark.sql(
        "SELECT timestamp'2024-01-01 00:00:01' AS ts, 7 AS i, 2.5D AS d, CAST(1.20 AS DECIMAL(5, 2)) AS m, true AS b,"
        " 'a' AS s, X'01FF' AS x, date'2024-02-29' AS day, timestamp'2024-01-01 00:00:00.000001' AS at,"
        " CAST(NULL AS INT) AS nothing, CAST('NaN' AS DOUBLE) AS nan, 'a\\\\Nb\\u001f' AS odd"
    )
    known = stream("s", rows, time="ts")
    names = ["i", "d", "m", "b", "s", "x", "day", "at", "nothing", "nan", "odd"]
    told = known.window("1 minute").agg(told=user_aggregate(Types, columns=names, returns="string"))
    answered = network(told.query("q", mode=AnswerMode.EXACT)).answers(spark, {"s": rows}).collect()
    expected = (
        7,
        2.5,
        Decimal("1.20"),
        True,
        "a",
        b"\x01\xff",
        date(2024, 2, 29),
        datetime(2024, 1, 1, 0, 0, 0, 1, UTC),
        None,
        float("nan"),
        "a\\Nb\x1f",
    )
    assert [row.value_text for row in answered] == [" ".join(map(repr, expected))]
    assert answered[0].value is None


@pytest.mark.parametrize(
    ("returns", "answer", "value", "text"),
    [
        ("double", 0.1, 0.1, "0.1"),
        ("bigint", 2**53 + 1, float(2**53), str(2**53 + 1)),
        ("decimal(10,2)", Decimal("1.50"), 1.5, "1.50"),
        ("boolean", True, None, "true"),
        ("string", "x", None, "x"),
        ("timestamp", datetime(2024, 1, 1, tzinfo=UTC), None, "2024-01-01 00:00:00"),
        ("double", None, None, None),
    ],
)
def test_answers_have_the_type_that_was_declared(
    spark: SparkSession, returns: str, answer: object, value: float | None, text: str | None
) -> None:
    row = _answered(spark, returns, answer)
    assert (row.value, row.value_text, row.exact) == (value, text, True)


def _answered(spark: SparkSession, returns: str, answer: object) -> Any:
    rows = spark.sql("SELECT timestamp'2024-01-01 00:00:01' AS ts, 7 AS i")
    made = user_aggregate(_Made(answer), columns=["i"], returns=returns)
    query = stream("s", rows, time="ts").window("1 minute").agg(told=made).query("q", mode="exact")
    (row,) = network(query).answers(spark, {"s": rows}).collect()
    return row


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


@pytest.mark.parametrize(
    ("returns", "answer", "says"), [("bigint", 1.5, "returned what is no bigint"), ("double", "x", "what is no double")]
)
def test_answers_of_another_type_are_refused_by_name(
    spark: SparkSession, returns: str, answer: object, says: str
) -> None:
    with pytest.raises(PythonException, match=f"(?s)_Made.*{says}"):
        _answered(spark, returns, answer)


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


def test_the_example_of_the_paper_answers_as_sql_does(tmp_path: Path) -> None:
    script = Path(__file__).parents[2] / "examples" / "stocks.py"
    ended = subprocess.run([sys.executable, str(script)], capture_output=True, text=True, timeout=300, check=False)
    assert ended.returncode == 0, ended.stderr[-2000:]
    spec = importlib.util.spec_from_file_location("stocks", script)
    assert spec is not None
    assert spec.loader is not None
    stocks = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(stocks)
    stocks.write_trades(tmp_path)
    with duckdb.connect() as database:
        expected = database.execute(
            "SELECT strftime(hour, '%Y-%m-%d %H:%M:%S'), count(*) FROM"
            " (SELECT time_bucket(INTERVAL '5 minutes', ts AT TIME ZONE 'UTC') AS five,"
            " max(price) - min(price) AS spread, date_trunc('hour', ts AT TIME ZONE 'UTC') AS hour"
            f" FROM '{tmp_path}/*.parquet' WHERE symbol = 'IBM' GROUP BY ALL) WHERE spread > 5 GROUP BY ALL"
        ).fetchall()
    lines = [line.strip("|").split("|") for line in ended.stdout.splitlines() if line.startswith("|2024")]
    assert {start.strip(): float(value) for start, value, _ in lines} == dict(expected)
