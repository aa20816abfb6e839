"""Typed views and the console: answers as users want to see them. In batch mode, which gives the same rows."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, date, datetime
from decimal import Decimal
from pathlib import Path

import pyarrow as pa
import pytest
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

from streamshed.errors import InvalidNetworkError
from streamshed.network.model.declared_stream import stream
from streamshed.network.model.network import QueryNetwork, network
from streamshed.network.model.rows import Rows
from streamshed.network.source.sources import folder
from streamshed.spark import answers, console_sink, query_view
from tests.spark.event_times import at
from tests.spark.files import write_parquet

ROWS = [
    (at(1), 5, Decimal("1.25"), "a", True, date(2024, 2, 1), 0.5, b"\x00\xff"),
    (at(2), 7, Decimal("-3.50"), "a", True, date(2024, 2, 1), 1.5, b"\x01"),
    (at(3), None, None, None, None, None, None, None),
    (at(11), 2**62, Decimal("0.01"), "", False, date(1969, 12, 31), float("nan"), b""),
]
SCHEMA = pa.schema(
    {
        "ts": pa.timestamp("us", "UTC"),
        "v": pa.int64(),
        "money": pa.decimal128(10, 2),
        "s": pa.string(),
        "flag": pa.bool_(),
        "d": pa.date32(),
        "x": pa.float64(),
        "raw": pa.binary(),
    }
)


DERIVED = {
    "percent": "100.0 * count_if(v > 5) / count(*)",
    "of_none": "sum(v) / count_if(v < 0)",
    "words": "count(DISTINCT s)",
    "paid": "sum(money) FILTER (WHERE flag)",
    "any_flag": "bool_or(flag)",
}


@dataclass(frozen=True)
class Answered:
    """A network, and what it answered: computed once."""

    network: QueryNetwork
    answers: DataFrame

    def view(self, name: str) -> DataFrame:
        return query_view(self.answers, self.network, name)


def _network(events: Rows) -> QueryNetwork:
    windowed = events.window("10 seconds").by("s", "flag", day="d", odd="v % 2 = 1", at="ts", raw="raw")
    calls = {"n": "count(*)", "total": "sum(v)", "paid": "sum(money)", "mean": "avg(money)"}
    extremes = {"first": "min(ts)", "most": "max(money)", "word": "max(s)", "least": "min(x)", "blob": "max(raw)"}
    tumbling = events.window("10 seconds")
    return network(
        windowed.agg(**calls, **extremes).query("typed"),
        tumbling.agg(n="count(v)", total="sum(v)").query("keyless"),
        tumbling.agg(n="count(*)", paid="sum(money)").query("counted"),
        tumbling.agg(**DERIVED).query("derived"),
        events.filter("v > 5").map(half="v / 2").query("large"),
        events.query("others"),
        events.map(Exact="v").query("clashing"),
    )


@pytest.fixture(scope="module")
def answered(spark: SparkSession, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Answered]:
    path = tmp_path_factory.mktemp("views")
    columns = zip(*ROWS, strict=True)
    arrays = [pa.array(column, field.type) for column, field in zip(columns, SCHEMA, strict=True)]
    write_parquet(path / "0.parquet", pa.Table.from_arrays(arrays, schema=SCHEMA))
    queries = _network(stream("events", folder(path, "parquet"), time="ts"))
    rows = answers(queries, spark).persist()
    yield Answered(queries, rows)
    rows.unpersist()


def test_keys_and_aggregates_have_names_and_types(answered: Answered) -> None:
    types = {name: kind for name, kind in answered.view("typed").dtypes if not name.endswith(("_lower", "_upper"))}
    assert types == {
        "window_start": "timestamp",
        "window_end": "timestamp",
        "s": "string",
        "flag": "boolean",
        "day": "date",
        "odd": "boolean",
        "at": "timestamp",
        "raw": "binary",
        "n": "bigint",
        "total": "bigint",
        "paid": "decimal(20,2)",
        "mean": "double",
        "first": "timestamp",
        "most": "decimal(10,2)",
        "word": "string",
        "least": "double",
        "blob": "binary",
        "exact": "boolean",
    }


def test_what_follows_from_aggregates_is_a_double_and_parts_are_not_shown(answered: Answered) -> None:
    view = answered.view("derived")
    types = {name: kind for name, kind in view.dtypes if name in DERIVED}
    kinds = ("double", "double", "bigint", "decimal(20,2)", "boolean")
    assert types == dict(zip(DERIVED, kinds, strict=True))
    rows = {row["window_start"]: row for row in view.toArrow().to_pylist()}
    first, second = rows[at(0)], rows[at(10)]
    assert [first[name] for name in DERIVED] == [pytest.approx(100 / 3), None, 1, Decimal("-2.25"), True]
    assert [second[name] for name in DERIVED] == [100.0, None, 1, None, False]
    assert (first["percent_lower"], first["percent_upper"], first["exact"]) == (first["percent"],) * 2 + (True,)
    told = answered.answers.where("query = 'derived'").select("aggregate").distinct().toArrow()
    assert set(told["aggregate"].to_pylist()) == set(DERIVED)


def test_arithmetic_is_over_numbers(spark: SparkSession, tmp_path: Path) -> None:
    write_parquet(tmp_path / "0.parquet", pa.table({"ts": [at(1)], "s": ["a"]}))
    events = stream("events", folder(tmp_path, "parquet"), time="ts")
    queries = network(events.window("10 seconds").agg(x="max(s) / 2").query("q"))
    with pytest.raises(InvalidNetworkError, match=r'query "q": max does not take string \(aggregate "x: max\(s\)"\)'):
        answers(queries, spark)


def test_keys_and_aggregates_have_values_of_their_types(answered: Answered) -> None:
    rows = {row["at"]: row for row in answered.view("typed").toArrow().to_pylist()}
    assert len(rows) == len(ROWS)
    first = rows[at(1)]
    assert (first["s"], first["flag"], first["day"], first["odd"]) == ("a", True, date(2024, 2, 1), True)
    assert (first["n"], first["total"], first["paid"], first["mean"]) == (1, 5, Decimal("1.25"), 1.25)
    assert (first["first"], first["most"], first["word"], first["least"]) == (at(1), Decimal("1.25"), "a", 0.5)
    assert (first["raw"], first["blob"], first["exact"]) == (b"\x00\xff", b"\x00\xff", True)
    nothing = rows[at(3)]
    assert [nothing[name] for name in ("s", "flag", "day", "odd", "raw", "total", "paid", "word")] == [None] * 8
    assert rows[at(11)]["total"] == 2**62
    assert rows[at(11)]["s"] == ""


def test_without_keys_there_is_a_row_per_window(answered: Answered) -> None:
    rows = answered.view("keyless").orderBy("window_start").toArrow().to_pylist()
    assert [(row["window_start"], row["n"], row["total"]) for row in rows] == [(at(0), 2, 12), (at(10), 1, 2**62)]
    assert (rows[0]["n_lower"], rows[0]["n_upper"], rows[0]["total_lower"]) == (2.0, 2.0, 12.0)


def test_estimates_are_rounded_to_the_type_and_keep_their_bounds(answered: Answered) -> None:
    sampled = answered.answers.withColumns(
        {
            "value": F.col("value") + 0.6,
            "value_text": F.lit(None).cast("string"),
            "lower": F.col("value") - 2,
            "exact": F.lit(False),
        }
    )
    [first, _] = query_view(sampled, answered.network, "counted").orderBy("window_start").collect()
    assert (first.n, first.paid, first.exact) == (4, Decimal("-1.65"), False)
    assert (first.n_lower, first.paid_lower) == (1.0, -4.25)


def test_rows_of_set_valued_queries_have_their_columns(answered: Answered) -> None:
    view = answered.view("large")
    assert view.columns == [*SCHEMA.names, "half", "sampling_rate", "exact"]
    assert dict(view.dtypes)["half"] == "double"
    rows = view.toArrow().to_pylist()
    [row] = [row for row in rows if row["v"] == 7]
    assert [row[name] for name in SCHEMA.names] == list(ROWS[1])
    assert (row["half"], row["sampling_rate"], row["exact"]) == (3.5, 1.0, True)
    assert len(rows) == 2


def test_streams_parsed_from_text_have_the_types_of_their_schema(spark: SparkSession, tmp_path: Path) -> None:
    source = folder(tmp_path, "json", schema="ts timestamp, v int, tags array<string>")
    events = stream("events", source, time="ts")
    queries = network(events.window("1 minute").by("v", "tags").agg(most="max(ts)").query("q"))
    assert dict(query_view(answers(queries, spark), queries, "q").dtypes) == {
        "window_start": "timestamp",
        "window_end": "timestamp",
        "v": "int",
        "tags": "string",
        "most": "timestamp",
        "most_lower": "double",
        "most_upper": "double",
        "exact": "boolean",
    }


def test_an_unknown_query_is_refused_with_a_near_miss(answered: Answered) -> None:
    with pytest.raises(InvalidNetworkError, match=r'no query "count".*did you mean "counted"'):
        answered.view("count")


def test_two_columns_of_one_name_are_refused(answered: Answered) -> None:
    with pytest.raises(InvalidNetworkError, match='two columns "exact": rename that column before the query'):
        answered.view("clashing")


def test_the_console_shows_the_latest_windows(answered: Answered, capsys: pytest.CaptureFixture[str]) -> None:
    console_sink(1).write(answered.answers.where("query = 'counted'"), "", 0)
    shown = capsys.readouterr().out
    assert "counted" in shown
    assert str(datetime(2024, 1, 1, 0, 0, 20, tzinfo=UTC).replace(tzinfo=None)) in shown
    assert ("window_until" in shown, len(shown.splitlines())) == (False, 3)


def test_the_console_shows_nothing_where_there_is_no_answer(
    answered: Answered, capsys: pytest.CaptureFixture[str]
) -> None:
    console_sink(1).write(answered.answers.where("query = 'none'"), "", 0)
    assert not capsys.readouterr().out
