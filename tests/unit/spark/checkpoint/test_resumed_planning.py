"""What plans tell carriers where no report does: after a kill behind the first micro-batch, and while draining."""

from __future__ import annotations

import json
from collections.abc import Sequence
from datetime import UTC, datetime
from pathlib import Path

import pyarrow as pa
import pytest
from pyarrow import parquet

from streamshed.errors import SourceUnavailableError
from streamshed.network.model.declared_stream import stream
from streamshed.network.model.network import network
from streamshed.network.model.query import Query
from streamshed.network.model.rows import Rows
from streamshed.network.source.sources import folder
from streamshed.network.terms.window import WindowSpecification
from streamshed.planning.window_drop.track.open_windows import QueryDrops
from streamshed.planning.window_drop.track.window_drops import WindowDrops
from streamshed.planning.window_drop.windows.gap_coin import GapCoin
from streamshed.spark.checkpoint.source_places import SourcePlaces
from streamshed.spark.checkpoint.storage import Storage
from streamshed.spark.loop.planning_ahead import PlanningAhead, Questions
from streamshed.spark.plan.plan_row import PlanRow, StreamPlan
from streamshed.spark.source.progress import MicroBatchReport
from tests.unit.spark.loop.test_micro_batch_planner import planner_of
from tests.unit.spark.loop.test_planning_ahead import followed

SECOND = 1_000_000
BEGAN = 1_700_000_000
"""When the first row came, and event time began, seconds since the epoch."""

SCHEMA = "ts timestamp, v bigint"


def read(path: Path, offsets: Sequence[int], *, watermark: int = 0) -> None:
    """Write down micro-batches as Spark does: up to which entry of its log each reads a folder."""
    spark = path / "spark"
    for number, offset in enumerate(offsets):
        header = json.dumps({"batchWatermarkMs": 0, "batchTimestampMs": 1000 * (BEGAN + number)})
        _write(spark / "offsets" / str(number), f'v1\n{header}\n{{"logOffset":{offset}}}')
    for number in range(len(offsets) - 1):
        _write(spark / "commits" / str(number), f'v1\n{{"nextBatchWatermarkMs":{watermark // 1000}}}')


def log_entry(path: Path, entry: int, file: Path) -> None:
    told = {"path": file.as_uri(), "timestamp": 1, "batchId": entry}
    _write(path / "spark" / "sources" / "0" / str(entry), f"v1\n{json.dumps(told)}")


def _write(path: Path, text: str) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)


def counted(source: Rows, name: str = "q") -> Query:
    return source.window("1 second").agg(n="count(*)").query(name, mode="subset", max_gap=3)


def planned(path: Path, asked: Query, number: int, *, drain: bool = False) -> PlanRow:
    planner = planner_of(network(asked), path, clock=lambda: BEGAN - 1.0)
    planner.places = SourcePlaces(streams=(("events",),), lines=(0,))
    if drain:
        planner.drain()
    return PlanRow.from_json(planner.plan(number))


def test_after_a_kill_behind_the_first_micro_batch_carriers_begin_where_its_rows_did(tmp_path: Path) -> None:
    source = stream("events", folder(tmp_path / "in", "parquet", schema=SCHEMA), time="ts", watermark="1 second")
    times = pa.array([datetime.fromtimestamp(BEGAN + at, UTC) for at in (0, 70)], pa.timestamp("us", "UTC"))
    (tmp_path / "in").mkdir()
    parquet.write_table(pa.table({"ts": times, "v": [1, 2]}), tmp_path / "in" / "0.parquet")
    log_entry(tmp_path, 0, tmp_path / "in" / "0.parquet")
    read(tmp_path, [0, 0], watermark=(BEGAN + 69) * SECOND)
    first = PlanRow(micro_batch_id=0, open=0, streams={"events": StreamPlan()}, decided_at_seconds=BEGAN)
    Storage.at(str(tmp_path / "plans")).write_sealed("000000000000.json", first.to_json())
    told = planned(tmp_path, counted(source), 1).streams["events"]
    assert (told.carrier_from, told.carrier_until) == (BEGAN * SECOND, (BEGAN + 70) * SECOND)


