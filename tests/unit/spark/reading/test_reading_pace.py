"""How much is read of topics, and of folders in which files wait, is said between micro-batches."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, cast

import pytest

from streamshed.control.loop import ControlLoop
from streamshed.control.rows_to_read import FIRST_BYTES, FIRST_ROWS, LARGEST_STEP
from streamshed.control.settings import ControlSettings
from streamshed.network.model.declared_stream import stream
from streamshed.network.model.network import network
from streamshed.network.source.kafka_source import KafkaSource, kafka
from streamshed.network.source.sources import FolderSource, folder
from streamshed.spark.checkpoint.source_places import SourcePlaces
from streamshed.spark.checkpoint.storage import Storage
from streamshed.spark.reading import reading_pace
from streamshed.spark.reading.read_limits import ReadLimit
from streamshed.spark.reading.reading_pace import ReadingPace
from streamshed.spark.source.progress import MicroBatchReport
from streamshed.spark.source.upcoming_rows import StreamRows

PLACES = SourcePlaces(streams=(("packets",), ()), lines=(0, 1))
REPORT = MicroBatchReport(
    micro_batch_id=0,
    started_at_seconds=100.0,
    processing_seconds=1.0,
    offered_rows={"packets": 30_000},
    admitted_rows={},
    earliest_event={},
    latest_event={},
    readable=frozenset(),
    watermark=0,
    state_rows=0,
)


@dataclass
class Query:
    isActive: bool = True  # noqa: N815 - as Spark calls it


class Paced:
    """A stream, and what is said of how much is to be read of it."""

    def __init__(self, path: Path, monkeypatch: pytest.MonkeyPatch, source: KafkaSource | FolderSource) -> None:
        self.checkpoint, self.limits = Storage.at(str(path)), list[Mapping[str, ReadLimit]]()
        monkeypatch.setattr(reading_pace, "limit_reading", lambda *arguments: self.limits.append(arguments[-1]))
        packets = stream("packets", source, time="timestamp")
        loop = ControlLoop(
            network(packets.query("all")), ControlSettings(trigger_interval_seconds=2.0), clock=lambda: 0.0
        )
        self.pace = ReadingPace(cast(Any, None), [packets.stream], self.checkpoint, loop)
        self.checkpoint.write_text("sources/0/0", '\0v1\n{"packets":{"0":0}}')
        self.pace.begin(cast(Any, Query()), PLACES)

    def planned(self, micro_batch_id: int, until: int) -> None:
        lines = ["v1", "{}", json.dumps({"packets": {"0": until}}), '{"offset": 1}']
        self.checkpoint.write_text(f"offsets/{micro_batch_id}", "\n".join(lines))


@pytest.fixture
def topic(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Paced:
    return Paced(tmp_path, monkeypatch, kafka("packets", "a:1"))


@pytest.fixture
def files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Paced:
    return Paced(tmp_path, monkeypatch, folder(str(tmp_path), "parquet", schema="timestamp timestamp"))


def test_each_micro_batch_may_read_four_times_as_much_as_the_largest_before(topic: Paced) -> None:
    until = 0
    for number, rows in enumerate((FIRST_ROWS, 40_000, 500)):
        until += rows
        topic.planned(number, until)
        topic.pace.written(number, {})
    rows_at_most = [round(LARGEST_STEP * rows) for rows in (FIRST_ROWS, 40_000, 40_000)]
    assert topic.limits == [{"packets": ReadLimit(rows=rows)} for rows in rows_at_most]


def test_the_users_own_limit_of_a_topic_holds(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    limited = Paced(tmp_path, monkeypatch, kafka("packets", "a:1", max_rows_per_micro_batch=700))
    limited.planned(0, 700)
    limited.pace.written(0, {})
    assert limited.limits == [{"packets": ReadLimit(rows=700)}]


def test_what_arrives_is_what_was_read_and_what_more_waits(topic: Paced) -> None:
    """10,000 rows a second come, of which 30,000 are read in 4 s: twice as many may be read as arrive."""
    topic.planned(0, 4_000_000)
    topic.pace.finished(replace(REPORT, rows_left={"packets": 5_000}))
    late = replace(REPORT, micro_batch_id=1, started_at_seconds=104.0, rows_left={"packets": 15_000_000})
    topic.pace.finished(late)
    topic.pace.written(0, {})
    arriving_rows_per_second = (30_000 + 15_000_000 - 5_000) / 4.0
    assert topic.limits == [{"packets": ReadLimit(rows=round(2 * 1.6 * arriving_rows_per_second))}]


def test_of_a_folder_pieces_get_four_times_as_large_until_nothing_waits(files: Paced) -> None:
    """Rows of 50 bytes each."""
    pieces = [StreamRows(rows, 50 * rows, waiting=waiting) for rows, waiting in ((80_000, 9), (300_000, 9), (70, 0))]
    for number, piece in enumerate(pieces):
        assert files.pace.paced(number) == {
            "packets": files.limits[-1]["packets"].bytes if files.limits else FIRST_BYTES
        }
        files.pace.written(number, {"packets": piece})
    sizes = [round(50 * LARGEST_STEP * rows) for rows in (80_000, 300_000)]
    assert files.limits == [*({"packets": ReadLimit(bytes=size)} for size in sizes), {"packets": ReadLimit()}]
    assert min(sizes) > FIRST_BYTES


def test_of_a_folder_twice_as_many_rows_may_be_read_as_arrive(files: Paced) -> None:
    """While 30,000 rows are read, 15 million come."""
    for number, waiting in enumerate((5_000, 15_000_000)):
        files.pace.written(number, {"packets": StreamRows(4_000_000, 4_000_000, waiting=waiting)})
        files.pace.finished(replace(REPORT, micro_batch_id=number, started_at_seconds=100.0 + 4 * number))
    files.pace.written(2, {"packets": StreamRows(4_000_000, 4_000_000, waiting=9)})
    arriving_rows_per_second = (30_000 + 15_000_000 - 5_000) / 4.0
    assert files.limits[-1] == {"packets": ReadLimit(bytes=round(2 * 1.6 * arriving_rows_per_second))}


def test_files_that_waited_may_be_read_in_the_micro_batch_behind_the_last_piece(files: Paced) -> None:
    """Spark keeps a list of those that it has not taken, and looks for others once it is through."""
    files.pace.written(4, {"packets": StreamRows(70, 700)})
    assert [list(files.pace.paced(number)) for number in (4, 5, 6)] == [["packets"], ["packets"], []]
    files.pace.written(5, {"packets": StreamRows(70, 700, waiting=10**9)})
    assert files.limits[1:] in ([], [{}])


def test_of_a_folder_in_which_nothing_waits_at_the_start_everything_is_read(files: Paced) -> None:
    files.pace.written(0, {"packets": StreamRows(0)})
    assert files.limits == [{"packets": ReadLimit()}]
    assert list(files.pace.paced(2)) == []


@pytest.mark.parametrize(
    ("path", "settings"),
    [
        ("s3://lake/packets", {}),
        ("in", {"max_files_per_micro_batch": 3}),
        ("in", {"options": {"maxBytesPerTrigger": "5g"}}),
        ("in", {"options": {"latestFirst": "true"}}),
    ],
)
def test_of_a_folder_that_is_elsewhere_or_limited_nothing_is_said(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, path: str, settings: dict[str, Any]
) -> None:
    source = folder(path, "parquet", schema="timestamp timestamp", **settings)
    told = Paced(tmp_path, monkeypatch, source)
    told.pace.written(0, {"packets": StreamRows(80_000, 10**9, waiting=9)})
    assert not source.can_be_paced
    assert (told.limits, told.pace.paced(0)) == ([], {})
