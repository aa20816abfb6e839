"""Windows along numbers: the last so many rows, whole and sampled, on a stream that numbers its rows."""

from __future__ import annotations

import json
from itertools import pairwise
from pathlib import Path
from typing import Any

import duckdb
import pyarrow as pa
import pytest
from pyspark.sql import SparkSession

from streamshed.network.network import QueryNetwork, network
from streamshed.network.sources import folder
from streamshed.network.stream import stream
from streamshed.planning.quantization import WHOLE
from streamshed.spark import answers, query_view
from tests.spark.streaming.files import write_lines, write_parquet
from tests.spark.streaming.forced import force_sampling
from tests.spark.streaming.harness import PATIENCE_SECONDS, QUICK, Collected, wait_for_micro_batch

FILES, ROWS = 6, 200
BURST_FILES = 11
SIZE, SLIDE = 100, 25
DISORDER = 10
SHED = {0: 10, 1: 22, 2: 10}
"""Codes of the rates at which the rows of a file are kept."""


def _trades() -> pa.Table:
    """Rows numbered from 0, each up to the watermark too early or too late, with one that has no number."""
    order = sorted(range(FILES * ROWS), key=lambda number: number + (number * 7919) % DISORDER)
    values = [(number * 31) % 101 for number in order]
    return pa.table({"number": pa.array(order, pa.int64()), "v": pa.array(values, pa.int64())})


def _arrive(path: Path, trades: pa.Table) -> None:
    for file in range(FILES):
        write_parquet(path / f"{file}.parquet", trades.slice(file * ROWS, ROWS))
    unreadable = pa.table({"number": pa.array([None, 2**62], pa.int64()), "v": pa.array([1, 1], pa.int64())})
    write_parquet(path / "unreadable.parquet", unreadable)


def _network(path: Path) -> QueryNetwork:
    trades = stream(
        "trades",
        folder(path, "parquet", schema="number bigint, v bigint", max_files_per_micro_batch=1),
        number="number",
        watermark=DISORDER,
    )
    odd = trades.filter("v % 2 = 1")
    return network(
        trades.window(SIZE, every=SLIDE).agg(n="count(*)", total="sum(v)").query("all"),
        odd.window(SIZE).agg(n="count(*)", total="sum(v)").query("odd"),
    )


def _expected(trades: pa.Table, condition: str, slide: int) -> list[tuple[object, ...]]:
    """What DuckDB answers."""
    with duckdb.connect() as database:
        database.register("trades", trades)
        return database.execute(
            f"SELECT k, k + {SIZE}, count(v), sum(v) FROM trades, range({slide - SIZE}, {FILES * ROWS}, {slide}) w(k)"
            f" WHERE number >= k AND number < k + {SIZE} AND {condition} GROUP BY k ORDER BY k"
        ).fetchall()


def _shown(collected: Collected, query: str) -> list[tuple[object, ...]]:
    found: dict[tuple[object, object], dict[str, float]] = {}
    for table in collected.tables.values():
        for row in table.to_pylist():
            if (row["kind"], row["query"]) == ("answer", query):
                assert row["exact"]
                assert row["window_start"] is None
                assert row["window_end"] is None
                window = (row["window_from"], row["window_until"])
                values = found.setdefault(window, {})
                assert row["aggregate"] not in values, f"{query}: {window} was answered twice"
                values[row["aggregate"]] = row["value"]
    return [(*window, values["n"], values["total"]) for window, values in sorted(found.items(), key=repr)]


@pytest.mark.parametrize(("query", "condition", "slide"), [("all", "true", SLIDE), ("odd", "v % 2 = 1", SIZE)])
def test_batch_mode_answers_as_duckdb_does(
    spark: SparkSession, tmp_path: Path, query: str, condition: str, slide: int
) -> None:
    trades = _trades()
    _arrive(tmp_path / "in", trades)
    queries = _network(tmp_path / "in")
    found_all = answers(queries, spark)
    unreadable = found_all.where("kind = 'unreadable'").select("reason").collect()
    assert {row.reason for row in unreadable} == {"number is null", "number is beyond 62000000000000"}
    view = query_view(found_all, queries, query)
    assert view.columns[:2] == ["window_from", "window_until"]
    found = view.select("window_from", "window_until", "n", "total").orderBy("window_from").collect()
    assert [tuple(row) for row in found] == _expected(trades, condition, slide)


