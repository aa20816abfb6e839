"""Bounds of gaps that cannot all be kept: a query is shut down, by name, the other goes on, and it comes back."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from itertools import groupby
from pathlib import Path

import duckdb
import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
from pyspark.sql import SparkSession

from streamshed.network.model.declared_stream import stream
from streamshed.network.model.network import QueryNetwork, network
from streamshed.network.source.sources import folder
from streamshed.planning.window_drop.choose.drop_plan import PATIENCE
from streamshed.spark.checkpoint.answer_files import ANSWERS_FOLDER, AnswerFiles
from streamshed.spark.checkpoint.storage import Storage
from tests.spark.event_times import EPOCH_MICROSECONDS, at, seconds_of
from tests.spark.files import write_parquet
from tests.spark.harness import Collected, finish
from tests.spark.streaming.calibrated import calibrate
from tests.spark.streaming.slow_machine import Machine, run_on

TRIGGER_SECONDS = 0.1
MACHINE = Machine(fixed_seconds=0.03, seconds_per_row=1e-5)
CALM, EASIER, BUSY = 2000, 7000, 20_000
ROWS = (CALM,) * 2 + (BUSY,) * 7 + (EASIER,) * 8 + (CALM,) * 2
"""By file. All of a busy one takes twice the time there is, and the fewest windows half more than that; of one that is
easier the fewest fit, and not all; all of a calm one do."""

FILE_SECONDS = 2
WINDOWS = FILE_SECONDS * len(ROWS)
MAX_GAPS = {"often": 4, "seldom": 1}
CONDITIONS = {"often": "v < 5", "seldom": "v >= 5"}


@dataclass(frozen=True)
class Outcome:
    """What was answered, what it should have been, and the journal."""

    collected: Collected
    expected: Mapping[str, Mapping[int, float]]
    journal: pd.DataFrame
    answer_files: AnswerFiles

    def gaps(self, query: str) -> dict[int, str | None]:
        """By second, the windows that were missed, and why."""
        return {round(seconds_of(row.window_start)): row.reason for row in self.collected.rows(query, kind="gap")}

    def kept(self, query: str) -> list[float]:
        """By micro-batch, the share of its windows that a query was to keep."""
        return [told[query] for told in self.journal["kept_shares"][: len(ROWS)]]


def _network(path: Path) -> QueryNetwork:
    source = folder(path / "in", "parquet", schema="ts timestamp, v bigint", max_files_per_micro_batch=1)
    rows = stream("events", source, time="ts", watermark="1 second")
    asked = {name: rows.filter(told).window("1 second").agg(total="sum(v)") for name, told in CONDITIONS.items()}
    return network(
        asked["often"].query("often", mode="subset", max_gap=MAX_GAPS["often"], weight=4),
        asked["seldom"].query("seldom", mode="subset", max_gap=MAX_GAPS["seldom"]),
    )


def _rows(file: int) -> pa.Table:
    numbers = np.arange(ROWS[file])
    instants = EPOCH_MICROSECONDS + FILE_SECONDS * 1_000_000 * (file * ROWS[file] + numbers) // ROWS[file]
    return pa.table({"ts": pa.array(instants, pa.timestamp("us", "UTC")), "v": numbers * 7919 % 10})


@pytest.fixture(scope="module")
def outcome(spark: SparkSession, tmp_path_factory: pytest.TempPathFactory) -> Outcome:
    path = tmp_path_factory.mktemp("shut_down")
    files = [_rows(file) for file in range(len(ROWS))]
    for number, rows in enumerate(files):
        write_parquet(path / "in" / f"{number:02}.parquet", rows)
    queries, collected = _network(path), Collected()
    calibrate(
        queries,
        path / "checkpoint" / "time" / "control.json",
        fixed_seconds=MACHINE.fixed_seconds,
        seconds_per_row=MACHINE.seconds_per_row,
        rows_of=[0, CALM, BUSY // 2, BUSY],
        trigger_interval_seconds=TRIGGER_SECONDS,
    )
    with pytest.MonkeyPatch.context() as patch:
        run_on(patch, MACHINE)
        run = queries.start(
            spark,
            checkpoint=str(path / "checkpoint"),
            sink=collected,
            trigger=f"{TRIGGER_SECONDS} seconds",
            partitions=1,
        )
    finish(run, len(ROWS) - 1)
    answer_files = AnswerFiles(Storage.reached(str(path / "checkpoint" / "time" / ANSWERS_FOLDER)))
    return Outcome(collected, _expected(pa.concat_tables(files)), run.journal(), answer_files)


def _expected(rows: pa.Table) -> dict[str, dict[int, float]]:
    second = f"(epoch_us(ts) - {EPOCH_MICROSECONDS}) // 1000000"
    with duckdb.connect() as database:
        database.register("fed", rows)
        return {
            name: dict(database.execute(f"SELECT {second}, sum(v) FROM fed WHERE {told} GROUP BY ALL").fetchall())
            for name, told in CONDITIONS.items()
        }


def test_the_query_that_misses_few_is_shut_down_when_the_bounds_could_not_be_kept_for_long(outcome: Outcome) -> None:
    least = 1 / (1 + MAX_GAPS["seldom"])
    first, busy = outcome.kept("seldom").index(0.0), ROWS.index(BUSY)
    assert first == busy + PATIENCE - 1
    assert outcome.kept("seldom")[busy:first] == pytest.approx([least] * (PATIENCE - 1))
    assert min(outcome.kept("often")) >= 1 / (1 + MAX_GAPS["often"])


def test_gaps_lie_beside_the_journal(outcome: Outcome) -> None:
    answers = [answer for document in outcome.answer_files.since(-1) for answer in document["answers"]]
    for query in MAX_GAPS:
        gaps = [answer for answer in answers if answer["kind"] == "gap" and answer["query"] == query]
        seconds = {round(gap["window_start"] - EPOCH_MICROSECONDS / 1e6): gap["reason"] for gap in gaps}
        assert seconds == outcome.gaps(query)


def test_the_journal_tells_who_and_why(outcome: Outcome) -> None:
    for kept, told in zip(outcome.kept("seldom"), outcome.journal["explanation"], strict=False):
        assert ("shut down, as gaps of all queries cannot be kept within their max_gap: seldom" in told) == (kept == 0)


def test_it_comes_back_when_all_fit_again_for_long_enough(outcome: Outcome) -> None:
    kept, easier = outcome.kept("seldom"), ROWS.index(EASIER)
    back = easier + PATIENCE - 1
    assert kept[ROWS.index(BUSY) + PATIENCE - 1 : back] == [0.0] * (back - ROWS.index(BUSY) - PATIENCE + 1)
    assert all(share >= 1 / (1 + MAX_GAPS["seldom"]) for share in kept[back:])
    assert 0 < kept[back] < 1
    assert kept[-1] == 1


def test_its_gaps_say_that_it_was_shut_down_and_no_others_do(outcome: Outcome) -> None:
    """Those that were open as it was shut down, unless they had been dropped before, and all until it comes back."""
    shut = [second for second, reason in outcome.gaps("seldom").items() if reason == "shut down"]
    first, last = ROWS.index(BUSY) + PATIENCE - 1, ROWS.index(EASIER) + PATIENCE - 2
    begins, ends = first * FILE_SECONDS, (last + 1) * FILE_SECONDS
    assert [second for second in shut if second >= begins] == list(range(begins, ends))
    assert set(range(shut[0], begins)) <= outcome.gaps("seldom").keys()
    assert shut[0] >= begins - 2 * FILE_SECONDS
    assert set(outcome.gaps("often").values()) == {"overload"}


def test_no_gap_is_longer_than_allowed_but_the_one_for_which_it_was_shut_down(outcome: Outcome) -> None:
    for query, most in MAX_GAPS.items():
        missed = [second for second, reason in outcome.gaps(query).items() if reason != "shut down"]
        assert missed
        runs = groupby(enumerate(missed), key=lambda pair: pair[1] - pair[0])
        assert max(len(list(run)) for _, run in runs) <= most


def test_every_window_is_a_gap_or_answered_exactly(outcome: Outcome) -> None:
    for query, expected in outcome.expected.items():
        told = {at(second): total for second, total in expected.items() if second not in outcome.gaps(query)}
        assert outcome.collected.values(query, "total") == told
        assert len(told) + len(outcome.gaps(query)) == WINDOWS
