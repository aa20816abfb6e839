"""Joins of bounded input on every condition, with what follows them, as DuckDB finds them."""

from __future__ import annotations

import json
import random
from collections import Counter
from collections.abc import Iterator
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

import duckdb
import pyarrow as pa
import pyarrow.compute as pc
import pytest
from pyspark.sql import SparkSession
from pyspark.sql import functions as F

from streamshed.network.document.document import network_to_document, parse_network
from streamshed.network.model.declared_stream import stream
from streamshed.network.model.network import QueryNetwork, network
from streamshed.network.model.query import Query
from streamshed.network.model.rows import Rows
from streamshed.network.source.sources import folder
from streamshed.network.terms.join_condition import JoinKey, inner_product, overlap, pairs_where
from streamshed.spark import answers, query_view
from tests.spark.event_times import EPOCH, EPOCH_MICROSECONDS, at
from tests.spark.run_example import printed_by
from tests.spark.sessions import interpreting

ROWS, SPAN_SECONDS = 90, 60
W1_SECONDS, W2_SECONDS = 9, 4
SCHEMA = pa.schema(
    [
        ("at", pa.timestamp("us", "UTC")),
        ("n", pa.int64()),
        ("host", pa.string()),
        ("ratio", pa.float64()),
        ("cost", pa.decimal128(10, 2)),
        ("day", pa.date32()),
        ("tags", pa.list_(pa.string())),
        ("ids", pa.list_(pa.int64())),
        ("weights", pa.map_(pa.string(), pa.float64())),
        ("loads", pa.list_(pa.struct([("item", pa.int64()), ("load", pa.float32())]))),
    ]
)
DDL = (
    "at timestamp, n bigint, host string, ratio double, cost decimal(10,2), day date, tags array<string>,"
    " ids array<bigint>, weights map<string,double>, loads array<struct<item:bigint,load:float>>"
)
NAN = float("nan")


def _rows(seed: int) -> pa.Table:
    """Rows in any order, some equally old, with nulls, duplicates, NaN and empty sets."""
    draws = random.Random(seed)
    rows = []
    for _ in range(ROWS):
        tags = draws.choices(["a", "b", "c", "d", "", "ä", None], k=draws.randrange(6))
        numbers = draws.choices([1, 2, 3, -(2**62), 2**62, None], k=draws.randrange(6))
        rows.append(
            {
                "at": draws.choices([at(draws.randrange(SPAN_SECONDS * 10) / 10), None], [30, 1])[0],
                "n": draws.choice([None, 0, 7, 2**60, 2**60 + 1]),
                "host": draws.choice([None, "", "a", "b", "A"]),
                "ratio": draws.choice([None, NAN, 0.0, -0.0, 1.5]),
                "cost": draws.choice([None, *map(pa.scalar, (0, 1))]),
                "day": draws.choice([None, 0, 19_000]),
                "tags": draws.choice([tags, tags, tags, None]),
                "ids": draws.choice([numbers, numbers, numbers, None]),
                "weights": draws.choice([_weights(draws), _weights(draws), None]),
                "loads": draws.choice([[*_loads(draws, numbers), None], _loads(draws, numbers), None]),
            }
        )
    whole = [{**row, "cost": None if row["cost"] is None else row["cost"].as_py()} for row in rows]
    return pa.Table.from_pylist([*whole, *whole[:10]], SCHEMA)


def _weights(draws: random.Random) -> list[tuple[str, float | None]]:
    items = draws.sample(["a", "b", "c", "d", ""], draws.randrange(5))
    return [(item, draws.choice([0.25, 0.5, -0.5, 1.0, 0.0, NAN, None])) for item in items]


def _loads(draws: random.Random, items: list[int | None]) -> list[dict[str, object]]:
    return [{"item": item, "load": draws.choice([0.25, 0.5, 2.0, NAN, None])} for item in items]


