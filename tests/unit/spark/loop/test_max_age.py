"""Old files that wait after a downtime: what a plan says of them, and again after a crash."""

from __future__ import annotations

import json
import os
from datetime import UTC, datetime
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from streamshed.answering.table.dropped_windows import together
from streamshed.control.loop import ControlLoop
from streamshed.control.settings import ControlSettings
from streamshed.network.model.declared_stream import stream
from streamshed.network.model.network import network
from streamshed.network.source.sources import folder
from streamshed.network.terms.window import WindowSpecification
from streamshed.sharing.stream_work import stream_work
from streamshed.spark.checkpoint.source_places import SourcePlaces
from streamshed.spark.checkpoint.storage import Storage
from streamshed.spark.domain_facts import DomainFacts
from streamshed.spark.loop.micro_batch_planner import MicroBatchPlanner
from streamshed.spark.plan.plan_row import PlanRow
from streamshed.spark.sinks.answer_stage import dropped_windows, stale_windows
from streamshed.spark.windows.unseen_windows import unseen_windows

SECOND = 1_000_000
BEGAN = 1_000_000
"""When the first row came, seconds since the epoch."""
FILES = 60
"""One for each minute of an hour, of a row a second."""


def planner_at(path: Path, most: int | None, now_seconds: float, max_age: int | None = 300) -> MicroBatchPlanner:
    """A planner whose first micro-batch has as many of the files as it may take."""
    incoming = path / "in"
    if not incoming.exists():
        incoming.mkdir()
        for minute in range(FILES):
            seconds = BEGAN + 60 * minute + np.arange(60)
            file = incoming / f"{minute:02}.parquet"
            pq.write_table(pa.table({"ts": pa.array(seconds * SECOND, pa.timestamp("us", "UTC"))}), file)
            os.utime(file, (int(seconds[-1]), int(seconds[-1])))
        log = path / "spark" / "sources" / "0"
        log.mkdir(parents=True)
        paths = sorted(incoming.iterdir())[:most]
        entries = [json.dumps({"path": file.as_uri(), "timestamp": 1, "batchId": 0}) for file in paths]
        (log / "0").write_text("\n".join(["v1", *entries]))
        (path / "spark" / "offsets").mkdir()
        (path / "spark" / "offsets" / "0").write_text('v1\n{"batchWatermarkMs":0}\n{"logOffset":0}')
    events = stream("events", folder(incoming, "parquet", max_files_per_micro_batch=most), time="ts")
    asked = network(events.window("10 minutes").agg(n="count(*)").query("counts"))
    settings = ControlSettings(
        trigger_interval_seconds=1.0, max_age_microseconds=None if max_age is None else max_age * SECOND
    )
    planner = MicroBatchPlanner(
        DomainFacts(
            streams=asked.streams,
            intakes={one.name: stream_work(one, asked.queries).intakes for one in asked.streams},
            longest_window=600 * SECOND,
            trigger_interval_seconds=1.0,
        ),
        ControlLoop(asked, settings, clock=lambda: now_seconds),
        checkpoint=Storage.at(str(path / "spark")),
        plans=Storage.at(str(path / "plans")),
        clock=lambda: now_seconds,
        steady_clock=lambda: now_seconds,
        reports=lambda: None,
        on_outcome=lambda _report, _outcome, _plans: None,
    )
    planner.places = SourcePlaces(streams=(("events",),), lines=(0,))
    return planner


@pytest.mark.parametrize("most", [None, 3, FILES])
@pytest.mark.parametrize("days", [0, 1000])
def test_what_is_older_than_the_newest_row_that_waits_by_more_than_the_age_is_skipped(
    tmp_path: Path, most: int | None, days: int
) -> None:
    """However old all of it is, and though a micro-batch takes but three of the files."""
    row = PlanRow.from_json(planner_at(tmp_path, most, BEGAN + 3600 + days * 86_400).plan(0))
    [intervals] = row.drops.stale.values()
    assert intervals == ((BEGAN * SECOND, (BEGAN + 3599 - 300) * SECOND),)
    # In a minute or an hour of rows that are all too old, or but for five minutes.
    share = 1e-6 if most == 3 else 301 / 3600
    assert row.streams["events"].work_share == pytest.approx(share, rel=0.01)


def test_a_row_from_the_future_makes_no_others_old(tmp_path: Path) -> None:
    row = PlanRow.from_json(planner_at(tmp_path, None, BEGAN + 600).plan(0))
    [intervals] = row.drops.stale.values()
    assert intervals == ((BEGAN * SECOND, (BEGAN + 300) * SECOND),)


def test_after_a_crash_the_same_is_skipped(tmp_path: Path) -> None:
    text = planner_at(tmp_path, None, BEGAN + 3600).plan(0)
    for max_age in (300, 30, None):
        assert planner_at(tmp_path, None, BEGAN + 7200, max_age).plan(0) == text


def test_nothing_is_skipped_unless_it_is_asked(tmp_path: Path) -> None:
    row = PlanRow.from_json(planner_at(tmp_path, None, BEGAN + 3600, None).plan(0))
    assert row.drops.stale == {}
    assert row.streams["events"].work_share == 1.0


def test_windows_say_that_their_rows_were_too_old(tmp_path: Path) -> None:
    row = PlanRow.from_json(planner_at(tmp_path, None, BEGAN + 3600).plan(0))
    [definition] = row.drops.stale
    windows = {definition: (WindowSpecification(600 * SECOND, 600 * SECOND),)}
    dropped = together(dropped_windows(row.drops), stale_windows(windows, row.drops.stale))
    [told] = dropped[definition]
    first, cut = BEGAN // 600 * 600, BEGAN + 3599 - 300
    starts = np.arange(first - 600, first + 4800, 600)
    assert told.includes(starts * SECOND).tolist() == [first <= start < cut for start in starts.tolist()]
    assert set(told.reasons(np.array([first * SECOND], np.int64))) == {"too old"}
    # A query that was added since has not seen them at all.
    unseen = together(dropped, unseen_windows(windows, {definition: cut * SECOND}))
    assert [one.reasons(np.array([first * SECOND], np.int64))[0] for one in unseen[definition]] == [
        "too old",
        "before the query",
    ]
    assert datetime.fromtimestamp(first, UTC).minute % 10 == 0
