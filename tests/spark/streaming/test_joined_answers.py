"""Joins of answers of windows on streams: every pair once, as DuckDB finds them, and what follows them."""

from __future__ import annotations

import random
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pyarrow as pa
import pytest
from pyspark.sql import DataFrame, SparkSession

from streamshed.errors import IncompatibleCheckpointError
from streamshed.network.network import QueryNetwork, network
from streamshed.network.relation import relation
from streamshed.network.sources import folder
from streamshed.network.stream import Stream, stream
from streamshed.spark import query_view
from tests.spark.joined_sides import COLUMNS, JoinSpec, SideSpec, Windows, expected, found
from tests.spark.streaming.files import EPOCH, at, write_parquet
from tests.spark.streaming.forced import force_sampling
from tests.spark.streaming.harness import (
    PATIENCE_SECONDS,
    QUICK,
    Collected,
    finish,
    wait_for_micro_batch,
    wait_until,
)
from tests.thoroughness import chosen, thorough

FILES, ROWS = 5, 36
SPAN_SECONDS, WATERMARK_SECONDS = 15, 4
SCHEMA = pa.schema([("at", pa.timestamp("us", "UTC")), ("host", pa.string()), ("n", pa.int64())])
SETTINGS = {"trigger": "100 ms", "partitions": 2, "advisory": True}
"""However slow a machine is, nothing is shed: these tests are of full joins."""


def _rows(seed: int) -> pa.Table:
    """Rows up to four seconds off their place, some without host or number."""
    draws = random.Random(seed)
    rows = []
    for place in range(FILES * ROWS):
        second = place * SPAN_SECONDS / ROWS
        rows.append(
            {
                "at": at(max(0.0, round(second - draws.random() * WATERMARK_SECONDS, 1))),
                "host": None if place % 17 == 0 else draws.choice("abcd"),
                "n": None if place % 13 == 0 else draws.randrange(-5, 20),
            }
        )
    return pa.Table.from_pylist(rows, SCHEMA)


INPUTS = {"calls": _rows(1), "alerts": _rows(2)}


def _arrive(path: Path, files: range) -> None:
    for file in files:
        for name, rows in INPUTS.items():
            write_parquet(path / name / f"{file}.parquet", rows.slice(file * ROWS, ROWS))


def _stream(path: Path, name: str, *, idle_after: str = "1 hour") -> Stream:
    source = folder(path / name, "parquet", schema=COLUMNS, max_files_per_micro_batch=1)
    return stream(name, source, time="at", watermark=f"{WATERMARK_SECONDS} seconds", idle_after=idle_after)


def _frame(spark: SparkSession, collected: Collected) -> DataFrame:
    """All that was collected; of a table in chunks, Spark reads nothing past an empty one."""
    return spark.createDataFrame(pa.concat_tables(collected.tables.values()).combine_chunks())


ASKED = ("pairs", "plain", "both", "nested")
CASES = {
    "answers with rows": JoinSpec(SideSpec((Windows(10, 5),), least=3), SideSpec(), (15, 5)),
    "rows with answers of answers": JoinSpec(SideSpec(), SideSpec((Windows(4, 2, 1), Windows(9, 3))), (12, 2)),
    "answers with answers": JoinSpec(SideSpec((Windows(20, 20),)), SideSpec((Windows(6, 3),), keyed=False), (9, 9)),
}


@pytest.mark.parametrize("case", chosen(CASES, "answers with rows"))
def test_a_stream_joins_answers_as_duckdb_does_across_a_restart(case: str, spark: SparkSession, tmp_path: Path) -> None:
    spec, collected = CASES[case], Collected()
    queries = spec.network(_stream(tmp_path / "in", "calls"), _stream(tmp_path / "in", "alerts"), only=ASKED)
    settings = {"checkpoint": str(tmp_path / "checkpoint"), "sink": collected, **SETTINGS}
    _arrive(tmp_path / "in", range(3))
    with queries.start(spark, **settings) as run:
        wait_for_micro_batch(run, 3)
    _arrive(tmp_path / "in", range(3, FILES))
    last = max(collected.tables)
    with queries.start(spark, **settings) as run:
        wait_for_micro_batch(run, last + FILES - 2)
        assert run.drain(PATIENCE_SECONDS)
        assert run.journal().offered_rows.sum() == 2 * FILES * ROWS
        assert run.status().joins["joined"].late_rows == 0
    of_all = _frame(spark, collected).persist()
    try:
        shown = found({name: query_view(of_all, queries, name).toArrow() for name in ASKED})
    finally:
        of_all.unpersist()
    wanted = expected(spec, INPUTS)
    assert sum(wanted["pairs"].values()) > 50
    assert shown == {name: wanted[name] for name in ASKED}
    assert not [row for row in collected if row.kind == "late"]


