"""Queries that are added at a restart: windows that began before they came are gaps, all others exact."""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

import duckdb
import numpy as np
import pyarrow as pa
import pytest
from pyspark.sql import SparkSession

from streamshed.network.network import QueryNetwork, network
from streamshed.network.sources import folder
from streamshed.network.stream import stream
from tests.spark.streaming.files import EPOCH_MICROSECONDS, at, seconds_of, write_lines, write_parquet
from tests.spark.streaming.harness import QUICK, Collected, finish, wait_for_micro_batch
from tests.thoroughness import chosen

FILES, FILE_SECONDS, ROWS_PER_SECOND = 8, 10, 10
SECONDS = FILES * FILE_SECONDS
FIRST_FILES = (0, 2, 4)
"""The files before which runs start."""
SCHEMA = "id bigint, ts timestamp, v bigint, g bigint"
TOLERANT: dict[str, Any] = {"mode": "subset", "max_gap": 2}

_WINDOWS = f"""
    SELECT k, {{key}} AS key, sum(v) AS value FROM events, range({{first}}, {SECONDS}, {{slide}}) w(k)
    WHERE t >= {EPOCH_MICROSECONDS} + k * 1000000 AND t < {EPOCH_MICROSECONDS} + (k + {{size}}) * 1000000 GROUP BY ALL
"""
_NESTED = f"""
    SELECT w.k, 'all' AS key, sum(value) FROM range(-20, {SECONDS}, 20) w(k),
    ({_WINDOWS.format(key="g", first=-4, size=6, slide=2)}) i WHERE i.k >= w.k AND i.k < w.k + 20 GROUP BY ALL
"""
_SLIDING = _WINDOWS.format(key="'all'", first=-20, size=30, slide=10)
_BY_GROUP = _WINDOWS.format(key="g", first=0, size=20, slide=20)
SLIDES = {"old": 10, "back": 10, "subset": 10, "approximate": 10, "by_group": 20, "nested": 20, "reads_more": 20}
EXPECTED = {
    "old": _SLIDING,
    "back": _SLIDING.replace("sum(v)", "max(v)"),
    "subset": _SLIDING.replace("sum(v)", "min(v)"),
    "approximate": _SLIDING.replace("sum(v)", "count(v)"),
    "by_group": _BY_GROUP,
    "nested": _NESTED,
    "reads_more": _NESTED.replace("sum(v)", "max(v)"),
}
COME = {"old": 0, "back": 2, "subset": 1, "approximate": 1, "by_group": 1, "nested": 1, "reads_more": 1}
"""With which of three runs queries come; what another one reads is new with the second."""


def _network(path: Path, run: int, file_format: Literal["parquet", "json"]) -> QueryNetwork:
    source = folder(path / "in", file_format, schema=SCHEMA, max_files_per_micro_batch=1)
    rows = stream("events", source, time="ts", watermark="2 seconds")
    sliding, tumbling = rows.window("30 seconds", every="10 seconds"), rows.window("20 seconds")
    inner = rows.window("6 seconds", every="2 seconds").by("g")
    read = inner.agg(top="max(v)") if run == 0 else inner.agg(top="max(v)", n="count(*)")
    queries = [
        sliding.agg(value="sum(v)").query("old", mode="exact"),
        read.window("20 seconds").agg(value="sum(top)").query("reads_more", **TOLERANT),
    ]
    if run != 1:
        queries.append(sliding.agg(value="max(v)").query("back", mode="exact"))
    if run > 0:
        queries += [
            sliding.agg(value="min(v)").query("subset", **TOLERANT),
            sliding.agg(value="count(v)").query("approximate"),
            tumbling.by("g").agg(value="sum(v)").query("by_group", **TOLERANT),
            inner.agg(total="sum(v)").window("20 seconds").agg(value="sum(total)").query("nested", **TOLERANT),
        ]
    return network(*queries, max_depth=2)


