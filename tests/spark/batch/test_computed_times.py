"""Event times that are computed, in batch mode: before 1970, local days, both sides of a join."""

from __future__ import annotations

import random
from collections import Counter
from datetime import UTC, datetime, timedelta
from typing import Any
from zoneinfo import ZoneInfo

import duckdb
import pyarrow as pa
import pytest
from pyspark.sql import DataFrame, SparkSession

from streamshed.network.model.declared_stream import stream
from streamshed.network.model.network import network
from streamshed.network.model.query import Query
from streamshed.network.model.rows import Rows
from streamshed.network.source.sources import folder
from streamshed.spark import answers

BERLIN = ZoneInfo("Europe/Berlin")
HOUR, DAY = timedelta(hours=1), timedelta(days=1)
ANY_HOUR = [
    datetime(2024, month, day, tzinfo=UTC) + hour * HOUR for month, day in ((3, 29), (10, 25)) for hour in range(96)
]
"""Four days around the beginning and the end of summer time."""

SIZE, SLIDE, OFFSET = 7_000, 3_000, 1_000
"""Of windows before and after 1970, milliseconds."""

NO_TIMES = [None, 2**63 - 1, -(2**63)]
"""Milliseconds that are no time; the queries group by what is computed of them, too."""

W1, W2 = 3_000, 1_000
"""How long rows wait for partners, milliseconds."""


def events(name: str, schema: str, time: str) -> Rows:
    return stream(name, folder("/nowhere", "parquet", schema=schema), time=time)


def table_of(spark: SparkSession, rows: list[dict[str, Any]], schema: str) -> DataFrame:
    return spark.createDataFrame([tuple(row.values()) for row in rows], schema)


def _instants(seed: int, count: int) -> list[int]:
    """Around 1970, some of them on edges of windows."""
    draws = random.Random(seed)
    return [draws.choice([draws.randrange(-50_000, 50_000), draws.randrange(-50, 50) * 1_000]) for _ in range(count)]


OLD = [{"ms": ms, "k": index % 3} for index, ms in enumerate(_instants(1, 300))]
CALLS = [{"ms": ms, "k": index % 5} for index, ms in enumerate(_instants(2, 80))]
ALERTS = [
    {"at": f"{datetime.fromtimestamp(ms / 1e3, UTC):%Y-%m-%d %H:%M:%S.%f}"[:-3], "k": index % 5, "ms": ms}
    for index, ms in enumerate(_instants(3, 80))
]


def _queries() -> list[Query]:
    local = events("local", "ts timestamp", "from_utc_timestamp(ts, 'Europe/Berlin')")
    old = events("old", "ms bigint, k int", "timestamp_millis(ms)")
    calls = events("calls", "ms bigint, k int", "timestamp_millis(ms)")
    alerts = events("alerts", "at string, k int", "to_timestamp(at, 'yyyy-MM-dd HH:mm:ss.SSS')")
    pairs = calls.join(alerts, on="k", within=(f"{W1} ms", f"{W2} ms"), name="pairs")
    lengths = {"every": f"{SLIDE} ms", "offset": f"{OFFSET} ms"}
    return [
        local.window("1 day").agg(n="count(*)").query("local"),
        old.window(f"{SIZE} ms", **lengths).by("k").agg(n="count(*)", total="sum(ms)").query("old"),
        old.window(f"{SIZE} ms", **lengths)
        .by(second="second(timestamp_millis(ms))")
        .agg(n="count(*)")
        .query("by_time"),
        old.window("100 rows", every="50 rows").agg(total="sum(ms)").query("rows"),
        pairs.window(f"{SIZE} ms", **lengths).agg(n="count(*)").query("pairs"),
    ]


@pytest.fixture(scope="module")
def found(spark: SparkSession) -> pa.Table:
    inputs = {
        "local": table_of(spark, [{"ts": instant} for instant in ANY_HOUR], "ts timestamp"),
        "old": table_of(spark, [*OLD, *({"ms": ms, "k": 0} for ms in NO_TIMES)], "ms bigint, k int"),
        "calls": table_of(spark, CALLS, "ms bigint, k int"),
        "alerts": table_of(spark, ALERTS, "at string, k int, ms bigint").drop("ms"),
    }
    return answers(network(*_queries()), spark, inputs).toArrow()


def values(found: pa.Table, query: str, aggregate: str) -> dict[tuple[Any, ...], float]:
    rows = [row for row in found.to_pylist() if (row["query"], row["aggregate"]) == (query, aggregate)]
    assert {(row["kind"], row["exact"]) for row in rows} == {("answer", True)}
    return {(row["window_start"], *(row["key"] or ())): row["value"] for row in rows if row["value"]}


def test_local_days_have_as_many_hours_as_summer_time_leaves_them(found: pa.Table) -> None:
    local = [instant.astimezone(BERLIN).replace(tzinfo=UTC) for instant in ANY_HOUR]
    expected = Counter(instant.replace(hour=0) for instant in local)
    assert {23, 25} <= set(expected.values())
    assert values(found, "local", "n") == {(start,): n for start, n in expected.items()}


def test_windows_before_1970_are_those_of_duckdb(found: pa.Table) -> None:
    with duckdb.connect() as database:
        database.register("old", pa.Table.from_pylist(OLD))
        rows = database.execute(
            f"SELECT w, k, count(*), sum(ms) FROM old, range(-60000 + {OFFSET}, 60000, {SLIDE}) r(w)"
            f" WHERE ms >= w AND ms < w + {SIZE} GROUP BY ALL"
        ).fetchall()
    assert min(w for w, *_ in rows) < -SIZE
    starts = {w: datetime(1970, 1, 1, tzinfo=UTC) + timedelta(milliseconds=w) for w, *_ in rows}
    assert values(found, "old", "n") == {(starts[w], str(k)): n for w, k, n, _ in rows}
    assert values(found, "old", "total") == {(starts[w], str(k)): float(total) for w, k, _, total in rows if total}


def test_rows_without_a_time_are_told_and_end_nothing(found: pa.Table) -> None:
    unreadable = {(row["query"], row["reason"]) for row in found.to_pylist() if row["kind"] == "unreadable"}
    assert unreadable == {("old", "event time is null or cannot be computed")}
    by_time, by_k = (values(found, query, "n") for query in ("by_time", "old"))
    assert len(by_time) > len(by_k)
    assert sum(by_time.values()) == sum(by_k.values())


def test_windows_of_rows_go_by_times_before_1970(found: pa.Table) -> None:
    in_order = sorted(row["ms"] for row in OLD)
    totals = sorted(float(sum(in_order[max(first, 0) : first + 100])) for first in range(-50, 300, 50))
    assert sorted(row["value"] for row in found.to_pylist() if row["query"] == "rows") == totals


def test_pairs_are_those_of_duckdb(found: pa.Table) -> None:
    with duckdb.connect() as database:
        database.register("calls", pa.Table.from_pylist(CALLS))
        database.register("alerts", pa.Table.from_pylist(ALERTS))
        rows = database.execute(
            "SELECT w, count(*) FROM (SELECT greatest(a.ms, b.ms) AS ms FROM calls a JOIN alerts b ON a.k = b.k"
            f"  AND b.ms - a.ms BETWEEN -{W2} AND {W1}), range(-60000 + {OFFSET}, 60000, {SLIDE}) r(w)"
            f" WHERE ms >= w AND ms < w + {SIZE} GROUP BY ALL"
        ).fetchall()
    epoch = datetime(1970, 1, 1, tzinfo=UTC)
    assert values(found, "pairs", "n") == {(epoch + timedelta(milliseconds=w),): n for w, n in rows}
