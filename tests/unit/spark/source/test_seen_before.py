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
from streamshed.spark.checkpoint.storage import Storage
from streamshed.spark.plan.plan_row import PlanRow
from streamshed.spark.source.seen_before import seen_until

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
