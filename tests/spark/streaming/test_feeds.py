"""Two networks, one of whose queries is the other's stream: what the one cannot use, the other does not deliver."""

from __future__ import annotations

import json
import time
from collections import defaultdict
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pandas as pd
import pyarrow as pa
import pytest
from pyspark.sql import DataFrame, SparkSession

from streamshed.control.needs import NetworkNeeds, StreamNeeds
from streamshed.network.feed import Feed
from streamshed.network.network import QueryNetwork, network
from streamshed.network.sources import folder
from streamshed.network.stream import stream
from streamshed.spark.needs_files import NeedsFile, read_needs
from streamshed.spark.run import Run
from streamshed.statistics.load_prior import LoadPrior
from tests.spark.streaming.files import EPOCH_MICROSECONDS, at, write_parquet
from tests.spark.streaming.harness import QUICK, wait_for_micro_batch, wait_until

UNHURRIED = {**QUICK, "latency": "10 minutes", "larger_micro_batches": True}
"""However long a micro-batch takes, nothing is shed for it."""

ROWS_OF_A_FILE = 400
FILE_SECONDS = 20
SCHEMA = "id bigint, ts timestamp, v bigint, stands_for double"


@dataclass
class Delivered:
    """A sink that lets the rows of a query appear in a folder; a micro-batch that is written again replaces itself."""

    target: Path
    rows: dict[int, list[dict[str, Any]]] = field(default_factory=dict)

    def __call__(self, answers: DataFrame, micro_batch_id: int) -> None:
        found = answers.where("kind = 'row' AND query = 'alerts'").select("value_text", "rows_estimated").collect()
        rows = [{**json.loads(row.value_text), "stands_for": row.rows_estimated} for row in found]
        self.rows[micro_batch_id] = rows
        if rows:
            write_parquet(self.target / f"{micro_batch_id:06d}.parquet", _table(rows))

    @property
    def all_rows(self) -> list[dict[str, Any]]:
        return [row for rows in self.rows.values() for row in rows]


def _table(rows: list[dict[str, Any]]) -> pa.Table:
    instants = [pa.scalar(row["ts"]).cast(pa.timestamp("us", "UTC")) for row in rows]
    return pa.table(
        {
            "id": pa.array([row["id"] for row in rows], pa.int64()),
            "ts": pa.array([instant.as_py() for instant in instants], pa.timestamp("us", "UTC")),
            "v": pa.array([row["v"] for row in rows], pa.int64()),
            "stands_for": pa.array([row["stands_for"] for row in rows], pa.float64()),
        }
    )


def write_events(path: Path, number: int) -> None:
    """Rows that are numbered through, evenly over the seconds of their file."""
    ids = range(number * ROWS_OF_A_FILE, (number + 1) * ROWS_OF_A_FILE)
    rows = [
        {"id": one, "ts": at(one * FILE_SECONDS / ROWS_OF_A_FILE).isoformat(), "v": one % 7, "stands_for": 1.0}
        for one in ids
    ]
    write_parquet(path / "events" / f"{number:06d}.parquet", _table(rows))


def upstream(path: Path) -> QueryNetwork:
    source = folder(path / "events", "parquet", schema=SCHEMA, max_files_per_micro_batch=1)
    events = stream("events", source, time="ts", watermark="1 second", identity=["id"])
    return network(
        events.query("alerts"),
        events.window(f"{FILE_SECONDS} seconds").agg(n="count(*)").query("counts"),
    )


def fed(
    spark: SparkSession,
    path: Path,
    files: int,
    *,
    needs: StreamNeeds | None,
    same_time: bool = False,
    age_seconds: float = 0.0,
) -> tuple[Delivered, Any]:
    """Run the upstream network over some files, its reader having told of needs for an hour; returns the journal."""
    told = path / "needs.json"
    if needs is not None:
        document = NetworkNeeds(
            told_at_seconds=time.time() - age_seconds, lifetime_seconds=3600.0, streams={"alerts": needs}
        )
        NeedsFile(str(told)).tell("time", document)
    for number in range(files):
        write_events(path, number)
    delivered = Delivered(path / "alerts")
    feed = Feed(query="alerts", needs=str(told), stream="alerts", same_time=same_time)
    run = upstream(path).start(spark, checkpoint=path / "checkpoint", sink=delivered, feeds=[feed], **UNHURRIED)
    with run:
        wait_until(run, lambda: _rows_read(run) >= files * ROWS_OF_A_FILE, "all files")
        assert run.drain()
    return delivered, run.journal()


