from pathlib import Path

import pytest

from streamshed.errors import SourceUnavailableError
from streamshed.traces.staged_feed import MANIFEST_NAME, StagedFeed, StagedFile, load_manifest, save_manifest


def feed_of(folder: Path) -> StagedFeed:
    files = tuple(
        StagedFile(
            path=folder / f"feed-{number:06d}.parquet",
            due_seconds=number + 0.5,
            rows=10 * (number + 1),
            first_time_microseconds=number,
            last_time_microseconds=number + 1,
        )
        for number in range(3)
    )
    return StagedFeed(folder=folder, files=files, duration_seconds=2.5, start_microseconds=7, next_offsets=(30, 30))


def test_a_manifest_is_read_as_it_was_written(tmp_path: Path) -> None:
    feed = feed_of(tmp_path)
    save_manifest(feed)
    assert load_manifest(tmp_path) == feed
    assert feed.rows == 60


def test_a_staging_folder_may_be_moved(tmp_path: Path) -> None:
    (tmp_path / "old").mkdir()
    save_manifest(feed_of(tmp_path / "old"))
    (tmp_path / "old").rename(tmp_path / "new")
    assert load_manifest(tmp_path / "new") == feed_of(tmp_path / "new")


def test_a_missing_manifest(tmp_path: Path) -> None:
    with pytest.raises(SourceUnavailableError, match="no manifest"):
        load_manifest(tmp_path)


@pytest.mark.parametrize("content", ["{", "[]", "{}", '{"files": [], "next_offsets": [], "speed": 1}'])
def test_a_broken_manifest(tmp_path: Path, content: str) -> None:
    (tmp_path / MANIFEST_NAME).write_text(content, encoding="utf-8")
    with pytest.raises(SourceUnavailableError, match="cannot be read"):
        load_manifest(tmp_path)
