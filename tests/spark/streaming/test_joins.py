"""Joined streams: every pair within the windows once, as Spark and DuckDB find them, and windows and rows after it."""

from __future__ import annotations

import random
from collections import Counter
from datetime import timedelta
from pathlib import Path

import duckdb
import pyarrow as pa
import pyarrow.compute as pc
import pytest
from pyspark.sql import DataFrame, SparkSession

from streamshed.errors import IncompatibleCheckpointError, InvalidNetworkError
from streamshed.joins.fragments import Fragments
from streamshed.network.join_condition import JoinKey, inner_product, overlap, pairs_where
from streamshed.network.join_source import JoinSource
from streamshed.network.network import QueryNetwork, network
from streamshed.network.sources import folder
from streamshed.network.stream import Stream, stream
from streamshed.spark import answers, query_view
from streamshed.spark.join_rows import fragments_of
from tests.spark.streaming.files import EPOCH, at, write_parquet
from tests.spark.streaming.harness import PATIENCE_SECONDS, Collected, wait_for_micro_batch
from tests.thoroughness import thorough

FILES, ROWS = 5, 60
SPAN_SECONDS = 20
WATERMARK_SECONDS = 4
BEFORE, AFTER = 6, 3
SCHEMA = pa.schema(
    [
        ("at", pa.timestamp("us", "UTC")),
        ("n", pa.int64()),
        ("host", pa.string()),
        ("port", pa.int32()),
        ("tags", pa.list_(pa.string())),
        ("weights", pa.map_(pa.string(), pa.float64())),
        ("price", pa.decimal128(10, 2)),
    ]
)
DDL = (
    "at timestamp, n bigint, host string, port int, tags array<string>, weights map<string, double>,"
    " price decimal(10,2)"
)
SETTINGS = {"trigger": "100 ms", "partitions": 2, "advisory": True}
"""However slow a machine is, nothing is shed: these tests are of full joins."""


def _rows(seed: int) -> pa.Table:
    """Rows up to four seconds off their place, some without host, number or tags; numbers no float can hold."""
    draws = random.Random(seed)
    rows = []
    for place in range(FILES * ROWS):
        second = place * SPAN_SECONDS / ROWS
        tags = draws.sample("abcdefgh", draws.randrange(5))
        rows.append(
            {
                "at": at(max(0.0, round(second - draws.random() * WATERMARK_SECONDS, 1))),
                "n": None if place % 13 == 0 else 2**60 + place,
                "host": None if place % 17 == 0 else draws.choice("abcd"),
                "port": draws.choice([80, 443, None]),
                "tags": None if place % 19 == 0 else [*tags, *tags[:1], None],
                "weights": [(tag, draws.randrange(1, 9) / 4) for tag in tags],
                "price": None,
            }
        )
    return pa.Table.from_pylist(rows, SCHEMA)


LEFT, RIGHT = _rows(1), _rows(2)


def _arrive(path: Path, files: range) -> None:
    for file in files:
        for name, rows in (("calls", LEFT), ("alerts", RIGHT)):
            write_parquet(path / name / f"{file}.parquet", rows.slice(file * ROWS, ROWS))


def _stream(path: Path, name: str) -> Stream:
    source = folder(path / name, "parquet", schema=DDL, max_files_per_micro_batch=1)
    return stream(name, source, time="at", watermark=f"{WATERMARK_SECONDS} seconds", idle_after="1 hour")


def _sides(path: Path) -> tuple[Stream, Stream]:
    return _stream(path, "calls"), _stream(path, "alerts")


def _network(path: Path, *, within: tuple[str, str] = (f"{BEFORE} s", f"{AFTER} s")) -> QueryNetwork:
    calls, alerts = _sides(path)
    pairs = calls.filter("port > 0").join(alerts, on=["host", "port"], within=within, basic_window="1 s")
    by_host = pairs.window("10 seconds").by("calls_host").agg(n="count(*)", total="sum(alerts_n % 1000)")
    return network(
        pairs.filter("alerts_n is not null").query("pairs"),
        by_host.query("by_host"),
        calls.window("10 seconds").agg(n="count(*)").query("calls_alone", mode="exact"),
        calls.filter("port = 80").query("calls_rows", mode="exact"),
    )


def _from_duckdb(sql: str) -> list[tuple[object, ...]]:
    with duckdb.connect() as database:
        database.execute("SET TimeZone = 'UTC'")
        database.register("calls", LEFT)
        database.register("alerts", RIGHT)
        return database.execute(sql).fetchall()


