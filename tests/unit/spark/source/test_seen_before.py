"""How late the rows were that a checkpoint has read, as far as it tells."""

from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path
from typing import Literal

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from streamshed.network.model.declared_stream import stream
from streamshed.network.model.network import TimeDomain
from streamshed.network.model.rows import Rows
from streamshed.network.model.stream import Stream
from streamshed.network.source.sources import folder
from streamshed.network.terms.window import WindowSpecification
from streamshed.planning.window_drop.track.open_windows import QueryDrops
from streamshed.planning.window_drop.track.window_drops import NOTHING_DROPPED, WindowDrops
from streamshed.planning.window_drop.windows.gap_coin import GapCoin
from streamshed.spark.checkpoint.source_places import SourcePlaces
from streamshed.spark.checkpoint.stop_note import StopNote, forget_stop, full_stop_note, note_stop
from streamshed.spark.checkpoint.storage import Storage
from streamshed.spark.plan.plan_row import PlanRow
from streamshed.spark.source.seen_before import seen_until
from streamshed.spark.windows.unseen_windows import ALWAYS, whole_since

SECOND = 1_000_000
STEP = SECOND // 10


class Checkpoint:
    """A checkpoint of one stream, put together file by file."""

    def __init__(self, path: Path, file_format: Literal["parquet", "json"] = "parquet") -> None:
        self._path, self._suffix = path, file_format
        for name in ("in", "spark/offsets", "spark/commits", "spark/sources/0", "plans"):
            (path / name).mkdir(parents=True)
        source = folder(path / "in", file_format, schema="ts timestamp, v bigint")
        self.stream: Rows = stream("packets", source, time="ts", watermark="2 seconds")
        self._entries = 0

    def micro_batch(
        self,
        number: int,
        seconds: list[int],
        *,
        watermark: int,
        latest: int | None,
        is_done: bool = True,
        drops: WindowDrops = NOTHING_DROPPED,
    ) -> None:
        """Write down what a micro-batch read, the latest event known as it was planned, and the watermark after it."""
        spark = self._path / "spark"
        if seconds:
            file = self._path / "in" / f"{number}.{self._suffix}"
            times = [datetime.fromtimestamp(second, UTC) for second in seconds]
            # Of text, only the size is looked at.
            pq.write_table(pa.table({"ts": pa.array(times, pa.timestamp("us", "UTC")), "v": seconds}), file)
            told = f'{{"path":"{file.as_uri()}","timestamp":1,"batchId":{self._entries}}}'
            (spark / "sources" / "0" / str(self._entries)).write_text(f"v1\n{told}")
            self._entries += 1
        (spark / "offsets" / str(number)).write_text(f'v1\n{{}}\n{{"logOffset":{self._entries - 1}}}')
        if is_done:
            (spark / "commits" / str(number)).write_text(f'v1\n{{"nextBatchWatermarkMs":{watermark * 1000}}}')
        known = {} if latest is None else {"packets": latest * SECOND}
        row = PlanRow(micro_batch_id=number, open=0, streams={}, latest_event=known, drops=drops)
        Storage.at(str(self._path / "plans")).write_sealed(f"{number:012d}.json", row.to_json())

    def seen_until(self, *others: Stream) -> int | None:
        """What is found out of the stream, or of the last of some others, microseconds."""
        spark, plans = (Storage.at(str(self._path / name)) for name in ("spark", "plans"))
        domain = TimeDomain("time", (self.stream.stream, *others))
        places = SourcePlaces(streams=((self.stream.stream.name,),), lines=(0,))
        return seen_until(spark, plans, domain, places, least_step=STEP).get(domain.streams[-1].name)


def test_nothing_has_been_seen_before_a_micro_batch_finished(tmp_path: Path) -> None:
    checkpoint = Checkpoint(tmp_path)
    assert checkpoint.seen_until() is None
    checkpoint.micro_batch(0, [5, 9], watermark=7, latest=None, is_done=False)
    assert checkpoint.seen_until() is None


def test_footers_tell_what_the_last_plan_did_not_know(tmp_path: Path) -> None:
    checkpoint = Checkpoint(tmp_path)
    checkpoint.micro_batch(0, [5, 9], watermark=7, latest=None)
    assert checkpoint.seen_until() == 9 * SECOND
    checkpoint.micro_batch(1, [3, 19, 12], watermark=17, latest=9)
    checkpoint.micro_batch(2, [], watermark=17, latest=9)
    assert checkpoint.seen_until() == 19 * SECOND


def test_what_a_micro_batch_was_to_read_that_did_not_finish_is_still_to_come(tmp_path: Path) -> None:
    checkpoint = Checkpoint(tmp_path)
    checkpoint.micro_batch(0, [5, 9], watermark=7, latest=None)
    checkpoint.micro_batch(1, [19], watermark=17, latest=9, is_done=False)
    assert checkpoint.seen_until() == 9 * SECOND


def test_while_nothing_comes_the_last_plan_knows_it(tmp_path: Path) -> None:
    checkpoint = Checkpoint(tmp_path)
    checkpoint.micro_batch(0, [5, 9], watermark=7, latest=None)
    for number in range(1, 6):
        checkpoint.micro_batch(number, [], watermark=7, latest=9)
    assert checkpoint.seen_until() == 9 * SECOND


@pytest.mark.parametrize(
    ("watermark", "latest", "expected"),
    [(0, (9, 9), 9 * SECOND + 2 * STEP), (17, (9, 12), 19 * SECOND + 1000 + 2 * 3 * SECOND)],
    ids=["no watermark", "later by the watermark"],
)
def test_elsewhere_it_is_the_latest_known_and_some_more(
    tmp_path: Path, watermark: int, latest: tuple[int, int], expected: int
) -> None:
    checkpoint = Checkpoint(tmp_path, "json")
    for number, known in enumerate(latest):
        checkpoint.micro_batch(number, [3], watermark=watermark, latest=known)
    assert checkpoint.seen_until() == expected