CALLS, ALERTS = _rows(1), _rows(2)


def close_numbers(left: pa.Table, right: pa.Table) -> pa.ChunkedArray:
    """Whether two numbers differ by at most 1; null where one of them is."""
    difference = pc.abs(pc.subtract(left["calls_n"], right["alerts_n"]))
    return pc.less_equal(difference, pa.scalar(1, pa.int64()))


_PRODUCT = (
    "(SELECT sum(x.w * y.w) FROM"
    " (SELECT e.{0} AS item, sum(e.{1}::DOUBLE) AS w FROM (SELECT unnest({2}) AS e)"
    "  WHERE e.{0} IS NOT NULL AND NOT isnan(e.{1}) GROUP BY ALL) x JOIN"
    " (SELECT e.{0} AS item, sum(e.{1}::DOUBLE) AS w FROM (SELECT unnest({3}) AS e)"
    "  WHERE e.{0} IS NOT NULL AND NOT isnan(e.{1}) GROUP BY ALL) y USING (item)) >= {4}"
)


CLOSE_NUMBERS = "abs(a.n::HUGEINT - b.n::HUGEINT) <= 1"


def _overlap(column: str, at_least: int) -> str:
    """DuckDB's list_distinct leaves nulls out."""
    return f"len(list_intersect(list_distinct(a.{column}), list_distinct(b.{column}))) >= {at_least}"


CONDITIONS: dict[str, tuple[tuple[JoinKey, str], ...]] = {
    "equality": (
        ("ratio", "a.ratio = b.ratio"),
        (["cost", "day"], "a.cost = b.cost AND a.day = b.day"),
    ),
    "overlap": (
        (overlap("tags", at_least=2), _overlap("tags", 2)),
        (overlap("ids", at_least=1), _overlap("ids", 1)),
    ),
    "inner_product": (
        (
            inner_product("weights", at_least=0.25),
            _PRODUCT.format("key", "value", "map_entries(a.weights)", "map_entries(b.weights)", 0.25),
        ),
        (inner_product("loads", at_least=1), _PRODUCT.format("item", "load", "a.loads", "b.loads", 1)),
    ),
    "function": ((pairs_where(close_numbers), CLOSE_NUMBERS),),
}


def _stream(name: str) -> Rows:
    return stream(name, folder(f"/nowhere/{name}", "json", schema=DDL), time="at")


def _asked(joined: Rows, named: str = "", sides: tuple[str, str] = ("calls_", "alerts_")) -> list[Query]:
    """Rows behind a filter and a map, windows by a key of one side, and windows of the answers of windows."""
    mine, theirs = sides
    sums = (
        joined.window("10 seconds", every="5 seconds")
        .by(f"{mine}host")
        .agg(n="count(*)", total=f"sum({theirs}n % 1000)", least=f"min({theirs}n)")
    )
    largest = joined.window("10 seconds").by(f"{theirs}host").agg(n="count(*)").filter("n > 1")
    rows = joined.map(both=f"concat({mine}host, {theirs}host)").filter(f"{theirs}n is not null")
    return [
        rows.query(f"{named}pairs"),
        sums.query(f"{named}sums"),
        largest.window("30 seconds").agg(most="max(n)", all="sum(n)").query(f"{named}largest"),
    ]


def _duckdb(sql: str) -> list[tuple[object, ...]]:
    with duckdb.connect() as database:
        database.execute("SET TimeZone = 'UTC'")
        database.register("calls", CALLS)
        database.register("alerts", ALERTS)
        return database.execute(sql).fetchall()


def _pairs(condition: str, *, calls: str = "calls", alerts: str = "alerts", seconds: tuple[int, int]) -> str:
    within = f"b.at <= a.at + INTERVAL {seconds[0]} SECOND AND b.at >= a.at - INTERVAL {seconds[1]} SECOND"
    return (
        f"(SELECT greatest(a.at, b.at) AS time, a.at AS a_at, b.at AS b_at, a.n AS a_n, b.n AS b_n, a.host AS a_host,"
        f" b.host AS b_host FROM {calls} a JOIN {alerts} b ON {within} WHERE {condition})"
    )


