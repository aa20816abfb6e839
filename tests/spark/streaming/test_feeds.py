"""Two networks, one of whose queries is the other's stream: what the one cannot use, the other does not deliver."""

from __future__ import annotations

import json
import time
from collections import defaultdict
from dataclasses import dataclass, field
from datetime import UTC
from pathlib import Path
from typing import Any

import pandas as pd
import pyarrow as pa
import pytest
from pyspark.sql import DataFrame, SparkSession

from streamshed.control.needs import NetworkNeeds, StreamNeeds
from streamshed.network.model.declared_stream import stream
from streamshed.network.model.network import QueryNetwork, network
from streamshed.network.model.rows import Rows
from streamshed.network.run.feed import Feed
from streamshed.network.run.load_prior import LoadPrior
from streamshed.network.source.sources import folder
from streamshed.spark.loop.needs_files import NeedsFile, read_needs
from streamshed.spark.run import Run
from tests.spark.event_times import EPOCH_MICROSECONDS, at, seconds_of
from tests.spark.files import write_parquet
from tests.spark.harness import QUICK, wait_for_micro_batch, wait_until

UNHURRIED = {**QUICK, "latency": "10 minutes", "larger_micro_batches": True}
"""However long a micro-batch takes, nothing is shed for it."""

ROWS_OF_A_FILE = 400
FILE_SECONDS = 20
SCHEMA = "id bigint, ts timestamp, v bigint, stands_for double"


QUERIES: dict[str, str | None] = {
    "limited": None,
    "timed": "v > -1",
    "unpublished": "v > -2",
    "stale": "v > -3",
}
"""Queries for rows that are the streams of other networks, and their filters; each takes all rows."""

SECOND = 1_000_000
UNNEEDED_ROWS = ((EPOCH_MICROSECONDS + 10 * SECOND, EPOCH_MICROSECONDS + 30 * SECOND),)
UNNEEDED_WINDOWS = ((EPOCH_MICROSECONDS + 10 * SECOND, EPOCH_MICROSECONDS + 50 * SECOND),)
NEEDS = {
    "limited": StreamNeeds(rows_per_second=40.0),
    "timed": StreamNeeds(unneeded=UNNEEDED_ROWS),
    "largest": StreamNeeds(rows_per_second=0.0, unneeded=UNNEEDED_WINDOWS),
    "stale": StreamNeeds(rows_per_second=1.0),
}
FILES = 3


@dataclass
class Delivered:
    """A sink that keeps the rows of queries, and writes those of one where another network reads them.

    A micro-batch that is written again replaces itself.
    """

    target: Path | None = None
    fed: str = "alerts"
    rows: dict[tuple[str, int], list[dict[str, Any]]] = field(default_factory=lambda: defaultdict(list))
    windows: dict[int, list[Any]] = field(default_factory=dict)

    def __call__(self, answers: DataFrame, micro_batch_id: int) -> None:
        by_query: dict[str, list[dict[str, Any]]] = defaultdict(list)
        for row in answers.where("kind = 'row'").select("query", "value_text", "rows_estimated").collect():
            by_query[row.query].append({**json.loads(row.value_text), "stands_for": row.rows_estimated})
        for query, rows in by_query.items():
            self.rows[query, micro_batch_id] = rows
        self.windows[micro_batch_id] = answers.where("query = 'largest'").collect()
        if self.target is not None and by_query[self.fed]:
            write_parquet(self.target / f"{micro_batch_id:06d}.parquet", _table(by_query[self.fed]))

    def of(self, query: str) -> list[dict[str, Any]]:
        """All rows of a query."""
        return [row for (name, _), rows in self.rows.items() if name == query for row in rows]


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
        {"id": place, "ts": at(place * FILE_SECONDS / ROWS_OF_A_FILE).isoformat(), "v": place % 7, "stands_for": 1.0}
        for place in ids
    ]
    write_parquet(path / "events" / f"{number:06d}.parquet", _table(rows))


def _events(path: Path) -> Rows:
    source = folder(path / "events", "parquet", schema=SCHEMA, max_files_per_micro_batch=1)
    return stream("events", source, time="ts", watermark="1 second", identity=["id"])


@dataclass(frozen=True)
class Fed:
    """What a network delivered to its readers, who had told what they need, and its journal."""

    delivered: Delivered
    journal: pd.DataFrame


@pytest.fixture(scope="module")
def fed(spark: SparkSession, tmp_path_factory: pytest.TempPathFactory) -> Fed:
    path = tmp_path_factory.mktemp("fed")
    for number in range(FILES):
        write_events(path, number)
    for query, needs in NEEDS.items():
        age_seconds = 7200.0 if query == "stale" else 0.0
        document = NetworkNeeds(
            told_at_seconds=time.time() - age_seconds, lifetime_seconds=3600.0, streams={"read": needs}
        )
        NeedsFile(str(path / f"{query}.json")).tell("time", document)
    events = _events(path)
    windows = events.window("5 seconds").agg(largest="max(id)")
    counts = events.window(f"{FILE_SECONDS} seconds").agg(n="count(*)")
    queries = network(
        *((events if test is None else events.filter(test)).query(query) for query, test in QUERIES.items()),
        windows.query("largest", mode="subset", max_gap=3),
        counts.query("counts"),
    )
    feeds = [
        Feed(query=query, needs=str(path / f"{query}.json"), stream="read", same_time=query in {"timed", "largest"})
        for query in (*QUERIES, "largest")
    ]
    delivered = Delivered()
    run = queries.start(spark, checkpoint=path / "checkpoint", sink=delivered, feeds=feeds, **UNHURRIED)
    with run:
        wait_until(run, lambda: _rows_read(run) >= FILES * ROWS_OF_A_FILE, "all files")
        assert run.drain()
    return Fed(delivered, run.journal())


