"""Joins whose results are worth something: in part, the join gives what is worth most, and the weight may change."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from pathlib import Path

import duckdb
import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
from pyspark.sql import SparkSession

from streamshed.errors import InvalidExpressionError
from streamshed.network.network import QueryNetwork, network
from streamshed.network.sources import folder
from streamshed.network.stream import stream
from streamshed.spark import query_view
from tests.spark.streaming.files import EPOCH_MICROSECONDS, write_parquet
from tests.spark.streaming.forced import force_sampling
from tests.spark.streaming.harness import QUICK, Collected, finish, wait_for_micro_batch

FILES, ROWS, FILE_SECONDS = 6, 400, 10
PARTLY = {2: 0.15, 3: 0.15}
"""The share of the full join that micro-batches, one a file, may spend."""
BEFORE_RESTART = 4
WITHIN_SECONDS = 6
CHEAP_LAGS_SECONDS, DEAR_LAGS_SECONDS = (0.0, 3.5), (4.1, 5.9)
SCHEMA = "at timestamp, id bigint, pair bigint, cost double, note string"


def _rows(side: int) -> pa.Table:
    """A pair for each left row, soon after it or, of one in ten, late: these are worth a hundred times as much."""
    chance = np.random.default_rng(1)
    count = FILES * ROWS
    step = FILE_SECONDS * 1_000_000 // ROWS
    is_dear = chance.random(count) < 0.1
    times = EPOCH_MICROSECONDS + step * np.arange(count)
    if side:
        lags = np.where(is_dear, chance.uniform(*DEAR_LAGS_SECONDS, count), chance.uniform(*CHEAP_LAGS_SECONDS, count))
        times = times + (1_000_000 * lags).astype(np.int64) + 1
    rows = pa.table(
        {
            "at": pa.array(times, pa.timestamp("us", "UTC")),
            "id": np.arange(count) + 10_000 * side,
            "pair": np.arange(count),
            "cost": np.where(is_dear, 10.0, 1.0),
            "note": pa.array(["a" * (one % 3 + 1) for one in range(count)]),
        }
    )
    return rows.sort_by("at")


def _arrive(path: Path, files: range) -> None:
    for name, rows in (("calls", _rows(0)), ("alerts", _rows(1))):
        for file in files:
            write_parquet(path / name / f"{file}.parquet", rows.slice(file * ROWS, ROWS))


def _network(path: Path, weight: str) -> QueryNetwork:
    calls, alerts = (
        stream(name, folder(path / name, "parquet", schema=SCHEMA, max_files_per_micro_batch=1), time="at")
        for name in ("calls", "alerts")
    )
    pairs = calls.join(alerts, on="pair", within=f"{WITHIN_SECONDS} s", basic_window="1 s", weight=weight, name="pairs")
    return network(pairs.query("pairs"), pairs.window("2 seconds").agg(n="count(*)").query("windows"))


@dataclass(frozen=True)
class Joined:
    """What came, what there was, and the journal."""

    pairs: Counter[int]
    file_of: dict[int, int]
    worth: dict[int, float]
    journal: pd.DataFrame


@pytest.fixture(scope="module")
def joined(spark: SparkSession, tmp_path_factory: pytest.TempPathFactory) -> Joined:
    path = tmp_path_factory.mktemp("weighed")
    _arrive(path / "in", range(BEFORE_RESTART))
    collected, queries = Collected(), _network(path / "in", "calls_cost * (alerts_cost + 0 * length(alerts_note))")
    settings = {"checkpoint": str(path / "checkpoint"), "sink": collected, **QUICK}
    with pytest.MonkeyPatch.context() as patch:
        force_sampling(patch, lambda _: {}, work_shares=lambda number: {"pairs": PARTLY.get(number, 1.0), "calls": 1.0})
        with queries.start(spark, **settings) as run:
            wait_for_micro_batch(run, BEFORE_RESTART - 1)
        _arrive(path / "in", range(BEFORE_RESTART, FILES))
        run = _network(path / "in", "length(calls_note)").start(spark, **settings)
        finish(run, max(collected.tables) + FILES - BEFORE_RESTART)
    frame = spark.createDataFrame(pa.concat_tables(collected.tables.values()).combine_chunks())
    view = query_view(frame, queries, "pairs").toArrow()
    with duckdb.connect() as database:
        database.register("l", _rows(0))
        database.register("r", _rows(1))
        every = database.execute(
            f"WITH a AS (SELECT *, (row_number() OVER (ORDER BY l.at) - 1) // {ROWS} AS file FROM l),"
            f" b AS (SELECT *, (row_number() OVER (ORDER BY r.at) - 1) // {ROWS} AS file FROM r)"
            " SELECT a.id, greatest(a.file, b.file), a.cost * b.cost FROM a JOIN b ON a.pair = b.pair"
            f" AND abs(epoch_us(b.at) - epoch_us(a.at)) <= {WITHIN_SECONDS * 1_000_000}"
        ).fetchall()
    return Joined(
        Counter(view["calls_id"].to_pylist()),
        {call: file for call, file, _ in every},
        {call: worth for call, _, worth in every},
        run.journal().set_index("micro_batch_id"),
    )


def test_pairs_are_pairs_of_the_full_join_each_once_and_all_where_all_is_joined(joined: Joined) -> None:
    assert set(joined.pairs) <= set(joined.worth)
    assert set(joined.pairs.values()) == {1}
    missing = set(joined.worth) - set(joined.pairs)
    assert {joined.file_of[one] for one in missing} == set(PARTLY)


def test_what_is_done_of_the_join_is_what_is_worth_most(joined: Joined) -> None:
    """By results alone the many of short lags would come first, and of the weight there would be a smaller share."""
    own = [call for call, file in joined.file_of.items() if file in PARTLY]
    found = [call for call in own if call in joined.pairs]
    of_weight = sum(joined.worth[call] for call in found) / sum(joined.worth[call] for call in own)
    assert of_weight > 0.6
    assert of_weight > 1.1 * len(found) / len(own)


def test_the_journal_tells_what_results_were_worth(joined: Joined) -> None:
    told = {number: row["pairs"] for number, row in joined.journal.joins.items() if row}
    for file in range(BEFORE_RESTART):
        own = [joined.worth[call] for call, of in joined.file_of.items() if of == file and call in joined.pairs]
        assert told[file]["results"] == len(own)
        assert told[file]["weight"] == pytest.approx(sum(own))
    later = [one for _, one in sorted(told.items())[BEFORE_RESTART:] if one["results"]]
    assert later
    assert all(0 < one["weight"] <= 3 * one["results"] for one in later)
    yields = told[1]["yields"][:WITHIN_SECONDS]
    assert yields.index(max(yields)) in {4, 5}


def test_a_weight_that_is_no_number_is_refused_before_anything_runs(spark: SparkSession, tmp_path: Path) -> None:
    _arrive(tmp_path / "in", range(1))
    queries = _network(tmp_path / "in", "split(calls_note, 'b')")
    with pytest.raises(InvalidExpressionError, match=r"the weight of a join, .*: Spark says: "):
        queries.start(spark, checkpoint=str(tmp_path / "checkpoint"), sink=Collected(), **QUICK)