def _check(found: pa.Table, pairs: str, named: str = "") -> None:
    """Compare all that `_asked` asks for; every answer is exact, and none is missing."""
    of = {name: found.filter(pc.equal(found["query"], f"{named}{name}")) for name in ("pairs", "sums", "largest")}
    assert all(pc.all(table["exact"]).as_py() is not False for table in of.values())
    rows = Counter(
        _duckdb(
            "SELECT epoch_us(time), epoch_us(a_at), epoch_us(b_at), a_n, b_n, a_host, a_host || b_host"
            f" FROM {pairs} WHERE b_n IS NOT NULL"
        )
    )
    assert sum(rows.values()) > 20
    assert _rows_of(of["pairs"]) == rows
    sums = _duckdb(
        "SELECT start, a_host, count(*)::VARCHAR, sum(b_n % 1000)::BIGINT::VARCHAR, min(b_n)::VARCHAR FROM"
        " (SELECT *, unnest([time_bucket(INTERVAL 5 SECOND, time), time_bucket(INTERVAL 5 SECOND, time) -"
        f" INTERVAL 5 SECOND]) AS start FROM {pairs}) GROUP BY ALL"
    )
    assert _answers_of(of["sums"], "n", "total", "least") == {row[:2]: row[2:] for row in sums}
    largest = _duckdb(
        "SELECT time_bucket(INTERVAL 30 SECOND, start), NULL, max(n)::VARCHAR, sum(n)::BIGINT::VARCHAR FROM"
        f" (SELECT time_bucket(INTERVAL 10 SECOND, time) AS start, b_host, count(*) AS n FROM {pairs} GROUP BY ALL)"
        " WHERE n > 1 GROUP BY ALL"
    )
    assert _answers_of(of["largest"], "most", "all") == {row[:2]: row[2:] for row in largest}


def _rows_of(found: pa.Table) -> Counter[tuple[object, ...]]:
    """The columns of rows that DuckDB is asked for, whatever the sides are called."""
    rows = [json.loads(text) for text in found["value_text"].to_pylist()]
    assert [row["time"] for row in rows] == [max(_of(row, "at")) for row in rows]
    return Counter(
        (
            _microseconds(row["time"]),
            *map(_microseconds, _of(row, "at")),
            *_of(row, "n"),
            _of(row, "host")[0],
            row.get("both"),
        )
        for row in rows
    )


def _of(row: dict[str, Any], column: str) -> tuple[Any, Any]:
    prefixes = [name.removesuffix("at") for name in row if name.endswith("_at")]
    return row.get(f"{prefixes[0]}{column}"), row.get(f"{prefixes[1]}{column}")


def _microseconds(text: str) -> int:
    return (datetime.fromisoformat(text) - EPOCH) // timedelta(microseconds=1) + EPOCH_MICROSECONDS


def _answers_of(found: pa.Table, *aggregates: str) -> dict[tuple[object, ...], tuple[object, ...]]:
    """Per window and key the values, as text; each once."""
    shown: dict[tuple[object, ...], dict[str, object]] = {}
    for row in found.filter(pc.equal(found["kind"], "answer")).to_pylist():
        values = shown.setdefault((row["window_start"], *(row["key"] or [None])), {})
        assert row["aggregate"] not in values
        values[row["aggregate"]] = row["value_text"]
    return {key: tuple(values[name] for name in aggregates) for key, values in shown.items()}


CALLS_STREAM, ALERTS_STREAM, NOTHING = (_stream(name) for name in ("calls", "alerts", "nothing"))


