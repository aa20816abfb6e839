import os
import threading
from itertools import pairwise
from pathlib import Path

import pytest

from streamshed.errors import SinkUnavailableError, SourceUnavailableError
from streamshed.traces.errors import InvalidReplayError
from streamshed.traces.feeder import Feeder, FeedReport
from streamshed.traces.load_profile import constant_load
from streamshed.traces.stage import stage
from streamshed.traces.staged_feed import StagedFeed
from tests.unit.traces.small_trace import small_feed, small_trace

NOW = 1_700_000_000.0


class VirtualTime:
    """Time passes only while somebody sleeps."""

    def __init__(self) -> None:
        self.now = NOW

    def clock(self) -> float:
        return self.now

    def sleep(self, seconds: float) -> None:
        self.now += seconds


@pytest.fixture
def watched(tmp_path: Path) -> Path:
    return tmp_path / "watched"


@pytest.fixture
def feed(watched: Path) -> StagedFeed:
    return small_feed(watched)


@pytest.fixture
def time() -> VirtualTime:
    return VirtualTime()


def names(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.iterdir())


def test_files_are_placed_when_they_are_due(feed: StagedFeed, watched: Path, time: VirtualTime) -> None:
    seen: list[tuple[float, int]] = []
    feeder = Feeder(
        feed,
        watched,
        clock=time.clock,
        sleep=time.sleep,
        on_file=lambda report: seen.append((time.now - NOW, report.rows)),
    )
    assert not feeder.report.finished
    report = feeder.run()
    assert seen == [(0.5, 50), (1.0, 100), (1.5, 150), (2.0, 200)]
    assert report == FeedReport(files=4, rows=200, finished=True)
    assert names(watched) == [file.path.name for file in feed.files]
    assert names(feed.folder) == ["manifest.json"]


@pytest.mark.parametrize("speed", [1.0, 4.0, 10_000.0])
def test_modification_times_follow_the_due_order(
    feed: StagedFeed, watched: Path, time: VirtualTime, speed: float
) -> None:
    Feeder(feed, watched, speed=speed, clock=time.clock, sleep=time.sleep).run()
    stamps = [(watched / file.path.name).stat().st_mtime_ns // 1_000_000 for file in feed.files]
    assert all(later > earlier for earlier, later in pairwise(stamps))
    assert stamps[0] == round((NOW + 0.5 / speed) * 1000)
    assert time.now == pytest.approx(NOW + 2 / speed)


def test_lateness_is_reported(feed: StagedFeed, watched: Path, time: VirtualTime) -> None:
    def oversleep(seconds: float) -> None:
        time.now += seconds + 0.1

    report = Feeder(feed, watched, clock=time.clock, sleep=oversleep).run()
    assert report.worst_lateness_seconds == pytest.approx(0.1)
    assert report.mean_lateness_seconds == pytest.approx(0.1)


def test_a_late_start_catches_up_at_once(feed: StagedFeed, watched: Path, time: VirtualTime) -> None:
    report = Feeder(feed, watched, start_seconds=NOW - 10, clock=time.clock, sleep=time.sleep).run()
    assert time.now == NOW
    assert report.worst_lateness_seconds == pytest.approx(9.5)
    assert report.mean_lateness_seconds == pytest.approx(8.75)


def test_a_start_in_the_future_is_waited_for(feed: StagedFeed, watched: Path, time: VirtualTime) -> None:
    Feeder(feed, watched, start_seconds=NOW + 10, clock=time.clock, sleep=time.sleep).run()
    assert time.now == pytest.approx(NOW + 12)


def test_a_feed_can_be_stopped(feed: StagedFeed, watched: Path, time: VirtualTime) -> None:
    feeder = Feeder(feed, watched, clock=time.clock, sleep=time.sleep, on_file=lambda _: feeder.stop())
    report = feeder.run()
    assert (report.files, report.finished) == (1, False)
    assert len(names(watched)) == 1


def test_linked_files_can_be_fed_again(feed: StagedFeed, tmp_path: Path, time: VirtualTime) -> None:
    for folder in ("first", "second"):
        report = Feeder(feed, tmp_path / folder, clock=time.clock, sleep=time.sleep, place=os.link).run()
        assert report.finished
    assert names(tmp_path / "first") == names(tmp_path / "second")


def test_a_thread_feeds_and_reports(feed: StagedFeed, watched: Path, time: VirtualTime) -> None:
    feeder = Feeder(feed, watched, clock=time.clock, sleep=time.sleep)
    feeder.start()
    assert feeder.join() == FeedReport(files=4, rows=200, finished=True)


def test_stopping_ends_the_wait_of_a_thread(feed: StagedFeed, watched: Path) -> None:
    feeder = Feeder(feed, watched, speed=1e-6)
    feeder.start()
    assert feeder.join(timeout_seconds=0) == FeedReport()
    feeder.stop()
    assert feeder.join() == FeedReport()
    assert not any(thread.name == "feeder" for thread in threading.enumerate())


def test_what_fails_in_the_thread_is_raised_where_it_is_joined(
    feed: StagedFeed, watched: Path, time: VirtualTime
) -> None:
    feeder = Feeder(feed, watched, clock=time.clock, sleep=time.sleep)
    feed.files[1].path.unlink()
    feeder.start()
    with pytest.raises(SinkUnavailableError, match=r"feed-000001\.parquet cannot be placed"):
        feeder.join()
    assert feeder.report.files == 1


def test_an_empty_feed_is_finished(watched: Path, time: VirtualTime) -> None:
    feed = stage(small_trace(), constant_load(1_000_000), rows_per_second=0.1, watched=watched)
    assert Feeder(feed, watched, clock=time.clock, sleep=time.sleep).run().finished


@pytest.mark.parametrize("speed", [0, -1, float("nan"), float("inf")])
def test_the_speed_must_be_above_zero(feed: StagedFeed, watched: Path, speed: float) -> None:
    with pytest.raises(InvalidReplayError, match="speed of a feed must be above 0"):
        Feeder(feed, watched, speed=speed)


def test_a_feed_that_was_fed_is_refused(feed: StagedFeed, watched: Path, time: VirtualTime) -> None:
    Feeder(feed, watched, clock=time.clock, sleep=time.sleep).run()
    with pytest.raises(SourceUnavailableError, match="was it fed already"):
        Feeder(feed, watched)


def test_files_in_the_watched_folder_are_not_overwritten(feed: StagedFeed, watched: Path) -> None:
    (watched / feed.files[2].path.name).write_text("an earlier feed")
    with pytest.raises(SinkUnavailableError, match=r"already holds feed-000002\.parquet"):
        Feeder(feed, watched)
