"""Overloaded by any measure: what may be shed is, what must be whole stays whole, and the plan says for whom."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import pandas as pd
import pytest
from pyspark.sql import SparkSession

from streamshed.network.model.declared_stream import stream
from streamshed.network.model.network import network
from streamshed.network.model.rows import Rows
from streamshed.network.run.load_prior import LoadPrior
from streamshed.network.source.sources import folder
from streamshed.page.known_run import KnownRunReader
from streamshed.spark.checkpoint.answer_files import ANSWERS_FOLDER, AnswerFiles
from streamshed.spark.checkpoint.storage import Storage
from streamshed.statistics.network_statistics import NetworkStatistics
from tests.spark.event_times import at
from tests.spark.files import timed_values, write_parquet
from tests.spark.harness import Collected, finish

FILES = 3
FILE_SECONDS = 20
ROWS = FILE_SECONDS * 10
SECONDS_PER_ROW = 0.01
TRIGGER_SECONDS = 2.0
NAMES = ("exact", "extremes", "shed", "subset")


@dataclass(frozen=True)
class Overloaded:
    """What was answered by a network whose rows are believed to be dear, and what it left."""

    collected: Collected
    journal: pd.DataFrame
    checkpoint: Path
    statistics: NetworkStatistics


@pytest.fixture(scope="module")
def overloaded(spark: SparkSession, tmp_path_factory: pytest.TempPathFactory) -> Overloaded:
    path = tmp_path_factory.mktemp("overloaded")
    for name in NAMES:
        for number in range(FILES):
            seconds = [number * FILE_SECONDS + index / 10 for index in range(ROWS)]
            write_parquet(path / name / f"{number}.parquet", timed_values(seconds, list(range(len(seconds)))))
    exact, extremes, shed, subset = (_stream(path, name) for name in NAMES)
    queries = network(
        exact.window("10 seconds").agg(n="count(*)").query("exact", mode="exact"),
        exact.window("10 seconds").agg(n="count(*)").query("beside_exact"),
        extremes.window("10 seconds").agg(most="max(v)", spread="var_pop(v)").query("extremes"),
        shed.window("10 seconds").agg(n="count(*)").query("shed"),
        subset.window("10 seconds").agg(n="count(*)").query("subset", mode="subset", max_gap=0),
    )
    collected = Collected()
    dear = LoadPrior(fixed_seconds=0.2, seconds_per_row=SECONDS_PER_ROW)
    settings = {"unscalable": "keep", "prior": dear, "trigger": f"{TRIGGER_SECONDS} seconds", "partitions": 1}
    run = queries.start(spark, checkpoint=str(path / "checkpoint"), sink=collected, **settings)
    finish(run, FILES)
    return Overloaded(collected, run.journal(), path / "checkpoint", run.statistics())


def _stream(path: Path, name: str) -> Rows:
    source = folder(path / name, "parquet", max_files_per_micro_batch=1)
    return stream(name, source, time="ts", watermark="1 second")


def _starts() -> list[float]:
    return [10.0 * index for index in range(FILES * FILE_SECONDS // 10)]


def test_streams_of_exact_and_subset_queries_are_whole(overloaded: Overloaded) -> None:
    for query in ("exact", "beside_exact", "subset"):
        assert overloaded.collected.values(query, "n") == dict.fromkeys(map(at, _starts()), 100.0)
        assert all(row.exact for row in overloaded.collected.rows(query))


def test_aggregates_that_cannot_be_scaled_are_computed_from_all_rows(overloaded: Overloaded) -> None:
    rows = overloaded.collected.rows("extremes")
    assert {row.exact for row in rows} == {True}
    most = [99.0, 199.0] * FILES
    assert overloaded.collected.values("extremes", "most") == dict(zip(map(at, _starts()), most, strict=True))
    spreads = overloaded.collected.values("extremes", "spread").values()
    assert list(spreads) == pytest.approx([(100**2 - 1) / 12] * len(most))


def test_the_others_are_shed(overloaded: Overloaded) -> None:
    rows = overloaded.collected.rows("shed")
    assert [row.window_start for row in rows] == list(map(at, _starts()))
    for row in rows[: FILE_SECONDS // 10]:
        assert not row.exact
        assert row.rows_used < 80
        assert row.upper is not None
        assert row.upper > 80


def test_the_journal_says_why_and_for_whom(overloaded: Overloaded) -> None:
    """Of the first micro-batch: after it, what rows really cost is known."""
    first = overloaded.journal.iloc[0]
    assert first.reason == "saturated"
    assert first.sampling_rate < 0.8
    assert first.offered_rows == len(NAMES) * ROWS
    assert 3 * ROWS <= first.admitted_rows < (len(NAMES) - 0.2) * ROWS
    assert "queries that need every row" in first.explanation


def test_the_journal_tells_what_waits(overloaded: Overloaded) -> None:
    waiting = list(overloaded.journal.backlog_rows)
    assert 0 < waiting[0] <= (FILES - 1) * len(NAMES) * ROWS
    assert waiting == sorted(waiting, reverse=True)
    assert waiting[-1] == 0


def test_answers_lie_beside_the_journal_as_the_sink_got_them(overloaded: Overloaded) -> None:
    files = AnswerFiles(Storage.reached(str(overloaded.checkpoint / "time" / ANSWERS_FOLDER)))
    documents = list(files.since(-1))
    answers = [answer for document in documents for answer in document["answers"]]
    for query in (*NAMES, "beside_exact"):
        rows = overloaded.collected.rows(query)
        delivered = {(row.aggregate, row.window_start.timestamp()): (row.value, row.lower, row.upper) for row in rows}
        of_query = [answer for answer in answers if answer["query"] == query]
        written = {
            (answer["aggregate"], answer["window_start"]): (answer["value"], answer.get("lower"), answer.get("upper"))
            for answer in of_query
        }
        assert written == delivered
        tallies = [document["queries"][query] for document in documents if query in document["queries"]]
        assert sum(tally["answers"] for tally in tallies) == len(rows)
        assert sum(tally["exact_answers"] for tally in tallies) == sum(bool(row.exact) for row in rows)


def test_what_the_run_has_learned_lies_in_its_checkpoint(overloaded: Overloaded) -> None:
    known = KnownRunReader(Storage.reached(str(overloaded.checkpoint))).read(["time"])
    assert known.statistics == overloaded.statistics
    assert known.statistics.streams.keys() == set(NAMES)
    assert {query.name for query in known.document.network.queries} == {*NAMES, "beside_exact"}
    assert known.document.run.trigger_seconds == TRIGGER_SECONDS