def _of_conditions() -> Iterator[Query]:
    within = (f"{W1_SECONDS} s", f"{W2_SECONDS} s")
    for kind, conditions in CONDITIONS.items():
        for number, (on, _) in enumerate(conditions):
            name = f"{kind}_{number}"
            yield from _asked(CALLS_STREAM.join(ALERTS_STREAM, on=on, within=within, name=f"joined_{name}"), f"{name}_")


def _of_several_joins() -> Iterator[Query]:
    """Two more, and a stream joined with itself."""
    uppercase = ALERTS_STREAM.map(where="upper(host)")
    by_host = CALLS_STREAM.filter("n > 0").join(uppercase, on={"host": "where"}, within="3 s")
    by_tags = ALERTS_STREAM.join(CALLS_STREAM, on=overlap("tags", at_least=2), within=("0 s", "9 s"), name="by_tags")
    twins = CALLS_STREAM.join(CALLS_STREAM, on="host", within=("2 s", "0 s"), prefixes=("a_", "b_"), name="twins")
    yield from _asked(by_host, "host_")
    yield from _asked(by_tags.filter("alerts_host is not null"), "tags_", ("alerts_", "calls_"))
    yield from _asked(twins, "twins_", ("a_", "b_"))
    yield CALLS_STREAM.window("30 seconds").agg(n="count(*)").query("calls")


def _of_nothing() -> Iterator[Query]:
    for kind, ((on, _), *_) in CONDITIONS.items():
        joined = NOTHING.join(
            ALERTS_STREAM, on=on, within="9 s", name=f"nothing_{kind}", prefixes=("calls_", "alerts_")
        )
        yield _asked(joined, f"nothing_{kind}_")[1]


def _to_be_written() -> QueryNetwork:
    on = pairs_where(close_numbers)
    joined = CALLS_STREAM.join(ALERTS_STREAM, on=on, within="2 s", mode="exact", name="written")
    return network(*_asked(joined, "written_"))


def _read_again() -> QueryNetwork:
    """The same, by way of a document."""
    return parse_network(network_to_document(_to_be_written()), folder="/elsewhere").network


@pytest.fixture(scope="module")
def answered(spark: SparkSession) -> pa.Table:
    """What one network of all these joins answers."""
    session = interpreting(spark)
    inputs = {name: session.createDataFrame(rows, DDL) for name, rows in (("calls", CALLS), ("alerts", ALERTS))}
    queries = network(*_of_conditions(), *_of_several_joins(), *_of_nothing(), *_read_again().queries)
    return answers(queries, session, {**inputs, "nothing": inputs["calls"].limit(0)}).toArrow()


@pytest.mark.parametrize("kind", CONDITIONS)
def test_joins_on_every_kind_of_condition_and_what_follows_them(kind: str, answered: pa.Table) -> None:
    for number, (_, sql) in enumerate(CONDITIONS[kind]):
        _check(answered, _pairs(sql, seconds=(W1_SECONDS, W2_SECONDS)), f"{kind}_{number}_")


def test_several_joins_and_a_stream_joined_with_itself_in_one_network(answered: pa.Table) -> None:
    _check(answered, _pairs("a.n > 0 AND a.host = upper(b.host)", seconds=(3, 3)), "host_")
    tags = f"{_overlap('tags', 2)} AND a.host IS NOT NULL"
    _check(answered, _pairs(tags, calls="alerts", alerts="calls", seconds=(0, 9)), "tags_")
    _check(answered, _pairs("a.host = b.host", alerts="calls", seconds=(2, 0)), "twins_")
    alone = _answers_of(answered.filter(pc.equal(answered["query"], "calls")), "n")
    assert alone == {
        row[:2]: row[2:]
        for row in _duckdb(
            "SELECT time_bucket(INTERVAL 30 SECOND, calls.at), NULL, count(*)::VARCHAR FROM calls"
            " WHERE calls.at IS NOT NULL GROUP BY ALL"
        )
    }


