"""Windows of joins that may take so much memory: they keep to it, and answers say what may be missing for it."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path

import duckdb
import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
from pyspark.sql import SparkSession

from streamshed.network.network import QueryNetwork, network
from streamshed.network.sources import folder
from streamshed.network.stream import stream
from streamshed.spark import query_view
from tests.spark.streaming.files import EPOCH_MICROSECONDS, write_parquet
from tests.spark.streaming.harness import QUICK, Collected, Found, finish, wait_for_micro_batch

FILES, ROWS, FILE_SECONDS = 8, 400, 10
WITHIN_SECONDS = 300
"""Longer than the whole stream: windows are as large as memory allows."""
LIMIT = 120_000
"""About the rows of 20 seconds."""
BEFORE_RESTART = 5
SCHEMA = "at timestamp, id bigint, host int"


def _rows(side: int) -> pa.Table:
    chance = np.random.default_rng(side)
    count = FILES * ROWS
    times = EPOCH_MICROSECONDS + FILE_SECONDS * 1_000_000 // ROWS * np.arange(count) + side
    at = pa.array(times, pa.timestamp("us", "UTC"))
    return pa.table({"at": at, "id": np.arange(count), "host": pa.array(chance.integers(0, 400, count), pa.int32())})


def _arrive(path: Path, files: range) -> None:
    for name, rows in (("calls", _rows(0)), ("alerts", _rows(1))):
        for file in files:
            write_parquet(path / name / f"{file}.parquet", rows.slice(file * ROWS, ROWS))


def _network(path: Path) -> QueryNetwork:
    calls, alerts = (
        stream(name, folder(path / name, "parquet", schema=SCHEMA, max_files_per_micro_batch=1), time="at")
        for name in ("calls", "alerts")
    )
    pairs = calls.join(
        alerts, on="host", within=f"{WITHIN_SECONDS} s", basic_window="2 s", memory=f"{LIMIT} B", name="pairs"
    )
    return network(
        pairs.query("pairs"),
        pairs.window("2 seconds").agg(n="count(*)").query("windows"),
        pairs.window("2 seconds").by("calls_host").agg(n="count(*)").query("by_host"),
    )


@dataclass(frozen=True)
class Joined:
    """What came, what there was, and the journal."""

    pairs: Counter[tuple[int, int]]
    expected: Counter[tuple[int, int]]
    windows: list[Found]
    by_host: list[Found]
    counts: dict[datetime, int]
    counts_by_host: dict[tuple[datetime, str], int]
    journal: pd.DataFrame


@pytest.fixture(scope="module")
def joined(spark: SparkSession, tmp_path_factory: pytest.TempPathFactory) -> Joined:
    path = tmp_path_factory.mktemp("held")
    _arrive(path / "in", range(BEFORE_RESTART))
    collected, queries = Collected(), _network(path / "in")
    settings = {"checkpoint": str(path / "checkpoint"), "sink": collected, "headroom": 1.0, **QUICK, "partitions": 2}
    with queries.start(spark, **settings) as run:
        wait_for_micro_batch(run, BEFORE_RESTART - 1)
    _arrive(path / "in", range(BEFORE_RESTART, FILES))
    run = queries.start(spark, **settings)
    finish(run, max(collected.tables) + FILES - BEFORE_RESTART)
    frame = spark.createDataFrame(pa.concat_tables(collected.tables.values()).combine_chunks())
    view = query_view(frame, queries, "pairs").toArrow()
    with duckdb.connect() as database:
        database.execute("SET TimeZone = 'UTC'")
        database.register("l", _rows(0))
        database.register("r", _rows(1))
        database.execute(
            "CREATE TABLE p AS SELECT a.id, b.id AS other, a.host, time_bucket(INTERVAL 2 SECOND, greatest(a.at, b.at))"
            " AS start FROM l a JOIN r b ON a.host = b.host"
        )
        every = database.execute("SELECT id, other FROM p").fetchall()
        counted = database.execute("SELECT start, count(*) FROM p GROUP BY ALL").fetchall()
        by_host = database.execute("SELECT start, host, count(*) FROM p GROUP BY ALL").fetchall()
    return Joined(
        Counter(zip(view["calls_id"].to_pylist(), view["alerts_id"].to_pylist(), strict=True)),
        Counter(every),
        collected.rows("windows"),
        collected.rows("by_host"),
        dict(counted),
        {(start, str(host)): count for start, host, count in by_host},
        run.journal().set_index("micro_batch_id"),
    )


def test_pairs_are_pairs_of_the_full_join_each_once(joined: Joined) -> None:
    assert not joined.pairs - joined.expected
    assert joined.expected - joined.pairs
    assert joined.pairs.total() > 0.2 * joined.expected.total()


def test_windows_keep_to_their_limit_and_use_it(joined: Joined) -> None:
    told = [row["pairs"] for row in joined.journal.joins if row]
    assert len(told) >= FILES
    assert all(one["stored_bytes"] <= LIMIT for one in told)
    last = told[FILES - 1]
    assert last["stored_bytes"] > 0.8 * LIMIT
    assert last["released_rows"] > 0
    assert last["missed_results"] > 0
    assert told[0]["released_rows"] == 0


def test_answers_that_may_miss_results_say_so_and_no_others_do(joined: Joined) -> None:
    assert joined.windows
    for one in joined.windows:
        true = joined.counts.get(one.window_start, 0)
        if one.exact:
            assert one.value == true
        else:
            assert (one.reason, one.lower, one.upper) == ("partly joined", one.value, None)
            assert one.value is not None
            assert one.value <= true
            assert one.sampling_rate is not None
            assert 0 < one.sampling_rate < 1
    assert joined.windows[0].exact
    late = [one for one in joined.windows if joined.counts.get(one.window_start)][-10:]
    assert not any(one.exact for one in late)


def test_groups_that_may_miss_results_say_so(joined: Joined) -> None:
    assert joined.by_host
    for one in joined.by_host:
        true = joined.counts_by_host[one.window_start, one.key[0] or ""]
        assert one.value is not None
        assert one.value == true if one.exact else one.value <= true
