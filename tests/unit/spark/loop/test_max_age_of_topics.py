"""Records that wait in a topic and are too old: beside the newest, as the broker stamped it, not beside the clock."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path

import pytest

from streamshed.control.loop import ControlLoop
from streamshed.control.settings import ControlSettings
from streamshed.network.model.declared_stream import stream
from streamshed.network.model.network import network
from streamshed.network.source.kafka_source import kafka
from streamshed.network.terms.parsing import parse_json
from streamshed.sharing.stream_work import stream_work
from streamshed.spark.checkpoint.source_places import SourcePlaces
from streamshed.spark.checkpoint.storage import Storage
from streamshed.spark.domain_facts import DomainFacts
from streamshed.spark.loop.micro_batch_planner import MicroBatchPlanner
from streamshed.spark.plan.plan_row import PlanRow
from streamshed.spark.source.progress import MicroBatchReport

SECOND = 1_000_000
BEGAN = 1_000_000
"""When the first row came, seconds since the epoch."""
READ_SECONDS, WAITING_SECONDS, AGE = 600, 7200, 300
"""How far the first micro-batch reads, how far what waits goes, and how old it may be."""
LEFT = 500_000
PACKETS = stream(
    "packets", kafka("packets", "a:1"), time="ts", watermark="10 seconds", parse=parse_json("value", "ts timestamp")
)
ASKED = network(PACKETS.window("10 minutes").agg(n="count(*)").query("counts", mode="exact"))
REPORT = MicroBatchReport(
    micro_batch_id=0,
    started_at_seconds=BEGAN,
    processing_seconds=0.5,
    offered_rows={"packets": 10_000},
    admitted_rows={"packets": 10_000},
    earliest_event={"packets": BEGAN * SECOND},
    latest_event={"packets": (BEGAN + READ_SECONDS) * SECOND},
    readable=frozenset({"packets"}),
    watermark=(BEGAN + READ_SECONDS - 10) * SECOND,
    state_rows=1,
    rows_left={"packets": LEFT},
)


def second_plan(path: Path, newest_seconds: int | None, *, left: int = LEFT, now_seconds: float) -> PlanRow:
    """The plan of the second micro-batch, which reads some of what waits.

    Args:
        path: Of the checkpoint.
        newest_seconds: When the newest record was written, after the beginning; None: the broker does not tell.
        left: Rows that the first one left.
        now_seconds: The clock, after the beginning.
    """
    checkpoint, reports = Storage.at(str(path / "spark")), list[MicroBatchReport]()
    checkpoint.write_text("sources/0/0", '\0v1\n{"packets":{"0":0}}')
    for number, until in enumerate((10_000, 20_000)):
        watermark = json.dumps({"batchWatermarkMs": REPORT.watermark // 1000 if number == 0 else 0})
        lines = ["v1", watermark, json.dumps({"packets": {"0": until}}), '{"offset": 1}']
        checkpoint.write_text(f"offsets/{number}", "\n".join(lines))

    def newest_records(micro_batch_id: int, _places: SourcePlaces, rows_left: Mapping[str, int]) -> dict[str, int]:
        assert rows_left == ({} if micro_batch_id == 0 else {"packets": left})
        return {} if newest_seconds is None else {"packets": (BEGAN + newest_seconds) * SECOND}

    now = BEGAN + now_seconds
    settings = ControlSettings(trigger_interval_seconds=1.0, max_age_microseconds=AGE * SECOND)
    planner = MicroBatchPlanner(
        DomainFacts(
            streams=ASKED.streams,
            intakes={one.name: stream_work(one, ASKED.queries).intakes for one in ASKED.streams},
            longest_window=600 * SECOND,
            trigger_interval_seconds=1.0,
        ),
        ControlLoop(ASKED, settings, clock=lambda: now),
        checkpoint=checkpoint,
        plans=Storage.at(str(path / "plans")),
        clock=lambda: now,
        steady_clock=lambda: now,
        reports=lambda: reports[-1] if reports else None,
        on_outcome=lambda _report, _outcome, _plans: None,
        newest_records=newest_records,
    )
    planner.places = SourcePlaces(streams=(("packets",), ()), lines=(0, 1))
    assert PlanRow.from_json(planner.plan(0)).drops.stale == {}
    reports.append(MicroBatchReport(**{**vars(REPORT), "rows_left": {"packets": left}}))
    return PlanRow.from_json(planner.plan(1))


def skipped_before(row: PlanRow) -> int:
    """Up to when rows are skipped, seconds after the beginning."""
    [[(_, end)]] = row.drops.stale.values()
    return end // SECOND - BEGAN


@pytest.mark.parametrize("days_later", [0, 1000])
def test_what_is_older_than_the_newest_record_by_more_than_the_age_is_skipped(tmp_path: Path, days_later: int) -> None:
    """However long ago that was written: of a topic that nobody writes to any longer the last minutes are answered."""
    row = second_plan(tmp_path, WAITING_SECONDS, now_seconds=WAITING_SECONDS + days_later * 86_400)
    assert skipped_before(row) == WAITING_SECONDS - AGE


def test_where_the_broker_does_not_tell_the_newest_is_as_late_as_the_clock(tmp_path: Path) -> None:
    row = second_plan(tmp_path, None, now_seconds=2 * WAITING_SECONDS)
    assert skipped_before(row) == 2 * WAITING_SECONDS - AGE


def test_a_record_that_was_stamped_later_than_the_clock_makes_no_others_old(tmp_path: Path) -> None:
    row = second_plan(tmp_path, 10 * WAITING_SECONDS, now_seconds=WAITING_SECONDS)
    assert skipped_before(row) == WAITING_SECONDS - AGE


def test_records_without_a_time_of_their_own_make_no_others_old(tmp_path: Path) -> None:
    """Some producers stamp all records with 0."""
    assert second_plan(tmp_path, -BEGAN, now_seconds=WAITING_SECONDS).drops.stale == {}


def test_nothing_is_skipped_of_what_came_lately(tmp_path: Path) -> None:
    assert second_plan(tmp_path, READ_SECONDS + AGE - 1, now_seconds=WAITING_SECONDS).drops.stale == {}
