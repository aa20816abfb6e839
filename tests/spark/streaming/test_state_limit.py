"""State near its limit: windows are dropped for it alone, what is delivered is exact, and then all come again."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import duckdb
import numpy as np
import pyarrow as pa
import pytest
from pyspark.sql import SparkSession

from streamshed.network.aggregate import AggregateCall, user_aggregate
from streamshed.network.network import network
from streamshed.network.sources import folder
from streamshed.network.stream import stream
from tests.spark.streaming.files import EPOCH_MICROSECONDS, at, write_parquet
from tests.spark.streaming.harness import Collected, finish

FILES, BUSY_FILES, ROWS_PER_FILE, FILE_SECONDS = 13, 7, 1000, 10
WINDOW_SECONDS, WINDOWS, MAX_GAP, WATERMARK_SECONDS = 5, 26, 3, 60
NEVER_LATE = {"trigger": "100 ms", "latency": "1000 seconds", "larger_micro_batches": True, "partitions": 1}


def _rows() -> pa.Table:
    """Two windows per file; at first each row has a key of its own, then five keys share them."""
    ids = np.arange(FILES * ROWS_PER_FILE)
    instants = EPOCH_MICROSECONDS + ids * FILE_SECONDS * 1_000_000 // ROWS_PER_FILE
    keys = np.where(ids < BUSY_FILES * ROWS_PER_FILE, ids, ids % 5)
    return pa.table({"ts": pa.array(instants, pa.timestamp("us", "UTC")), "k": keys, "v": (ids * 7919) % 101})


class Total:
    """A sum whose rows are all held until the window closes, as it has no merge."""

    def init(self) -> int:
        return 0

    def incr(self, state: int, value: int) -> int:
        return state + value

    def final(self, state: int) -> int:
        return state


@pytest.mark.parametrize(
    ("total", "limit_bytes"),
    [("sum(v)", 1_000_000), (user_aggregate(Total, columns=["v"], returns="double"), 2_000_000)],
    ids=["sums", "rows of a user's aggregate"],
)
def test_windows_are_dropped_for_state_alone(
    spark: SparkSession, tmp_path: Path, total: str | AggregateCall, limit_bytes: int
) -> None:
    rows = _rows()
    for number in range(FILES):
        write_parquet(tmp_path / "in" / f"{number:02}.parquet", rows.slice(number * ROWS_PER_FILE, ROWS_PER_FILE))
    source = folder(tmp_path / "in", "parquet", schema="ts timestamp, k bigint, v bigint", max_files_per_micro_batch=1)
    events = stream("events", source, time="ts", watermark=f"{WATERMARK_SECONDS} seconds")
    by_key = events.window(f"{WINDOW_SECONDS} seconds").by("k").agg(total=total)
    collected = Collected()
    run = network(by_key.query("by_key", mode="subset", max_gap=MAX_GAP)).start(
        spark, checkpoint=str(tmp_path / "c"), sink=collected, state_limit=f"{limit_bytes} B", **NEVER_LATE
    )
    finish(run, FILES - 1)
    journal = run.journal()

    gaps = [row.window_start for row in collected.rows(kind="gap")]
    assert Counter(row.reason for row in collected.rows(kind="gap")) == {"memory": len(gaps)}
    assert 4 <= len(gaps) < WINDOWS / 2
    missing = [at(WINDOW_SECONDS * number) in gaps for number in range(WINDOWS)]
    assert "1" * (MAX_GAP + 1) not in "".join(str(int(one)) for one in missing)
    assert not any(missing[-3:])
    assert 0.5 * limit_bytes < journal["state_bytes"].max() < limit_bytes
    assert any("state takes" in told for told in journal["explanation"])

    with duckdb.connect() as database:
        database.register("fed", rows)
        totals = database.execute(
            f"SELECT (epoch_us(ts) - {EPOCH_MICROSECONDS}) // {WINDOW_SECONDS * 1_000_000}, k, sum(v)"
            " FROM fed GROUP BY ALL"
        ).fetchall()
    expected = {(at(WINDOW_SECONDS * number), (str(key),)): float(total) for number, key, total in totals}
    told = {(row.window_start, row.key): row.value for row in collected.rows()}
    assert told == {place: total for place, total in expected.items() if place[0] not in gaps}
