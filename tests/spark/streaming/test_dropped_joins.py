"""Windows over joins are dropped as the plan says: what is delivered is exact, the others are gaps, none too long."""

from __future__ import annotations

import random
from collections.abc import Callable, Mapping
from itertools import groupby
from pathlib import Path

import duckdb
import pandas as pd
import pyarrow as pa
import pytest
from pyspark.sql import DataFrame, SparkSession

from streamshed.network.network import QueryNetwork, network
from streamshed.network.node import Node
from streamshed.network.sources import folder
from streamshed.network.stream import Stream, stream
from streamshed.spark import query_view
from tests.spark.joined_sides import COLUMNS, JoinSpec, SideSpec, Windows, expected, found
from tests.spark.streaming.files import EPOCH_MICROSECONDS, at, write_parquet
from tests.spark.streaming.forced import force_sampling
from tests.spark.streaming.harness import PATIENCE_SECONDS, Collected, finish, wait_for_micro_batch
from tests.thoroughness import chosen

FILES, ROWS, FILE_SECONDS = 10, 40, 18
SECONDS = FILES * FILE_SECONDS
WATERMARK_SECONDS = 4
SCHEMA = pa.schema([("at", pa.timestamp("us", "UTC")), ("host", pa.string()), ("n", pa.int64())])
SETTINGS = {"trigger": "100 ms", "partitions": 2}

MAX_GAPS = {"plain": 12, "both": 7, "nested": 4}
CASES = {
    "answers with rows": JoinSpec(SideSpec((Windows(10, 5),), least=3), SideSpec(), (15, 5)),
    "rows with answers of answers": JoinSpec(SideSpec(), SideSpec((Windows(4, 2, 1), Windows(9, 3))), (12, 2)),
    "answers with answers": JoinSpec(SideSpec((Windows(20, 20),)), SideSpec((Windows(6, 3),), keyed=False), (9, 9)),
    "rows with rows": JoinSpec(SideSpec(), SideSpec(), (3, 8)),
}


def _rows(seed: int) -> pa.Table:
    """Rows up to four seconds off their place, some without host or number."""
    draws = random.Random(seed)
    rows = []
    for place in range(FILES * ROWS):
        second = place * SECONDS / (FILES * ROWS)
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
            write_parquet(path / name / f"{file:02}.parquet", rows.slice(file * ROWS, ROWS))


def _stream(path: Path, name: str) -> Stream:
    source = folder(path / name, "parquet", schema=COLUMNS, max_files_per_micro_batch=1)
    return stream(name, source, time="at", watermark=f"{WATERMARK_SECONDS} seconds")


def _asked(spec: JoinSpec, path: Path) -> QueryNetwork:
    queries = spec.network(_stream(path, "calls"), _stream(path, "alerts"), only=tuple(MAX_GAPS)).queries
    return network(*[one.aggregate.query(one.name, mode="subset", max_gap=MAX_GAPS[one.name]) for one in queries])  # type: ignore[union-attr]


def _kept_shares(micro_batch_id: int) -> Mapping[str, float]:
    """Nothing is dropped at first, nor at last; in between shares go up and down."""
    if not 1 <= micro_batch_id <= FILES - 3:
        return {}
    return dict.fromkeys(MAX_GAPS, 0.2 if micro_batch_id % 4 else 0.4) | {"both": 0.3}


def _frame(spark: SparkSession, collected: Collected) -> DataFrame:
    """All that was collected; of a table in chunks, Spark reads nothing past an empty one."""
    return spark.createDataFrame(pa.concat_tables(collected.tables.values()).combine_chunks())


