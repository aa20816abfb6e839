"""Overloaded by any measure: what may be shed is, what must be whole stays whole, and the plan says for whom."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import pandas as pd
import pytest
from pyspark.sql import SparkSession

from streamshed.network.network import network
from streamshed.network.sources import folder
from streamshed.network.stream import Stream, stream
from tests.spark.streaming.files import at, timed_values, write_parquet
from tests.spark.streaming.harness import QUICK, Collected, finish

FILES = 3
FILE_SECONDS = 20
NAMES = ("exact", "extremes", "shed", "subset")


@dataclass(frozen=True)
class Overloaded:
    """What was answered by a network that may use a thousandth of the time it needs, and its journal."""

    collected: Collected
    journal: pd.DataFrame


@pytest.fixture(scope="module")
def overloaded(spark: SparkSession, tmp_path_factory: pytest.TempPathFactory) -> Overloaded:
    path = tmp_path_factory.mktemp("overloaded")
    for name in NAMES:
        for number in range(FILES):
            seconds = [number * FILE_SECONDS + index / 10 for index in range(FILE_SECONDS * 10)]
            write_parquet(path / name / f"{number}.parquet", timed_values(seconds, list(range(len(seconds)))))
    exact, extremes, shed, subset = (_stream(path, name) for name in NAMES)
    queries = network(
        exact.window("10 seconds").agg(n="count(*)").query("exact", mode="exact"),
        exact.window("10 seconds").agg(n="count(*)").query("beside exact"),
        extremes.window("10 seconds").agg(most="max(v)", spread="var_pop(v)").query("extremes"),
        shed.window("10 seconds").agg(n="count(*)").query("shed"),
        subset.window("10 seconds").agg(n="count(*)").query("subset", mode="subset"),
    )
    collected = Collected()
    settings = {"headroom": 0.001, "unscalable": "keep", **QUICK}
    run = queries.start(spark, checkpoint=str(path / "checkpoint"), sink=collected, **settings)
    finish(run, FILES)
    return Overloaded(collected, run.journal())


def _stream(path: Path, name: str) -> Stream:
    source = folder(path / name, "parquet", max_files_per_micro_batch=1)
    return stream(name, source, time="ts", watermark="1 second")


def _starts() -> list[float]:
    return [10.0 * index for index in range(FILES * FILE_SECONDS // 10)]


def test_streams_of_exact_and_subset_queries_are_whole(overloaded: Overloaded) -> None:
    for query in ("exact", "beside exact", "subset"):
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
    assert not any(row.exact for row in rows)
    assert sum(row.rows_used for row in rows) < 100
    for row in rows:
        assert row.upper is not None
        assert row.upper > 100


def test_the_journal_says_why_and_for_whom(overloaded: Overloaded) -> None:
    loaded = overloaded.journal[overloaded.journal.micro_batch_id < FILES]
    assert list(loaded.reason) == ["saturated"] * FILES
    assert (loaded.sampling_rate < 0.1).all()
    assert (loaded.offered_rows == len(NAMES) * FILE_SECONDS * 10).all()
    assert (loaded.admitted_rows < 3 * FILE_SECONDS * 10 + 40).all()
    assert (loaded.admitted_rows >= 3 * FILE_SECONDS * 10).all()
    assert loaded.explanation.str.contains("streams kept whole").all()