def test_a_side_without_rows_has_no_pairs_and_stops_nothing(answered: pa.Table) -> None:
    names = {query.name for query in _of_nothing()}
    assert len(names) == len(CONDITIONS)
    assert not names & set(answered["query"].to_pylist())


KEYS = ["flag", "blob", "day", "local", "tiny", "word"]
EVERY_TYPE = (
    "TIMESTAMP '2024-01-01 00:00:01' AS at",
    "id % 2 = 0 AS flag",
    "CAST(concat('x', id % 4) AS BINARY) AS blob",
    "DATE '2024-02-29' AS day",
    "TIMESTAMP_NTZ '2024-01-01 12:00:00.000001' AS local",
    "CAST(id % 3 AS TINYINT) AS tiny",
    "CAST(concat('w', id % 2) AS VARCHAR(5)) AS word",
    "CAST(CAST(id AS DECIMAL(10, 0)) / 7 AS DECIMAL(38, 18)) AS wide",
    "CAST(id AS FLOAT) AS half",
    "named_struct('a', id, 'b', array('ä', null)) AS inner",
    "map('m', array(CAST(id AS INT), null)) AS lists",
    "array(named_struct('at', TIMESTAMP '2024-01-01 00:00:02')) AS deep",
    "CAST(null AS STRING) AS nothing",
)


def test_columns_of_dataframes_come_through_as_they_were_whatever_their_type(spark: SparkSession) -> None:
    inputs = {
        name: spark.range(first, first + 12).selectExpr(*EVERY_TYPE) for name, first in (("calls", 0), ("alerts", 4))
    }
    calls, alerts = (stream(name, rows, time="at") for name, rows in inputs.items())
    queries = network(calls.join(alerts, on=KEYS, within="1 s").query("pairs"))
    found = query_view(answers(queries, spark, inputs), queries, "pairs").drop("exact", "sampling_rate")
    mine, theirs = (
        rows.select(*(F.col(column).alias(f"{name}_{column}") for column in rows.columns))
        for name, rows in inputs.items()
    )
    same = [F.col(f"calls_{key}") == F.col(f"alerts_{key}") for key in KEYS]
    expected = mine.join(theirs, same).withColumn("time", F.col("calls_at")).select(*found.columns)
    assert found.dtypes == expected.dtypes
    shown, wanted = (
        sorted(text for (text,) in rows.select(F.to_json(F.struct(*rows.columns))).collect())
        for rows in (found, expected)
    )
    assert len(wanted) > 10
    assert shown == wanted


def test_a_document_joins_as_its_network_does(answered: pa.Table) -> None:
    ids = [[query.definition_id for query in queries.queries] for queries in (_read_again(), _to_be_written())]
    assert ids[0] == ids[1]
    _check(answered, _pairs(CLOSE_NUMBERS, seconds=(2, 2)), "written_")


def test_the_example_of_two_sensors_prints_the_lag_profile_that_duckdb_finds(
    spark: SparkSession, tmp_path: Path
) -> None:
    printed = printed_by("joined_alerts.py", spark, str(tmp_path))
    with duckdb.connect() as database:
        expected = database.execute(
            "SELECT (floor((floor(epoch(b.ts)) - floor(epoch(a.ts))) / 5) * 5)::INT AS lag, count(*)"
            f" FROM '{tmp_path}/network/*.parquet' a JOIN '{tmp_path}/host/*.parquet' b ON a.host = b.host"
            " AND b.severity >= 2 AND b.ts BETWEEN a.ts - INTERVAL 5 SECOND AND a.ts + INTERVAL 1 MINUTE"
            " GROUP BY ALL ORDER BY ALL"
        ).fetchall()
    lines = [line.split() for line in printed.splitlines() if " s " in line]
    assert [(int(lag), int(pairs)) for lag, _, _, _, pairs, *_ in lines] == expected
    assert max(expected, key=lambda row: row[1])[0] in {15, 20}