def _rows_read(run: Run) -> int:
    journal = run.journal()
    return 0 if journal.empty else int(journal.offered_rows.sum())


def test_rows_that_are_of_no_use_are_shed_upstream_and_say_what_they_stand_for(fed: Fed) -> None:
    # Of the first micro-batch, whose rows are taken to have come within a trigger interval, one row in a hundred.
    with_rows = fed.journal[fed.journal.offered_rows > 0]
    rates = [row["limited"] for row in with_rows.effective_sampling_rates]
    useful = [row.get("limited", 1.0) for row in with_rows.useful_rates]
    assert rates[0] == pytest.approx(0.01, rel=0.08)
    assert all(rate <= most for rate, most in zip(rates, useful, strict=True))
    assert all(row["counts"] == 1 for row in with_rows.effective_sampling_rates)
    assert all(needs == {"limited": 40.0, "largest": 0.0} for needs in with_rows.needed_rows_per_second)
    rows = fed.delivered.of("limited")
    assert len(rows) < FILES * ROWS_OF_A_FILE
    assert {round(row["stands_for"], 6) for row in rows} <= {round(1 / rate, 6) for rate in rates}


def test_rows_of_windows_that_are_dropped_there_are_not_delivered(fed: Fed) -> None:
    per_second = ROWS_OF_A_FILE // FILE_SECONDS
    needed = {*range(10 * per_second), *range(30 * per_second, FILES * ROWS_OF_A_FILE)}
    rows = fed.delivered.of("timed")
    assert sorted(row["id"] for row in rows) == sorted(needed)
    assert all(row["stands_for"] == 1 for row in rows)


def test_windows_of_aggregates_are_dropped_that_nobody_needs(fed: Fed) -> None:
    """Of those that start from 10 s to 50 s; of every four in a row one is kept, as no more may be missed."""
    rows = [row for rows in fed.delivered.windows.values() for row in rows]
    gaps = {seconds_of(row.window_start.replace(tzinfo=UTC)): row.reason for row in rows if row.kind == "gap"}
    answers = [row for row in rows if row.kind == "answer"]
    assert all(row.exact for row in answers)
    values = {seconds_of(row.window_start.replace(tzinfo=UTC)): row.value for row in answers}
    starts = {5.0 * number for number in range(FILES * FILE_SECONDS // 5)}
    assert gaps.keys() | values.keys() == starts
    assert not gaps.keys() & values.keys()
    assert set(gaps.values()) == {"not needed"}
    assert all(10 <= start < 50 for start in gaps)
    assert 5 <= len(gaps) <= 6
    per_second = ROWS_OF_A_FILE // FILE_SECONDS
    assert values == {start: (start + 5) * per_second - 1 for start in values}


@pytest.mark.parametrize(
    ("query", "reason"), [("unpublished", "nothing is published"), ("stale", "s old, and held for")]
)
def test_without_needs_that_hold_everything_is_delivered_and_the_journal_says_why(
    fed: Fed, query: str, reason: str
) -> None:
    assert sorted(row["id"] for row in fed.delivered.of(query)) == list(range(FILES * ROWS_OF_A_FILE))
    for ignored in fed.journal.ignored_needs:
        reasons = dict(entry.split(": ", 1) for entry in ignored.split("; "))
        assert reasons.keys() == {"unpublished", "stale"}
        assert reason in reasons[query]


@dataclass
class Answers:
    """A sink that keeps the numbers of alerts, by window."""

    counts: dict[Any, float] = field(default_factory=lambda: defaultdict(float))

    def __call__(self, answers: DataFrame, micro_batch_id: int) -> None:
        for row in answers.where("kind = 'answer'").collect():
            self.counts[row.window_start] = row.value


def upstream(path: Path) -> QueryNetwork:
    events = _events(path)
    return network(events.query("alerts"), events.window(f"{FILE_SECONDS} seconds").agg(n="count(*)").query("counts"))


def downstream(path: Path) -> QueryNetwork:
    source = folder(path / "alerts", "parquet", schema=SCHEMA)
    alerts = stream("alerts", source, time="ts", watermark="1 second", identity=["id"])
    windows = alerts.window(f"{FILE_SECONDS} seconds")
    return network(windows.agg(n="sum(stands_for)").query("n"))


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
        rows = delivered.rows.get(("alerts", row.micro_batch_id), [])
        assert len(rows) < row.offered_rows
        assert all(one["stands_for"] > 1 for one in rows)
    assert len(delivered.of("alerts")) < files * ROWS_OF_A_FILE
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
