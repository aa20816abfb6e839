"""Windows of the last so many rows of each group: as DuckDB answers them, whatever order rows come in."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from decimal import Decimal
from pathlib import Path

import duckdb
import pyarrow as pa
import pytest
from pyspark.sql import SparkSession

from streamshed.errors import IncompatibleCheckpointError
from streamshed.network.aggregate import user_aggregate
from streamshed.network.network import QueryNetwork, network
from streamshed.network.sources import folder
from streamshed.network.stream import stream
from streamshed.spark import answers, query_view
from tests.spark.streaming.files import write_parquet
from tests.spark.streaming.harness import PATIENCE_SECONDS, QUICK, Collected, wait_for_micro_batch

FILES, ROWS = 4, 120
SIZE, SLIDE = 20, 5
BEGIN = datetime(2024, 1, 1, tzinfo=UTC)
SCHEMA = "at timestamp, host string, v bigint, price decimal(10,2)"


class Ordered:
    """The last value less the first: rows in another order would tell."""

    def init(self) -> list[int]:
        return []

    def incr(self, state: list[int], value: int) -> list[int]:
        return [*state, value]

    def final(self, state: list[int]) -> int:
        return state[-1] - state[0]


def _rows() -> pa.Table:
    """Four rows share a second, groups differ in size, one has no name; each row comes up to 12 rows off its place."""
    order = sorted(range(FILES * ROWS), key=lambda number: number + (number * 7919) % 12)
    hosts = [None if number % 37 == 0 else "abc"[(number * number) % 5 % 3] for number in order]
    return pa.table(
        {
            "at": pa.array([BEGIN + timedelta(seconds=number // 4) for number in order], pa.timestamp("us", "UTC")),
            "host": pa.array(hosts, pa.string()),
            "v": pa.array([(number * 7907) % 10_007 for number in order], pa.int64()),
            "price": pa.array([Decimal(number % 97) / 4 for number in order], pa.decimal128(10, 2)),
        }
    )


def _arrive(path: Path, rows: pa.Table, files: range) -> None:
    for file in files:
        write_parquet(path / f"{file}.parquet", rows.slice(file * ROWS, ROWS))


def _network(path: Path, *, beside: bool = True) -> QueryNetwork:
    source = folder(path, "parquet", schema=SCHEMA, max_files_per_micro_batch=1)
    rows = stream("rows", source, time="at", watermark="4 seconds")
    windows = rows.filter("v % 7 <> 3").window(f"{SIZE} rows", every=f"{SLIDE} rows")
    by_host = windows.by("host").agg(
        n="count(*)",
        total="sum(v)",
        paid="sum(price)",
        top="max(host)",
        middle="median(v)",
        spread="stddev(v)",
        moved=user_aggregate(Ordered, columns=["v"], returns="bigint"),
    )
    in_time = rows.window("20 seconds").agg(n="count(*)").query("in_time")
    return network(by_host.query("by_host"), *([in_time] if beside else []))


def _expected(rows: pa.Table) -> list[tuple[object, ...]]:
    """What DuckDB answers; of one time, rows are in the order of their values as texts."""
    with duckdb.connect() as database:
        database.register("rows", rows)
        return database.execute(
            "WITH numbered AS (SELECT *, row_number() OVER"
            ' (PARTITION BY host ORDER BY "at", CAST(v AS VARCHAR)) - 1 AS n FROM rows WHERE v % 7 <> 3)'
            f" SELECT host, k, k + {SIZE}, count(*), sum(v)::BIGINT, sum(price)::VARCHAR, max(host),"
            " quantile_disc(v, 0.5)::DOUBLE, round(stddev(v), 6), arg_max(v, n) - arg_min(v, n)"
            f" FROM numbered, range({SLIDE - SIZE}, {FILES * ROWS}, {SLIDE}) w(k)"
            f" WHERE n >= k AND n < k + {SIZE} GROUP BY host, k ORDER BY host NULLS FIRST, k"
        ).fetchall()


def _shown(collected: Collected) -> list[tuple[object, ...]]:
    found: dict[tuple[object, ...], dict[str, object]] = {}
    for row in (row for table in collected.tables.values() for row in table.to_pylist()):
        if (row["kind"], row["query"]) != ("answer", "by_host"):
            continue
        assert row["exact"]
        assert row["window_start"] is None
        values = found.setdefault((row["key"][0], row["window_from"], row["window_until"]), {})
        assert row["aggregate"] not in values, "a window was answered twice"
        is_text = row["aggregate"] in {"paid", "top"}
        values[row["aggregate"]] = row["value_text"] if is_text else row["value"]
    names = ("n", "total", "paid", "top", "middle", "spread", "moved")
    told = [(*window, *(values[name] for name in names)) for window, values in found.items()]
    rounded = [tuple(round(value, 6) if isinstance(value, float) else value for value in row) for row in told]
    return sorted(rounded, key=lambda row: (row[0] is not None, row[:2]))


def test_batch_mode_answers_as_duckdb_does(spark: SparkSession, tmp_path: Path) -> None:
    rows = _rows()
    _arrive(tmp_path, rows, range(FILES))
    queries = _network(tmp_path)
    view = query_view(answers(queries, spark), queries, "by_host")
    assert view.columns[:3] == ["window_from", "window_until", "host"]
    names = ("host", "window_from", "window_until", "n", "total", "paid", "top", "middle", "spread", "moved")
    found = [tuple(row[name] for name in names) for row in view.collect()]
    told = [
        (*row[:5], str(row[5]), *row[6:8], round(row[8], 6) if row[8] is not None else None, row[9]) for row in found
    ]
    assert sorted(told, key=lambda row: (row[0] is not None, row[:2])) == _expected(rows)


def test_a_stream_answers_as_duckdb_does_across_a_restart(spark: SparkSession, tmp_path: Path) -> None:
    rows = _rows()
    _arrive(tmp_path / "in", rows, range(2))
    late = pa.table({"at": rows["at"].slice(0, 2), **{name: rows[name].slice(0, 2) for name in ("host", "v", "price")}})
    collected = Collected()
    settings = {"checkpoint": str(tmp_path / "checkpoint"), "sink": collected, **QUICK, "partitions": 2}
    with _network(tmp_path / "in").start(spark, **settings) as run:
        wait_for_micro_batch(run, 2)
    _arrive(tmp_path / "in", rows, range(2, FILES))
    write_parquet(tmp_path / "in" / "late.parquet", late)
    last = max(collected.tables)
    with _network(tmp_path / "in", beside=False).start(spark, **settings) as run:
        wait_for_micro_batch(run, last + FILES - 1)
        assert run.drain(PATIENCE_SECONDS)
        assert run.journal().offered_rows.sum() == FILES * ROWS + 2
        assert run.journal().late_pairs.sum() == len([v for v in late["v"].to_pylist() if v % 7 != 3])
    assert _shown(collected) == _expected(rows)


def test_a_checkpoint_that_was_not_made_for_them_is_refused(spark: SparkSession, tmp_path: Path) -> None:
    _arrive(tmp_path / "in", _rows(), range(1))
    queries = _network(tmp_path / "in")
    settings = {"checkpoint": str(tmp_path / "checkpoint"), "sink": Collected(), **QUICK}
    with network(queries.query("in_time")).start(spark, **settings) as run:
        wait_for_micro_batch(run, 0)
    with pytest.raises(IncompatibleCheckpointError, match='the state family "count_windows"'):
        queries.start(spark, **settings)
