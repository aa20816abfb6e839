"""Feeding a burst to its end."""

from __future__ import annotations

from pathlib import Path

import pytest

from streamshed.errors import SinkUnavailableError
from streamshed.traces.feeder import Feeder
from streamshed.traces.staged_feed import StagedFeed
from streamshed_bench.runs.burst_feed import feed_out
from tests.unit.traces.small_trace import small_feed


@pytest.fixture
def watched(tmp_path: Path) -> Path:
    return tmp_path / "watched"


@pytest.fixture
def feed(watched: Path) -> StagedFeed:
    return small_feed(watched)


def test_all_files_are_there_before_the_last_trigger_is_awaited(feed: StagedFeed, watched: Path) -> None:
    found: list[tuple[float, int]] = []
    told: list[float] = []
    feed_out(
        Feeder(feed, watched, speed=1e6, sleep=lambda _: None),
        files=len(feed.files),
        trailing_seconds=3.0,
        progress=told.append,
        sleep=lambda seconds: found.append((seconds, len(list(watched.iterdir())))),
    )
    assert found == [(3.0, len(feed.files))]
    assert len(feed.files) > 1
    assert all(0 <= share <= 1 for share in told)


def test_a_feed_that_fails_is_not_waited_for(feed: StagedFeed, watched: Path) -> None:
    feeder = Feeder(feed, watched, speed=1e6, sleep=lambda _: None)
    feed.files[-1].path.unlink()
    with pytest.raises(SinkUnavailableError):
        feed_out(
            feeder,
            files=len(feed.files),
            trailing_seconds=3.0,
            progress=lambda _: None,
            sleep=lambda _: pytest.fail("waited for a feed that has failed"),
        )