_WITHIN = f"b.at >= a.at - INTERVAL {AFTER} SECOND AND b.at <= a.at + INTERVAL {BEFORE} SECOND"
_PAIRS = f"FROM calls a JOIN alerts b ON a.host = b.host AND a.port = b.port AND {_WITHIN} WHERE a.port > 0"


def _expected_pairs() -> Counter[tuple[object, ...]]:
    return Counter(_from_duckdb(f"SELECT a.at, b.at, a.n, b.n, a.host {_PAIRS} AND b.n IS NOT NULL"))


def _expected_windows() -> set[tuple[object, ...]]:
    return set(
        _from_duckdb(
            f"SELECT time_bucket(INTERVAL 10 SECOND, greatest(a.at, b.at)), a.host, count(*), sum(b.n % 1000)::BIGINT"
            f" {_PAIRS} GROUP BY ALL"
        )
    )


def _frame(spark: SparkSession, collected: Collected) -> DataFrame:
    """All that was collected; of a table in chunks, Spark reads nothing past an empty one."""
    return spark.createDataFrame(pa.concat_tables(collected.tables.values()).combine_chunks())


def _check(found: DataFrame, queries: QueryNetwork) -> None:
    rows = query_view(found, queries, "pairs").toArrow()
    names = ("calls_at", "alerts_at", "calls_n", "alerts_n", "calls_host")
    assert Counter(zip(*(rows[name].to_pylist() for name in names), strict=True)) == _expected_pairs()
    assert rows["time"].to_pylist() == [
        max(pair) for pair in zip(*(rows[n].to_pylist() for n in names[:2]), strict=True)
    ]
    assert all(rows["exact"].to_pylist())
    windows = query_view(found, queries, "by_host").toArrow()
    shown = [windows[name].to_pylist() for name in ("window_start", "calls_host", "n", "total")]
    assert set(zip(*shown, strict=True)) == _expected_windows()
    assert windows.num_rows == len(_expected_windows())
    alone = query_view(found, queries, "calls_alone").toArrow()
    assert pc.sum(alone["n"]).as_py() == LEFT.num_rows


def test_batch_mode_joins_as_duckdb_does(spark: SparkSession, tmp_path: Path) -> None:
    _arrive(tmp_path, range(FILES))
    queries = _network(tmp_path)
    _check(answers(queries, spark), queries)


def test_a_stream_joins_as_duckdb_does_across_a_restart(spark: SparkSession, tmp_path: Path) -> None:
    _arrive(tmp_path / "in", range(2))
    queries, collected = _network(tmp_path / "in"), Collected()
    settings = {"checkpoint": str(tmp_path / "checkpoint"), "sink": collected, **SETTINGS}
    with queries.start(spark, **settings) as run:
        wait_for_micro_batch(run, 2)
    _arrive(tmp_path / "in", range(2, FILES))
    last = max(collected.tables)
    with pytest.raises(IncompatibleCheckpointError, match='stream "calls_alerts" was a join'):
        _network(tmp_path / "in", within=("7 s", "3 s")).start(spark, **settings)
    with queries.start(spark, **settings) as run:
        wait_for_micro_batch(run, last + FILES - 1)
        assert run.drain(PATIENCE_SECONDS)
        assert run.journal().offered_rows.sum() == 2 * LEFT.num_rows + RIGHT.num_rows
    _check(_frame(spark, collected), queries)


def _same_port(left: pa.Table, right: pa.Table) -> pa.ChunkedArray:
    return pc.equal(left["calls_port"], right["alerts_port"])


_COMMON = "len(list_distinct(list_filter(list_intersect(a.tags, b.tags), lambda x: x IS NOT NULL)))"
_PRODUCT = "list_sum(list_transform(map_keys(a.weights), lambda k: a.weights[k] * coalesce(b.weights[k], 0)))"


