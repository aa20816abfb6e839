"""Open windows of nested aggregates go on when a query over them begins or ceases to tolerate gaps."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import duckdb
import numpy as np
import pyarrow as pa
import pytest
from pyspark.sql import SparkSession

from streamshed.network.network import QueryNetwork, network
from streamshed.network.sources import folder
from streamshed.network.stream import stream
from tests.spark.streaming.files import EPOCH_MICROSECONDS, seconds_of, write_parquet
from tests.spark.streaming.harness import QUICK, Collected, finish, wait_for_micro_batch

FILES_BEFORE, FILES, FILE_SECONDS, ROWS_PER_SECOND = 3, 6, 10, 20
SECONDS = FILES * FILE_SECONDS
SCHEMA = "id bigint, ts timestamp, v bigint, g bigint"
TOLERANT: dict[str, Any] = {"mode": "subset", "max_gap": 3}
EXACT: dict[str, Any] = {"mode": "exact"}
GAPLESS: dict[str, Any] = {"mode": "subset", "max_gap": 0}

Asked = Sequence[dict[str, Any]]
CHANGES: dict[str, tuple[Asked, Asked]] = {
    "to_subset": ([EXACT], [TOLERANT]),
    "to_exact": ([TOLERANT], [EXACT]),
    "to_no_gaps": ([TOLERANT], [GAPLESS]),
    "from_no_gaps": ([GAPLESS], [TOLERANT]),
    "an_exact_twin_comes": ([TOLERANT], [TOLERANT, EXACT]),
    "an_exact_twin_goes": ([TOLERANT, EXACT], [TOLERANT]),
    "an_exact_twin_takes_over": ([TOLERANT, EXACT], [EXACT]),
}
"""How queries over answers of one aggregate are asked before and after."""

_SUMS = f"""
    SELECT k, g, sum(v) AS total FROM events, range(-8, {SECONDS}, 4) w(k)
    WHERE v > {{least}} AND t >= {EPOCH_MICROSECONDS} + k * 1000000 AND t < {EPOCH_MICROSECONDS} + (k + 12) * 1000000
    GROUP BY ALL
"""


def _network(path: Path, which: int) -> QueryNetwork:
    source = folder(path / "in", "parquet", schema=SCHEMA, max_files_per_micro_batch=1)
    rows = stream("events", source, time="ts", watermark="2 seconds")
    queries = []
    for least, change in enumerate(CHANGES):
        sums = rows.filter(f"v > {least}").window("12 seconds", every="4 seconds").by("g").agg(total="sum(v)")
        nested = sums.window("20 seconds", every="10 seconds").agg(n="count(*)", total="sum(total)")
        asked = CHANGES[change][which]
        queries += [nested.query(f"{change}_{number}", **told) for number, told in enumerate(asked)]
    return network(*queries)


@pytest.fixture(scope="module")
def restarted(spark: SparkSession, tmp_path_factory: pytest.TempPathFactory) -> tuple[Collected, pa.Table]:
    path, collected = tmp_path_factory.mktemp("restart_nested"), Collected()
    ids = np.arange(SECONDS * ROWS_PER_SECOND)
    times = pa.array(EPOCH_MICROSECONDS + ids * 1_000_000 // ROWS_PER_SECOND, pa.timestamp("us", "UTC"))
    table = pa.table({"id": ids, "ts": times, "v": (ids * 7919) % 101, "g": ids % 5})

    def write(files: range) -> None:
        size = FILE_SECONDS * ROWS_PER_SECOND
        for number in files:
            write_parquet(path / "in" / f"{number}.parquet", table.slice(number * size, size))

    # Nothing is shed for want of time, whatever else the machine does.
    settings = {"checkpoint": str(path / "checkpoint"), "sink": collected, "advisory": True, **QUICK}
    write(range(FILES_BEFORE))
    with _network(path, 0).start(spark, **settings) as run:
        wait_for_micro_batch(run, FILES_BEFORE - 1)
    first = max(collected.tables) + 1
    write(range(FILES_BEFORE, FILES))
    finish(_network(path, 1).start(spark, **settings), first + FILES - FILES_BEFORE)
    return collected, table


def _expected(table: pa.Table, change: str) -> dict[int, tuple[float, float]]:
    """What DuckDB answers: by the second at which a window starts, how many sums there are, and what they come to."""
    least = list(CHANGES).index(change)
    sums = _SUMS.format(least=least)
    with duckdb.connect() as database:
        database.register("events", table.append_column("t", table["ts"].cast(pa.int64())))
        rows = database.execute(
            f"SELECT w.k, count(*), sum(total) FROM range(-20, {SECONDS}, 10) w(k), ({sums}) i"
            " WHERE i.k >= w.k AND i.k < w.k + 20 GROUP BY ALL"
        ).fetchall()
    return {start: (float(count), float(total)) for start, count, total in rows}


@pytest.mark.parametrize("change", CHANGES)
def test_each_window_is_answered_once_and_from_all_of_its_rows(
    restarted: tuple[Collected, pa.Table], change: str
) -> None:
    collected, table = restarted
    expected = _expected(table, change)
    answers: dict[str, dict[int, float | None]] = {"n": {}, "total": {}}
    # A twin that comes or goes has the answers of the other, whose windows are its own.
    for row in collected.rows(f"{change}_0"):
        start = round(seconds_of(row.window_start))
        assert row.aggregate is not None
        assert start not in answers[row.aggregate], "a window was answered twice"
        assert row.exact
        answers[row.aggregate][start] = row.value
    assert {start: (answers["n"].get(start), answers["total"].get(start)) for start in expected} == expected
    assert collected.rows(f"{change}_0", kind="gap") == []