def test_a_stream_answers_as_duckdb_does(spark: SparkSession, tmp_path: Path) -> None:
    trades = _trades()
    _arrive(tmp_path / "in", trades)
    collected = Collected()
    settings = {"checkpoint": str(tmp_path / "checkpoint"), "sink": collected, **QUICK}
    with _network(tmp_path / "in").start(spark, **settings) as run:
        wait_for_micro_batch(run, FILES)
        assert run.drain(PATIENCE_SECONDS)
        assert run.status().unreadable_rows == 2
    for query, condition, slide in (("all", "true", SLIDE), ("odd", "v % 2 = 1", SIZE)):
        shown = {row[:2]: row for row in _shown(collected, query)}
        expected = {row[:2]: row for row in _expected(trades, condition, slide)}
        assert {window: shown[window] for window in expected} == expected
        assert {row[2] for window, row in shown.items() if window not in expected} <= {0.0}


def test_what_was_shed_is_known_though_nobody_read_its_numbers(spark: SparkSession, tmp_path: Path) -> None:
    """Text has no footers: until later rows say how far numbers had come, no window may be called exact."""
    for file in range(BURST_FILES):
        lines = [json.dumps({"number": file * ROWS + index, "v": 1}) for index in range(ROWS)]
        write_lines(tmp_path / "in" / f"{file}.json", lines)
    source = folder(tmp_path / "in", "json", schema="number bigint, v bigint", max_files_per_micro_batch=1)
    trades = stream("trades", source, number="number", identity=["number"])
    queries = network(trades.window(SIZE).agg(n="count(*)").query("q"))
    collected = Collected()
    # With so much confidence no bound is missed by chance.
    settings = {"checkpoint": str(tmp_path / "checkpoint"), "sink": collected, "confidence": 1 - 1e-6, **QUICK}
    with pytest.MonkeyPatch.context() as patch:
        force_sampling(patch, lambda number: {"trades": SHED.get(number, WHOLE)})
        run = queries.start(spark, **settings)
    with run:
        wait_for_micro_batch(run, BURST_FILES - 1)
        assert run.drain(PATIENCE_SECONDS)
    journal = run.journal()
    fed = journal[journal.offered_rows > 0].reset_index()
    shed = [file for file, share in enumerate(fed.sampling_rate) if share < 1]
    assert shed == list(SHED)
    rows = [row for table in collected.tables.values() for row in table.to_pylist() if row["kind"] == "answer"]
    by_file: dict[int, list[dict[str, Any]]] = {}
    for row in rows:
        by_file.setdefault(row["window_from"] // ROWS, []).append(row)
    for file in shed:
        assert all(not row["exact"] for row in by_file[file])
        assert sum(row["rows_used"] for row in by_file[file]) < ROWS
        assert all(row["lower"] <= SIZE <= row["upper"] for row in by_file[file])
    for file in range(shed[-1] + 2, BURST_FILES):
        assert [(row["exact"], row["value"]) for row in by_file[file]] == [(True, SIZE)] * (ROWS // SIZE)


def test_windows_along_numbers_are_dropped_whole(spark: SparkSession, tmp_path: Path) -> None:
    """Text tells no numbers beforehand: they are taken to go on as they did; what lies beyond is decided on later."""
    for file in range(BURST_FILES):
        lines = [json.dumps({"number": file * ROWS + index, "v": index}) for index in range(ROWS)]
        write_lines(tmp_path / "in" / f"{file}.json", lines)
    source = folder(tmp_path / "in", "json", schema="number bigint, v bigint", max_files_per_micro_batch=1)
    trades = stream("trades", source, number="number", identity=["number"])
    asked = trades.window(SLIDE).agg(n="count(*)", top="max(v)").query("q", mode="subset", max_gap=3)
    collected = Collected()
    with pytest.MonkeyPatch.context() as patch:
        force_sampling(patch, lambda _: {}, kept_shares=lambda micro_batch: {"q": 0.4 if micro_batch < 9 else 1.0})
        run = network(asked).start(spark, checkpoint=str(tmp_path / "checkpoint"), sink=collected, **QUICK)
    with run:
        wait_for_micro_batch(run, BURST_FILES - 1)
        assert run.drain(PATIENCE_SECONDS)
    rows = [row for table in collected.tables.values() for row in table.to_pylist()]
    gaps = sorted(row["window_from"] for row in rows if row["kind"] == "gap")
    assert 5 <= len(gaps) == len(set(gaps))
    assert all(row["window_until"] == row["window_from"] + SLIDE for row in rows if row["kind"] == "gap")
    tops = {row["window_from"]: row for row in rows if row["kind"] == "answer" and row["aggregate"] == "top"}
    everything = range(0, BURST_FILES * ROWS, SLIDE)
    assert not tops.keys() & set(gaps)
    assert set(everything) <= tops.keys() | set(gaps)
    for start in everything:
        if start in tops:
            assert (tops[start]["exact"], tops[start]["value"]) == (True, start % ROWS + SLIDE - 1)
    longest = max(b - a for a, b in pairwise(sorted(tops.keys() & set(everything))))
    assert longest <= (3 + 1) * SLIDE