def _numbers(spec: JoinSpec, name: str, path: Path) -> Mapping[int, int]:
    """The numbers of windows by their starts."""
    window = _asked(spec, path).query(name).windows[-1]
    slide, offset = window.slide_microseconds, window.offset_microseconds
    starts = range(EPOCH_MICROSECONDS - SECONDS * 1_000_000, EPOCH_MICROSECONDS + 2 * SECONDS * 1_000_000, 1_000_000)
    return {start: (start - offset) // slide for start in starts if (start - offset) % slide == 0}


@pytest.mark.parametrize("case", chosen(CASES, "rows with rows"))
def test_what_is_delivered_is_what_duckdb_finds_and_the_rest_are_gaps_across_a_restart(
    case: str, spark: SparkSession, tmp_path: Path
) -> None:
    spec, collected, path = CASES[case], Collected(), tmp_path / "in"
    queries = _asked(spec, path)
    settings = {"checkpoint": str(tmp_path / "checkpoint"), "sink": collected, **SETTINGS}
    with pytest.MonkeyPatch.context() as patch:
        force_sampling(patch, lambda _: {}, kept_shares=_kept_shares)
        _arrive(path, range(FILES // 2))
        with queries.start(spark, **settings) as run:
            wait_for_micro_batch(run, FILES // 2)
        _arrive(path, range(FILES // 2, FILES))
        last = max(collected.tables)
        with queries.start(spark, **settings) as run:
            wait_for_micro_batch(run, last + FILES // 2 - 1)
            assert run.drain(PATIENCE_SECONDS)
            journal = run.journal()
            assert journal.offered_rows.sum() == 2 * FILES * ROWS
            results = sum(joins["joined"]["results"] for joins in journal.joins if joins)
    of_all = _frame(spark, collected).persist()
    try:
        shown = found({name: query_view(of_all, queries, name).toArrow() for name in MAX_GAPS})
    finally:
        of_all.unpersist()
    wanted = expected(spec, INPUTS)
    for name, max_gap in MAX_GAPS.items():
        rows = collected.rows(name, kind="gap")
        gaps = {EPOCH_MICROSECONDS + int((row.window_start - at(0)).total_seconds() * 1e6) for row in rows}
        assert len(rows) == len(gaps) > 3
        assert {row.reason for row in rows} == {"overload"}
        assert shown[name] == {row: n for row, n in wanted[name].items() if row[0] not in gaps}
        assert len(shown[name]) > 3
        numbers = sorted(_numbers(spec, name, path)[start] for start in gaps)
        runs = [len(list(run)) for _, run in groupby(enumerate(numbers), key=lambda pair: pair[1] - pair[0])]
        assert 1 < max(runs) <= max_gap
    # Rows that no kept window needs find no partners any more.
    assert results < 0.9 * sum(wanted["pairs"].values())


def _writing_down(log: Path) -> Callable[[pd.Series], pd.Series]:
    """A function that writes down which rows it is given."""

    def written(values: pd.Series) -> pd.Series:
        with log.open("a") as lines:
            lines.writelines(f"{value}\n" for value in values.dropna())
        return values

    return written


def test_rows_that_no_kept_window_needs_leave_before_anything_is_done_with_them(
    spark: SparkSession, tmp_path: Path
) -> None:
    """Of both sides, whichever is answers; those that windows need which are kept all come through."""
    path, collected = tmp_path / "in", Collected()
    sides: dict[str, Node] = {}
    for name, rows in INPUTS.items():
        numbered = rows.set_column(2, "n", pa.array(range(rows.num_rows), pa.int64()))
        for file in range(FILES):
            write_parquet(path / name / f"{file:02}.parquet", numbered.slice(file * ROWS, ROWS))
        sides[name] = _stream(path, name).apply(
            _writing_down(tmp_path / name), columns=["n"], into="seen", returns="bigint"
        )
    busy = sides["calls"].window("5 s").by("host").agg(c="count(seen)")
    pairs = busy.join(sides["alerts"], on="host", within=("10 s", "0 s"), name="pairs")
    asked = pairs.window("5 s").agg(n="count(*)", calls="sum(calls_c)", alerts="sum(alerts_seen)")
    queries = network(asked.query("asked", mode="subset", max_gap=12))
    with pytest.MonkeyPatch.context() as patch:
        force_sampling(patch, lambda _: {}, kept_shares=lambda number: {"asked": 0.2 if number else 1.0})
        run = queries.start(spark, checkpoint=str(tmp_path / "checkpoint"), sink=collected, **SETTINGS)
        finish(run, FILES - 1)
    kept = [row.window_start for row in collected.rows("asked") if row.aggregate == "n" and row.rows_used]
    assert len(kept) > 5
    assert len(collected.rows("asked", kind="gap")) > 15
    for name, earlier in {"calls": 10, "alerts": 0}.items():
        seen = {int(number) for number in (tmp_path / name).read_text().split()}
        with duckdb.connect() as database:
            database.register("rows", INPUTS[name].append_column("id", pa.array(range(FILES * ROWS), pa.int64())))
            database.register("kept", pa.table({"start": pa.array(kept, pa.timestamp("us", "UTC"))}))
            needed = database.execute(
                f'SELECT id FROM rows WHERE EXISTS (FROM kept WHERE "at" >= start - INTERVAL {earlier} SECOND'
                ' AND "at" < start + INTERVAL 5 SECOND)'
            ).fetchall()
        assert {number for (number,) in needed} <= seen
        assert len(seen) < 0.7 * FILES * ROWS