def _rows_read(run: Run) -> int:
    journal = run.journal()
    return 0 if journal.empty else int(journal.offered_rows.sum())


def test_rows_that_are_of_no_use_are_shed_upstream_and_say_what_they_stand_for(
    spark: SparkSession, tmp_path: Path
) -> None:
    # Of the first micro-batch, whose rows are taken to have come within a trigger interval, one row in a hundred.
    delivered, journal = fed(spark, tmp_path, 3, needs=StreamNeeds(rows_per_second=40.0))
    with_rows = journal[journal.offered_rows > 0]
    rates = [row["alerts"] for row in with_rows.effective_sampling_rates]
    useful = [row.get("alerts", 1.0) for row in with_rows.useful_rates]
    assert rates[0] == pytest.approx(0.01, rel=0.08)
    assert all(rate <= most for rate, most in zip(rates, useful, strict=True))
    assert all(row["counts"] == 1 for row in with_rows.effective_sampling_rates)
    assert set(with_rows.ignored_needs) == {""}
    assert all(told == {"alerts": 40.0} for told in with_rows.needed_rows_per_second)
    assert len(delivered.all_rows) < 3 * ROWS_OF_A_FILE
    weights = {round(1 / rate, 6) for rate in rates}
    assert {round(row["stands_for"], 6) for row in delivered.all_rows} <= weights


@pytest.mark.cluster
def test_rows_of_windows_that_are_dropped_there_are_not_delivered(spark: SparkSession, tmp_path: Path) -> None:
    second = 1_000_000
    unneeded = ((EPOCH_MICROSECONDS + 10 * second, EPOCH_MICROSECONDS + 30 * second),)
    delivered, _ = fed(spark, tmp_path, 3, needs=StreamNeeds(unneeded=unneeded), same_time=True)
    per_second = ROWS_OF_A_FILE // FILE_SECONDS
    kept = {*range(10 * per_second), *range(30 * per_second, 3 * ROWS_OF_A_FILE)}
    assert sorted(row["id"] for row in delivered.all_rows) == sorted(kept)
    assert all(row["stands_for"] == 1 for row in delivered.all_rows)


@dataclass
class Windows:
    """A sink that keeps what became of the windows of a query, by their start in seconds."""

    answers: dict[float, float] = field(default_factory=dict)
    gaps: dict[float, str] = field(default_factory=dict)

    def __call__(self, answers: DataFrame, micro_batch_id: int) -> None:
        columns = ["unix_micros(window_start) AS start", "kind", "reason", "exact", "value"]
        for row in answers.where("query = 'largest'").selectExpr(*columns).collect():
            start = (row.start - EPOCH_MICROSECONDS) / 1e6
            if row.kind == "gap":
                self.gaps[start] = row.reason
            elif row.kind == "answer":
                assert row.exact
                self.answers[start] = row.value