@dataclass(frozen=True)
class Added:
    """What three runs over one checkpoint answered."""

    collected: Collected
    table: pa.Table
    margin_seconds: float
    """So much later than the rows before a run windows may begin that are not known to be whole."""

    def expected(self, query: str) -> dict[tuple[int, tuple[str, ...]], float]:
        with duckdb.connect() as database:
            database.register("events", self.table.append_column("t", self.table["ts"].cast(pa.int64())))
            rows = database.execute(EXPECTED[query]).fetchall()
        return {(start, () if key == "all" else (str(key),)): float(value) for start, key, value in rows}


@pytest.fixture(scope="module", params=chosen(["parquet", "json"], "parquet"))
def added(request: pytest.FixtureRequest, spark: SparkSession, tmp_path_factory: pytest.TempPathFactory) -> Added:
    path, collected = tmp_path_factory.mktemp("restart_added"), Collected()
    ids = np.arange(SECONDS * ROWS_PER_SECOND)
    times = pa.array(EPOCH_MICROSECONDS + ids * 1_000_000 // ROWS_PER_SECOND, pa.timestamp("us", "UTC"))
    table = pa.table({"id": ids, "ts": times, "v": (ids * 7919) % 101, "g": ids % 3})

    def write(files: range) -> None:
        for number in files:
            rows = table.slice(number * FILE_SECONDS * ROWS_PER_SECOND, FILE_SECONDS * ROWS_PER_SECOND)
            if request.param == "parquet":
                write_parquet(path / "in" / f"{number}.parquet", rows)
            else:
                lines = [json.dumps({**row, "ts": row["ts"].isoformat()}) for row in rows.to_pylist()]
                write_lines(path / "in" / f"{number}.json", lines)

    # Nothing is shed for want of time, whatever else the machine does.
    settings = {"checkpoint": str(path / "checkpoint"), "sink": collected, "advisory": True, **QUICK}
    for run, (first, end) in enumerate(zip(FIRST_FILES, (*FIRST_FILES[1:], FILES), strict=True)):
        write(range(first, end))
        # The first of a run may be one that a stop interrupted, and reads no file.
        last = max(collected.tables, default=-1) + end - first + (run > 0)
        running = _network(path, run, request.param).start(spark, **settings)
        if end == FILES:
            finish(running, last)
        else:
            with running:
                wait_for_micro_batch(running, last)
    return Added(collected, table, 0.0 if request.param == "parquet" else 2 * FILE_SECONDS)


@pytest.mark.parametrize("query", SLIDES)
def test_windows_that_began_before_a_query_came_are_gaps_and_all_others_exact(added: Added, query: str) -> None:
    collected, expected = added.collected, added.expected(query)
    came = FIRST_FILES[COME[query]] * FILE_SECONDS if COME[query] else None
    of_last_run = [row for row in collected.rows(query) if came is None or row.window_start >= at(came - 30)]
    found = {(round(seconds_of(row.window_start)), row.key): row.value for row in of_last_run}
    assert len(found) == len(of_last_run), "a window was answered twice"
    gaps = {round(seconds_of(row.window_start)): row.reason for row in collected.rows(query, kind="gap")}
    assert len(gaps) == len(collected.rows(query, kind="gap"))
    assert set(gaps.values()) <= {"before the query"}
    assert all(row.exact for row in of_last_run)
    assert {place: found[place] for place in found if place in expected} == {
        place: value for place, value in expected.items() if place in found
    }
    if came is None:
        assert found.keys() >= expected.keys()
        assert not gaps
        return
    spanning = {start for start, _ in expected if start < came and start + SLIDES[query] > came}
    assert spanning <= gaps.keys()
    assert max(gaps) < came + added.margin_seconds
    missing = {place for place in expected if place[0] >= came and place not in found}
    assert {start for start, _ in missing} <= gaps.keys()
    assert gaps.keys().isdisjoint(start for start, _ in found)
