"""What SQL takes, tried on a few rows: in the right order, and as much as Spark by itself says."""

from __future__ import annotations

import time
from collections.abc import Mapping
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from pyspark.sql import SparkSession
from pyspark.sql import functions as F

from streamshed.network.model.declared_stream import stream
from streamshed.network.model.network import network
from streamshed.network.model.rows import Rows
from streamshed.network.source.sources import folder, rate
from streamshed.network.terms.parsing import parse_json
from streamshed.sharing.stream_work import stream_work
from streamshed.spark.loop import sql_trials
from streamshed.spark.loop.sql_trials import sql_costs
from streamshed.statistics.sql_cost import SqlCost
from tests.spark.event_times import at

ROWS = 400
SCHEMA = "ts timestamp, k bigint, word string"
DEAR = "aggregate(sequence(1, 1000), k, (s, x) -> s + x) > 0"
MIDDLE = "aggregate(sequence(1, 100), k, (s, x) -> s + x) > 0"
CHEAP = "k >= 0"


def costs_of(spark: SparkSession, *nodes: Rows, known: Mapping[str, SqlCost] | None = None) -> dict[str, SqlCost]:
    queries = [node.window("1 hour").agg(n="count(*)").query(f"q{place}") for place, node in enumerate(nodes)]
    return sql_costs(spark, stream_work(nodes[0].stream, network(*queries).queries), known or {})


@pytest.fixture(autouse=True)
def patience(monkeypatch: pytest.MonkeyPatch) -> None:
    """However busy the machine is: in the end two jobs agree."""
    monkeypatch.setattr(sql_trials, "MOST_JOBS", 60)


@pytest.fixture(scope="module")
def files(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("specimens")
    rows = [{"ts": at(place), "k": place, "word": "7" if place % 4 == 0 else "abc"} for place in range(ROWS)]
    pq.write_table(pa.Table.from_pylist(rows, schema=None), path / "rows.parquet")
    return path


def seconds_of_spark(spark: SparkSession, sql: str) -> float:
    """The least of three jobs over 2,048 rows, less that of the same job without the expression; of one core."""

    def job(value: str) -> float:
        begun = time.perf_counter()
        rows = spark.range(2_048, numPartitions=1).select(F.col("id").alias("k"))
        rows.select(F.expr(value)).write.format("noop").mode("overwrite").save()
        return time.perf_counter() - begun

    return (min(job(sql) for _ in range(3)) - min(job("k") for _ in range(3))) / 2_048


def test_a_fold_over_a_thousand_a_middle_one_and_a_comparison(
    spark: SparkSession, files: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """In the order of what they take, by far, and within a factor of eight of plain Spark."""
    monkeypatch.setattr("streamshed.sharing.dear_sql.may_be_dear", lambda _: True)
    rows = stream("rows", folder(files, "parquet", schema=SCHEMA), time="ts")
    nodes = [rows.filter(sql) for sql in (DEAR, MIDDLE, CHEAP)]
    found = costs_of(spark, *nodes)
    dear, middle, cheap = (found[node.node.address] for node in nodes)
    assert not dear.made_up
    assert dear.seconds_per_row > 3 * middle.seconds_per_row > 0
    assert dear.seconds_per_row > 20 * max(cheap.seconds_per_row, 1e-9)
    assert dear.seconds_per_row > 20 * cheap.resolution_seconds, "so that what cannot be seen is not dear"
    assert 1 / 8 < dear.seconds_per_row / seconds_of_spark(spark, DEAR) < 8


def test_what_only_some_rows_come_to_is_told_per_row_that_does_and_never_evaluated_for_others(
    spark: SparkSession, files: Path
) -> None:
    """The cast would fail for three rows of four."""
    rows = stream("rows", folder(files, "parquet", schema=SCHEMA), time="ts")
    digits = rows.filter("word RLIKE '^[0-9]+$'")
    behind = digits.filter("aggregate(sequence(1, 1000), CAST(word AS INT), (s, x) -> s + x) > 0")
    every = rows.filter(DEAR)
    found = costs_of(spark, behind, every)
    assert found[behind.node.address].share == pytest.approx(0.25)
    assert found[every.node.address].share == 1.0
    assert 0.2 < found[behind.node.address].seconds_per_row / found[every.node.address].seconds_per_row < 5


def test_where_a_source_has_no_rows_some_are_made_up_and_real_ones_are_tried_as_soon_as_there_are(
    spark: SparkSession, tmp_path: Path
) -> None:
    rows = stream("rows", folder(tmp_path, "json", schema=SCHEMA), time="ts")
    behind = rows.filter("word = 'no such'").filter(DEAR)
    first = costs_of(spark, behind)
    assert first[behind.node.address].made_up
    assert first[behind.node.address].seconds_per_row > 1e-6, "though none passes the filter above"
    assert costs_of(spark, behind, known=first) == {}, "there is nothing new"
    (tmp_path / "rows.json").write_text('{"ts": "2024-01-01 00:00:00", "k": 3, "word": "no such"}\n')
    second = costs_of(spark, behind, known=first)
    assert second[behind.node.address] == SqlCost(
        second[behind.node.address].seconds_per_row, 0.3e-6, 1.0, made_up=False
    )
    assert costs_of(spark, behind, known=second) == {}


def test_text_is_made_up_so_that_it_can_be_parsed(spark: SparkSession) -> None:
    """A stream of the user's own is not read: that might take rows from the query that is to run."""
    records = spark.readStream.format("rate").load().select(F.lit("{}").alias("value"))
    parsed = stream("records", records, time="ts", parse=parse_json("value", SCHEMA))
    node = parsed.filter(DEAR)
    assert costs_of(spark, node)[node.node.address].seconds_per_row > 1e-6


def test_what_fails_is_left_to_a_guess_and_the_others_are_not(spark: SparkSession) -> None:
    """But what only made-up values would fail in is tried: no text of theirs is a number."""
    ansi = spark.conf.get("spark.sql.ansi.enabled")
    rows = stream("rows", spark.readStream.format("rate").load().selectExpr("*", "'7' AS word"), time="timestamp")
    failing = rows.filter("raise_error(concat('row ', value)) IS NULL")
    fine = rows.filter(DEAR.replace("k,", "CAST(word AS BIGINT),"))
    found = costs_of(spark, failing, fine)
    assert found.keys() == {fine.node.address}
    assert spark.conf.get("spark.sql.ansi.enabled") == ansi == "true"


def test_no_more_rows_are_looked_at_than_there_is_time_for(
    spark: SparkSession, files: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Each row takes a millisecond or more: 64 rounds over 256 rows would take a minute in three jobs."""
    monkeypatch.setattr(sql_trials, "MOST_JOBS", 3)
    monkeypatch.setattr(sql_trials, "AGREEING", 1e9)
    rows = stream("rows", folder(files, "parquet", schema=SCHEMA), time="ts")
    node = rows.filter(DEAR.replace("1000", "100000"))
    begun = time.perf_counter()
    assert costs_of(spark, node)[node.node.address].seconds_per_row > 100e-6
    assert time.perf_counter() - begun < 15


def test_nothing_is_run_for_what_cannot_be_dear(spark: SparkSession, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sql_trials, "specimens", lambda *_: pytest.fail("rows were looked for"))
    ticks = stream("ticks", rate(1), time="timestamp")
    assert costs_of(spark, ticks.filter("value >= 0").filter("value + 1 > 3")) == {}