def test_windows_of_aggregates_are_dropped_that_nobody_needs(spark: SparkSession, tmp_path: Path) -> None:
    """Of those that start from 10 s to 50 s; of every four in a row one is kept, as no more may be missed."""
    second, files = 1_000_000, 3
    unneeded = ((EPOCH_MICROSECONDS + 10 * second, EPOCH_MICROSECONDS + 50 * second),)
    told = str(tmp_path / "needs.json")
    needs = StreamNeeds(rows_per_second=0.0, unneeded=unneeded)
    NeedsFile(told).tell(
        "time", NetworkNeeds(told_at_seconds=time.time(), lifetime_seconds=3600.0, streams={"l": needs})
    )
    for number in range(files):
        write_events(tmp_path, number)
    source = folder(tmp_path / "events", "parquet", schema=SCHEMA, max_files_per_micro_batch=1)
    events = stream("events", source, time="ts", watermark="1 second", identity=["id"])
    windows = events.window("5 seconds").agg(largest="max(id)").query("largest", mode="subset", max_gap=3)
    feed, found = Feed(query="largest", needs=told, stream="l", same_time=True), Windows()
    run = network(windows).start(spark, checkpoint=tmp_path / "checkpoint", sink=found, feeds=[feed], **UNHURRIED)
    with run:
        wait_until(run, lambda: _rows_read(run) >= files * ROWS_OF_A_FILE, "all files")
        assert run.drain()
    starts = {5.0 * number for number in range(files * FILE_SECONDS // 5)}
    assert set(found.gaps) | set(found.answers) == starts
    assert not set(found.gaps) & set(found.answers)
    assert set(found.gaps.values()) == {"not needed"}
    assert all(10 <= start < 50 for start in found.gaps)
    assert 5 <= len(found.gaps) <= 6
    per_second = ROWS_OF_A_FILE // FILE_SECONDS
    assert found.answers == {start: (start + 5) * per_second - 1 for start in found.answers}


@pytest.mark.parametrize(
    ("needs", "reason"), [(None, "nothing is published"), (StreamNeeds(rows_per_second=1.0), "s old, and held for")]
)
def test_without_needs_that_hold_everything_is_delivered_and_the_journal_says_why(
    spark: SparkSession, tmp_path: Path, needs: StreamNeeds | None, reason: str
) -> None:
    delivered, journal = fed(spark, tmp_path, 2, needs=needs, age_seconds=7200.0)
    assert len(delivered.all_rows) == 2 * ROWS_OF_A_FILE
    assert all(reason in told for told in journal.ignored_needs)


@dataclass
class Answers:
    """A sink that keeps the numbers of alerts, by window."""

    counts: dict[Any, float] = field(default_factory=lambda: defaultdict(float))

    def __call__(self, answers: DataFrame, micro_batch_id: int) -> None:
        for row in answers.where("kind = 'answer'").collect():
            self.counts[row.window_start] = row.value


def downstream(path: Path) -> QueryNetwork:
    source = folder(path / "alerts", "parquet", schema=SCHEMA)
    alerts = stream("alerts", source, time="ts", watermark="1 second", identity=["id"])
    windows = alerts.window(f"{FILE_SECONDS} seconds")
    return network(windows.agg(n="sum(stands_for)").query("n"))


@pytest.mark.cluster
def test_a_network_that_cannot_keep_up_is_spared_by_the_one_that_feeds_it(spark: SparkSession, tmp_path: Path) -> None:
    """It believes that a row takes a second, so that it can use next to none of them."""
    path, told = tmp_path, str(tmp_path / "needs.json")
    (path / "alerts").mkdir()
    prior = LoadPrior(fixed_seconds=0.01, seconds_per_row=1.0, read_share=0.01, is_measured=True)
    answers, delivered = Answers(), Delivered(path / "alerts")
    reading = downstream(path).start(
        spark, checkpoint=path / "below", sink=answers, publish_needs=told, prior=prior, **QUICK
    )
    feed = Feed(query="alerts", needs=told, stream="alerts")
    write_events(path, 0)
    feeding = upstream(path).start(spark, checkpoint=path / "above", sink=delivered, feeds=[feed], **UNHURRIED)
    with reading, feeding:
        _await_limit(reading, told)
        files = 1
        while _shed(feeding).empty:
            write_events(path, files)
            files += 1
            wait_for_micro_batch(feeding, feeding.status().micro_batch_id + 1)
        assert feeding.drain()
    found = read_needs(told)
    assert isinstance(found, NetworkNeeds)
    limit = found.streams["alerts"].rows_per_second
    assert limit is not None
    assert 0 < limit < ROWS_OF_A_FILE
    for _, row in _shed(feeding).iterrows():
        rows = delivered.rows.get(row.micro_batch_id, [])
        assert len(rows) < row.offered_rows
        assert all(one["stands_for"] > 1 for one in rows)
    assert len(delivered.all_rows) < files * ROWS_OF_A_FILE
    assert all(set(row) >= {"alerts", "counts"} for row in feeding.journal().effective_sampling_rates)


def _await_limit(reading: Run, told: str) -> None:
    def is_told() -> bool:
        found = read_needs(told)
        return isinstance(found, NetworkNeeds) and found.streams["alerts"].rows_per_second is not None

    wait_until(reading, is_told, "what it needs")


def _shed(feeding: Run) -> pd.DataFrame:
    """The micro-batches whose alerts were sampled; of so few rows it may be that none was kept."""
    journal = feeding.journal()
    if journal.empty:
        return journal
    rates = [row.get("alerts", 1.0) for row in journal.effective_sampling_rates]
    return journal[(journal.offered_rows > 0) & (pd.Series(rates, index=journal.index, dtype=float) < 1)]