@pytest.mark.parametrize(
    ("on", "condition", "partitions", "fragments"),
    [
        pytest.param(overlap("tags", at_least=2), f"{_COMMON} >= 2", 6, (3, 2), id="overlap"),
        pytest.param(
            inner_product("weights", at_least=2.5), f"{_PRODUCT} >= 2.5", 2, (2, 1), id="inner_product", marks=thorough
        ),
        pytest.param(pairs_where(_same_port), "a.port = b.port", 5, (2, 2), id="function", marks=thorough),
    ],
)
def test_other_conditions_join_as_duckdb_does_across_a_restart(
    spark: SparkSession, tmp_path: Path, on: JoinKey, condition: str, partitions: int, fragments: tuple[int, int]
) -> None:
    """Rows are spread over partitions, and each pair comes once."""
    _arrive(tmp_path / "in", range(2))
    calls, alerts = _sides(tmp_path / "in")
    pairs = calls.join(alerts, on=on, within=(f"{BEFORE} s", f"{AFTER} s"), basic_window="1 s")
    assert isinstance(pairs.source, JoinSource)
    assert fragments_of(pairs.source, partitions) == Fragments(*fragments)
    counts = pairs.window("10 seconds").agg(n="count(*)")
    queries, collected = network(pairs.query("pairs"), counts.query("counts")), Collected()
    settings = {"checkpoint": str(tmp_path / "checkpoint"), "sink": collected, **SETTINGS, "partitions": partitions}
    with queries.start(spark, **settings) as run:
        wait_for_micro_batch(run, 1)
    _arrive(tmp_path / "in", range(2, FILES))
    last = max(collected.tables)
    with queries.start(spark, **settings) as run:
        wait_for_micro_batch(run, last + FILES - 2)
        assert run.drain(PATIENCE_SECONDS)
        journal = run.journal()
    told = [row[pairs.name] for row in journal.joins if row]
    found = query_view(_frame(spark, collected), queries, "pairs").toArrow()
    assert sum(one["results"] for one in told) == found.num_rows
    assert sum(row.value or 0 for row in collected.rows("counts")) == found.num_rows
    assert 0 < max(one["stored_rows"] for one in told) < LEFT.num_rows + RIGHT.num_rows
    expected = _from_duckdb(f"SELECT a.at, b.at, a.n, b.n FROM calls a JOIN alerts b ON {condition} AND {_WITHIN}")
    names = ("calls_at", "alerts_at", "calls_n", "alerts_n")
    assert Counter(zip(*(found[name].to_pylist() for name in names), strict=True)) == Counter(expected)


@pytest.mark.parametrize(
    "on",
    [
        pytest.param("host", id="equality"),
        pytest.param(overlap("tags", at_least=1), id="overlap", marks=thorough),
    ],
)
def test_late_rows_join_nothing_and_stop_nothing(spark: SparkSession, tmp_path: Path, on: JoinKey) -> None:
    """A row as old as the watermark is not late; one that is older is, and counts once, wherever it goes."""

    def row(second: float, number: int) -> pa.Table:
        nothing = {"port": 1, "tags": ["a"], "weights": None, "price": None}
        return pa.Table.from_pylist([{"at": at(second), "n": number, "host": "a", **nothing}], SCHEMA)

    calls, alerts = _sides(tmp_path / "in")
    pairs = calls.join(alerts, on=on, within="50 s")
    queries, collected = network(pairs.query("pairs")), Collected()
    for name in ("calls", "alerts"):
        write_parquet(tmp_path / "in" / name / "0.parquet", row(10, 1))
    settings = {"checkpoint": str(tmp_path / "checkpoint"), "sink": collected, **SETTINGS}
    with queries.start(spark, **settings) as run:
        wait_for_micro_batch(run, 2)
        for number, second in enumerate((10.0 - WATERMARK_SECONDS, 10.0 - WATERMARK_SECONDS - 0.001), 2):
            write_parquet(tmp_path / "in" / "calls" / f"{number}.parquet", row(second, number))
        wait_for_micro_batch(run, run.status().micro_batch_id + 3)
        journal = run.journal()
    assert sum(row[pairs.name]["late_rows"] for row in journal.joins if row) == 1
    found = query_view(_frame(spark, collected), queries, "pairs").toArrow()
    assert sorted(found["calls_n"].to_pylist()) == [1, 2]
    assert set(found["time"].to_pylist()) == {EPOCH + timedelta(seconds=10)}


def test_types_that_cannot_be_compared_are_refused_before_anything_runs(spark: SparkSession, tmp_path: Path) -> None:
    _arrive(tmp_path / "in", range(1))
    calls, alerts = _sides(tmp_path / "in")
    pairs = calls.map(code="concat(host, 'x')").join(alerts.map(code="port + 1"), on="code", within="5 s")
    with pytest.raises(InvalidNetworkError, match="'calls_code' of type string with 'alerts_code' of type int32"):
        network(pairs.query("pairs")).start(spark, checkpoint=str(tmp_path / "checkpoint"), sink=Collected())