@pytest.mark.parametrize("drops_windows", [False, True])
def test_where_windows_over_joins_were_dropped_it_is_as_long_as_rows_wait(
    tmp_path: Path, *, drops_windows: bool
) -> None:
    coin = GapCoin(1, 3, WindowSpecification(SECOND, SECOND), epoch=SECOND)
    some = WindowDrops(queries={"7": QueryDrops(coin=coin, dropped=((3, 4),))})
    checkpoint = Checkpoint(tmp_path)
    source = folder(tmp_path / "alerts", "parquet", schema="ts timestamp, v bigint")
    alerts = stream("alerts", source, time="ts")
    pairs = checkpoint.stream.join(alerts, on="v", within=("5 s", "3 s"))
    assert checkpoint.seen_until(alerts.stream, pairs.stream) is None
    checkpoint.micro_batch(0, [5, 9], watermark=7, latest=None, drops=some if drops_windows else NOTHING_DROPPED)
    assert checkpoint.seen_until() == 9 * SECOND
    assert checkpoint.seen_until(alerts.stream, pairs.stream) == (14 if drops_windows else 9) * SECOND


PLACES = SourcePlaces(streams=(("a",), ("b",)), lines=(0, 1))
NOW = 1_800_000_000
A_MINUTE_AFTER_THE_CLOCK = (NOW + 60) * SECOND + 2 * STEP


class FirstMicroBatch:
    """What is written once the first micro-batch of two streams has finished, which only the first brought rows to."""

    def __init__(self, path: Path, *, watermark: int = 0) -> None:
        self.spark, self.plans = (Storage.at(str(path / name)) for name in ("spark", "plans"))
        self.spark.write_text("sources/0/0", 'v1\n{"path":"file:///nowhere/0.json","timestamp":1,"batchId":0}')
        self.spark.write_text("offsets/0", 'v1\n{}\n{"logOffset":0}\n-')
        self.spark.write_text("commits/0", f'v2\n{{"nextBatchWatermarkMs":{watermark * 1000}}}')
        # It was planned before its rows were seen.
        row = PlanRow(micro_batch_id=0, open=0, streams={}, decided_at_seconds=NOW)
        self.plans.write_sealed(f"{0:012d}.json", row.to_json())

    def seen_until(self, rows: Rows, other: Rows, at_stop: dict[str, int] | None = None) -> dict[str, int]:
        domain = TimeDomain("time", (rows.stream, other.stream))
        return seen_until(self.spark, self.plans, domain, PLACES, least_step=STEP, at_stop=at_stop)


def of_json(path: Path, name: str, **columns: str) -> Rows:
    source = folder(path / name, "json", schema="ts timestamp, v bigint")
    return stream(name, source, **(columns or {"time": "ts"}))  # type: ignore[arg-type]


@pytest.mark.parametrize("watermark", [0, 17], ids=["one stream is awaited", "the stream behind has come so far"])
def test_of_a_stream_that_was_read_and_of_which_no_time_is_known_no_window_is_whole_by_now(
    tmp_path: Path, watermark: int
) -> None:
    a, b = of_json(tmp_path, "a"), of_json(tmp_path, "b")
    seen = FirstMicroBatch(tmp_path, watermark=watermark).seen_until(a, b)
    assert seen["a"] == A_MINUTE_AFTER_THE_CLOCK
    assert ("b" in seen) == (watermark > 0)
    began, comes = (a.filter(f"v > {v}").window("1 hour").agg(n="count(*)").query("q") for v in range(2))
    since = whole_since([began, comes], whole_since([began], None, {}), seen)
    assert since == {began.definition_id: ALWAYS, comes.definition_id: A_MINUTE_AFTER_THE_CLOCK + 1}


def test_along_numbers_none_ever_is(tmp_path: Path) -> None:
    a, b = (of_json(tmp_path, name, number="v", clock="numbers") for name in "ab")
    assert FirstMicroBatch(tmp_path).seen_until(a, b) == {"a": 2**62 + 2 * STEP}


def test_a_stop_notes_what_no_plan_knows(tmp_path: Path) -> None:
    a, b = of_json(tmp_path, "a"), of_json(tmp_path, "b")
    assert FirstMicroBatch(tmp_path).seen_until(a, b, {"a": 40 * SECOND}) == {"a": 40 * SECOND + 2 * STEP}


def test_what_a_stop_notes_counts_while_nothing_has_been_read_since(tmp_path: Path) -> None:
    """Spark adds a micro-batch without rows to move state to other partitions."""
    checkpoint, clock = FirstMicroBatch(tmp_path), Storage.at(str(tmp_path))
    assert full_stop_note(clock, checkpoint.spark) is None
    note = StopNote(last_written=0, recorded=0, latest_event={"a": 40 * SECOND})
    note_stop(clock, note)
    assert full_stop_note(clock, checkpoint.spark) == note
    checkpoint.spark.write_text("offsets/1", 'v1\n{"batchWatermarkMs":7}\n{"logOffset":0}\n-')
    checkpoint.spark.write_text("commits/1", "v2\n{}")
    assert full_stop_note(clock, checkpoint.spark) == note
    checkpoint.spark.write_text("offsets/2", 'v1\n{}\n{"logOffset":1}\n-')
    checkpoint.spark.write_text("commits/2", "v2\n{}")
    assert full_stop_note(clock, checkpoint.spark) is None
    note_stop(clock, StopNote(last_written=2))
    assert full_stop_note(clock, checkpoint.spark) is None
    forget_stop(clock)
    assert full_stop_note(clock, checkpoint.spark) is None