def test_pairs_are_left_out_under_overload_and_windows_that_may_miss_some_say_so(
    spark: SparkSession, tmp_path: Path
) -> None:
    spec, collected = CASES["answers with rows"], Collected()
    calls, alerts = _stream(tmp_path / "in", "calls"), _stream(tmp_path / "in", "alerts")
    queries = spec.network(calls, alerts, mode="approximate", only=("both",))
    _arrive(tmp_path / "in", range(FILES))
    with pytest.MonkeyPatch.context() as patch:
        force_sampling(patch, lambda _: {}, work_shares=lambda number: {"joined": 0.3 if number in {3, 4} else 1.0})
        run = queries.start(spark, checkpoint=str(tmp_path / "checkpoint"), sink=collected, **QUICK)
        finish(run, FILES)
    wanted = expected(spec, INPUTS)
    counts = {int(str(start)): int(str(n)) for start, n, _ in wanted["both"]}
    told = {row.window_start: row for row in collected.rows("both") if row.aggregate == "n"}
    assert {row.reason for row in told.values() if not row.exact} == {"partly joined"}
    for start, row in told.items():
        full = counts.pop((start - datetime(1970, 1, 1, tzinfo=UTC)) // timedelta(microseconds=1), 0)
        assert row.value == full if row.exact else (row.value or 0) <= full
    assert not counts
    assert 0 < sum(row.value or 0 for row in told.values()) < sum(wanted["pairs"].values())


def _row(second: float, number: int) -> pa.Table:
    return pa.Table.from_pylist([{"at": at(second), "host": "a", "n": number}], SCHEMA)


@thorough
def test_answers_wait_for_their_windows_and_what_is_late_is_counted(spark: SparkSession, tmp_path: Path) -> None:
    """A window closes a minute after an alert that its answer joins; a row that comes later is told, and joins none."""
    calls, alerts = _stream(tmp_path / "in", "calls"), _stream(tmp_path / "in", "alerts")
    counted = calls.window("60 s").by("host").agg(n="count(*)", total="sum(n)")
    pairs = counted.join(alerts, on="host", within=("0 s", "50 s"), name="pairs")
    windows = pairs.window("10 s").agg(n="count(*)", most="max(calls_total)")
    queries, collected = network(windows.query("windows", mode="exact")), Collected()
    settings = {"checkpoint": str(tmp_path / "checkpoint"), "sink": collected, **SETTINGS}

    def come(name: str, file: int, *rows: pa.Table) -> None:
        write_parquet(tmp_path / "in" / name / f"{file}.parquet", pa.concat_tables(rows))

    come("calls", 0, _row(61, 1), _row(62, 2))
    come("alerts", 0, _row(15, 7))
    with queries.start(spark, **settings) as run:
        wait_for_micro_batch(run, 2)
        for file, second in enumerate((110, 130, 200), 1):
            come("calls", file, _row(second, 3))
            come("alerts", file, _row(second, 8))
            wait_for_micro_batch(run, run.status().micro_batch_id + 2)
        # The window of 60 s has closed; what it told stays as it is.
        come("calls", 9, _row(70, 4), _row(71, 5))
        late = run.status().joins["pairs"].late_rows
        wait_for_micro_batch(run, run.status().micro_batch_id + 3)
        assert run.drain(PATIENCE_SECONDS)
        journal = run.journal()
    assert late == 0
    assert sum(joins["pairs"]["late_rows"] for joins in journal.joins if joins) == 2
    starts = [EPOCH + timedelta(seconds=second) for second in (60, 120, 180)]
    answered = {name: collected.values("windows", name) for name in ("n", "most")}
    shown = {start: (n, answered["most"][start]) for start, n in answered["n"].items() if n}
    assert shown == {starts[0]: (1, 6), starts[1]: (1, 3), starts[2]: (1, 3)}


@thorough
def test_a_side_that_is_silent_holds_answers_back_no_longer_than_its_idle_time(
    spark: SparkSession, tmp_path: Path
) -> None:
    calls = _stream(tmp_path / "in", "calls")
    alerts = _stream(tmp_path / "in", "alerts", idle_after="2 s")
    busy = alerts.window("10 s").by("host").agg(n="count(*)")
    pairs = calls.join(busy, on="host", within="10 s", name="pairs")
    counted = pairs.window("1 s").by("calls_n").agg(n="count(*)")
    queries, collected = network(counted.query("counted", mode="exact")), Collected()
    write_parquet(tmp_path / "in" / "alerts" / "0.parquet", _row(12, 1))
    for file, second in enumerate((11, 21, 31, 41)):
        write_parquet(tmp_path / "in" / "calls" / f"{file}.parquet", _row(second, file))
    settings = {"checkpoint": str(tmp_path / "checkpoint"), "sink": collected, **SETTINGS}
    with queries.start(spark, **settings) as run:
        wait_for_micro_batch(run, 4)
        # Nothing is drained: the watermark comes past the window by the side that is not silent.
        wait_until(run, lambda: any(table.num_rows for table in collected.tables.values()), "results")
    told = collected.rows("counted")
    assert [(row.window_start, row.key, row.value) for row in told] == [(EPOCH + timedelta(seconds=11), ("0",), 1)]


@thorough
def test_other_windows_on_a_side_need_a_new_checkpoint(spark: SparkSession, tmp_path: Path) -> None:
    _arrive(tmp_path / "in", range(1))
    settings = {"checkpoint": str(tmp_path / "checkpoint"), "sink": Collected(), **SETTINGS}

    def asked(size: int, name: str = "n") -> QueryNetwork:
        calls, alerts = _stream(tmp_path / "in", "calls"), _stream(tmp_path / "in", "alerts")
        counted = calls.window(f"{size} s").by("host").agg(**{name: "count(*)"})
        return network(
            counted.join(alerts, on="host", within="5 s", name="pairs").window("5 s").agg(n="count(*)").query("n")
        )

    with asked(10).start(spark, **settings) as run:
        wait_for_micro_batch(run, 0)
    for changed in (asked(11), asked(10, "m")):
        with pytest.raises(IncompatibleCheckpointError, match='stream "pairs" was a join'):
            changed.start(spark, **settings)


@thorough
def test_a_relation_by_whose_column_a_side_is_grouped_keeps_its_type(spark: SparkSession, tmp_path: Path) -> None:
    _arrive(tmp_path / "in", range(1))
    settings = {"checkpoint": str(tmp_path / "checkpoint"), "sink": Collected(), **SETTINGS}
    codes = tmp_path / "codes.parquet"

    def asked(kind: pa.DataType) -> QueryNetwork:
        hosts = ["a", "b", "c", "d"]
        write_parquet(codes, pa.table({"host": hosts, "code": pa.array(range(4), kind)}))
        calls, alerts = _stream(tmp_path / "in", "calls"), _stream(tmp_path / "in", "alerts")
        counted = calls.lookup(relation("codes", codes), on="host").window("10 s").by("code").agg(n="count(*)")
        return network(
            counted.join(alerts, on={"code": "n"}, within="5 s", name="pairs")
            .window("5 s")
            .agg(n="count(*)")
            .query("n")
        )

    with asked(pa.int32()).start(spark, **settings) as run:
        wait_for_micro_batch(run, 0)
    with pytest.raises(IncompatibleCheckpointError, match="a side of a join: key 1 was int and is bigint"):
        asked(pa.int64()).start(spark, **settings)


def test_results_themselves_need_a_checkpoint_that_was_made_for_them(spark: SparkSession, tmp_path: Path) -> None:
    _arrive(tmp_path / "in", range(1))
    settings = {"checkpoint": str(tmp_path / "checkpoint"), "sink": Collected(), **SETTINGS}

    def asked(*only: str) -> QueryNetwork:
        calls, alerts = _stream(tmp_path / "in", "calls"), _stream(tmp_path / "in", "alerts")
        return CASES["answers with rows"].network(calls, alerts, only=only)

    with asked("plain").start(spark, **settings) as run:
        wait_for_micro_batch(run, 0)
    with pytest.raises(IncompatibleCheckpointError, match='needs the state family "answer_rows"'):
        asked("plain", "pairs").start(spark, **settings)