@pytest.mark.parametrize("kind", ["json", "parquet"])
def test_while_draining_dropped_windows_have_gaps_whose_rows_may_have_come_unseen(tmp_path: Path, kind: str) -> None:
    """Of text it is not known how late the rows were that were shed; footers tell."""
    source = stream("events", folder(tmp_path / "in", kind, schema=SCHEMA), time="ts", watermark="1 second")
    asked = counted(source)
    begins, latest = BEGAN + 1, BEGAN * SECOND
    coin = GapCoin(seed=1, batch=3, window=WindowSpecification(SECOND, SECOND), epoch=SECOND, next_window=begins + 3)
    drops = WindowDrops(queries={str(asked.definition_id): QueryDrops(coin=coin, dropped=((begins, begins + 1),))})
    last = PlanRow(
        micro_batch_id=1,
        open=latest,
        streams={"events": StreamPlan(carrier_from=latest, carrier_until=latest, carrier_time=latest)},
        latest_event={"events": latest},
        drops=drops,
        decided_at_seconds=BEGAN,
    )
    (tmp_path / "in").mkdir()
    read(tmp_path, [0, 0, 0])
    Storage.at(str(tmp_path / "plans")).write_sealed("000000000001.json", last.to_json())
    plan = planned(tmp_path, asked, 2, drain=True)
    assert plan.drained_at is not None
    last_dropped = (begins + 1) * SECOND
    assert plan.streams["events"].carrier_until == (last_dropped if kind == "json" else latest)
    assert plan.drained_at >= last_dropped + SECOND


def events_of(path: Path, kind: str) -> Query:
    """Windows over a folder with a file of ten rows, of which a micro-batch has been told."""
    source = stream("events", folder(path / "in", kind, schema=SCHEMA), time="ts", watermark="1 second")
    write_rows(path, kind, 10)
    log_entry(path, 0, path / "in" / f"0.{kind}")
    read(path, [0])
    return counted(source)


def write_rows(path: Path, kind: str, rows: int) -> None:
    (path / "in").mkdir(exist_ok=True)
    times = [datetime.fromtimestamp(BEGAN + at, UTC) for at in range(rows)]
    if kind == "parquet":
        table = pa.table({"ts": pa.array(times, pa.timestamp("us", "UTC")), "v": range(rows)})
        parquet.write_table(table, path / "in" / "0.parquet")
    else:
        lines = [json.dumps({"ts": at.isoformat(), "v": 1}) for at in times]
        (path / "in" / "0.json").write_text("".join(f"{line}\n" for line in lines))


@pytest.mark.parametrize("kind", ["json", "parquet"])
def test_a_micro_batch_that_runs_again_has_all_that_it_was_planned_with(tmp_path: Path, kind: str) -> None:
    asked, file = events_of(tmp_path, kind), tmp_path / "in" / f"0.{kind}"
    first = planned(tmp_path, asked, 0)
    assert planned(tmp_path, asked, 0) == first
    content = file.read_bytes()
    file.unlink()
    with pytest.raises(SourceUnavailableError, match="vanished before it was read: put it back"):
        planned(tmp_path, asked, 0)
    write_rows(tmp_path, kind, 3)
    held = "3 rows of 10" if kind == "parquet" else r"\d+ bytes of \d+"
    with pytest.raises(SourceUnavailableError, match=f'"events": its files hold {held} that they held when'):
        planned(tmp_path, asked, 0)
    file.write_bytes(content)
    assert planned(tmp_path, asked, 0) == first
    # Its rows are to be left out.
    file.write_bytes(b"")
    assert planned(tmp_path, asked, 0) == first


def test_a_plan_of_before_that_says_nothing_of_files_is_run_again(tmp_path: Path) -> None:
    asked = events_of(tmp_path, "json")
    document = json.loads(planned(tmp_path, asked, 0).to_json())
    del document["files"]
    Storage.at(str(tmp_path / "plans")).write_sealed("000000000000.json", json.dumps(document))
    write_rows(tmp_path, "json", 3)
    assert planned(tmp_path, asked, 0).files == {}


@pytest.mark.parametrize("is_followed", [True, False])
def test_rows_that_were_read_by_none_are_told_even_if_it_was_noticed_ahead_of_the_plan(
    tmp_path: Path, *, is_followed: bool
) -> None:
    """Ten rows were to come, and seven did; each attempt of a task is told, and whoever stops then is not."""
    report = MicroBatchReport(
        micro_batch_id=0,
        started_at_seconds=BEGAN,
        processing_seconds=0.5,
        offered_rows={"events": 7},
        admitted_rows={},
        earliest_event={},
        latest_event={},
        readable=set(),
        watermark=0,
        state_rows=0,
        read_rows={"events": 7},
    )
    planner = planner_of(network(events_of(tmp_path, "parquet")), tmp_path, report, clock=lambda: BEGAN + 20.0)
    planner.places = SourcePlaces(streams=(("events",),), lines=(0,))
    planner.plan(0)
    read(tmp_path, [0, 0])
    if is_followed:
        ahead = PlanningAhead(Questions(record_last=planner.record_last, is_written=None, plan=planner.plan), 1.0)
        ahead.ended(0)
        followed()
        with pytest.raises(SourceUnavailableError, match="10 rows were to come, and 7 were read"):
            planner.record_last()  # as at a stop before the next plan
    for _ in range(2):
        with pytest.raises(SourceUnavailableError, match="10 rows were to come, and 7 were read"):
            planner.plan(1)
    assert planner.record_last() == 0
