"""What was learned outlives a process that is killed."""

from __future__ import annotations

from pathlib import Path

import pytest

from streamshed.spark.checkpoint.storage import Storage
from streamshed.spark.loop.learned_files import PERIOD_SECONDS, LearnedFiles, statistics_text
from streamshed.statistics.network_statistics import NetworkStatistics


def test_it_is_written_at_once_and_then_now_and_then(tmp_path: Path) -> None:
    folder, now, learned = Storage.at(str(tmp_path)), [100.0], ["a"]
    files = LearnedFiles(folder, lambda: now[-1])
    files.add("control.json", lambda: learned[-1])
    assert files.read("control.json") is None
    read = []
    for after in (0.0, PERIOD_SECONDS - 1, PERIOD_SECONDS, 2 * PERIOD_SECONDS - 1, 2 * PERIOD_SECONDS):
        now.append(100.0 + after)
        learned.append(f"after {after}")
        files.write_if_due()
        read.append(files.read("control.json"))
    assert read == ["after 0.0", "after 0.0", "after 30.0", "after 30.0", "after 60.0"]
    learned.append("in the end")
    files.write()
    assert LearnedFiles(folder, lambda: 0.0).read("control.json") == "in the end"


def test_a_damaged_file_is_none(tmp_path: Path) -> None:
    folder = Storage.at(str(tmp_path))
    folder.write_text("control.json", "{}")
    assert LearnedFiles(folder, lambda: 0.0).read("control.json") is None


def test_statistics_that_cannot_be_told_stop_nothing(caplog: pytest.LogCaptureFixture) -> None:
    known = NetworkStatistics(fixed_seconds=0.25)
    assert NetworkStatistics.from_json(statistics_text(lambda: known)) == known
    assert statistics_text(lambda: NetworkStatistics(fixed_seconds=float("nan"))) == ""
    assert "what is known of the network is not written down" in caplog.text
