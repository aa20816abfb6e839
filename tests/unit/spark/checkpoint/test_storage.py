import os
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest
from pyarrow import fs

from streamshed.errors import InvalidNetworkError, SinkUnavailableError
from streamshed.spark.checkpoint.storage import Storage, absolute_location
from streamshed.spark.sinks.sinks import parquet_sink


def test_a_folder_is_made_and_left_empty(tmp_path: Path) -> None:
    storage = Storage.at(str(tmp_path / "new"))
    assert storage.is_local
    assert storage.names() == []
    assert (tmp_path / "new").is_dir()


def test_several_may_try_a_folder_at_the_same_time(tmp_path: Path) -> None:
    with ThreadPoolExecutor(8) as threads:
        made = list(threads.map(lambda _: Storage.at(str(tmp_path / "shared")), range(400)))
    assert made[0].names() == []


def modes(folder: Path) -> set[str]:
    """The modes of a folder, and of all that is in it."""
    return {f"{path.stat().st_mode & 0o777:o}" for path in (folder, *folder.rglob("*"))}


@pytest.fixture(params=[0o022, 0o077], ids=["022", "077"])
def umask(request: pytest.FixtureRequest) -> Iterator[None]:
    before = os.umask(request.param)
    yield
    os.umask(before)


@pytest.mark.usefixtures("umask")
def test_a_checkpoint_is_for_this_user_alone(tmp_path: Path) -> None:
    tmp_path.chmod(0o755)
    checkpoint = Storage.private(str(tmp_path / "out" / "checkpoint"))
    checkpoint.below("time").below("plans").write_text("0.json", "{}")
    checkpoint.write_text("network.json", "{}")
    assert modes(tmp_path / "out" / "checkpoint") == {"700", "600"}


def test_a_folder_that_is_there_keeps_its_mode_and_files_are_as_open(tmp_path: Path) -> None:
    """Its owner lets others look, who may watch the run."""
    before = os.umask(0o022)
    try:
        for mode, modes_within in ((0o755, {"755", "644"}), (0o750, {"750", "640"}), (0o700, {"700", "600"})):
            folder = tmp_path / f"{mode:o}"
            folder.mkdir()
            folder.chmod(mode)
            Storage.private(str(folder)).below("time").write_text("statistics.json", "{}")
            assert modes(folder) == modes_within
    finally:
        os.umask(before)


def test_a_group_that_may_write_what_is_made_may_write_a_checkpoint(tmp_path: Path) -> None:
    """Executors may be other users."""
    tmp_path.chmod(0o755)
    before = os.umask(0o002)
    try:
        Storage.private(str(tmp_path / "checkpoint")).write_text("network.json", "{}")
    finally:
        os.umask(before)
    assert modes(tmp_path / "checkpoint") == {"770", "660"}


def test_what_others_read_is_as_open_as_its_folder(tmp_path: Path) -> None:
    """What a network publishes is for other applications, perhaps of other users."""
    tmp_path.chmod(0o755)
    before = os.umask(0o022)
    try:
        Storage.at(str(tmp_path / "shared")).write_text("needs.json", "{}")
    finally:
        os.umask(before)
    assert modes(tmp_path / "shared") == {"755", "644"}


class Crashing(fs.SubTreeFileSystem):  # type: ignore[misc]  # PyArrow has no types
    """A file system on which a process dies as it writes. A file is there from its creation on, as on HDFS."""

    def open_output_stream(self, path: str) -> None:
        super().open_output_stream(path).close()
        raise KeyboardInterrupt


def test_elsewhere_too_a_crash_leaves_a_file_as_it_was(tmp_path: Path) -> None:
    disk = fs.LocalFileSystem()
    far, crashing = (Storage(kind(str(tmp_path), disk), "plans") for kind in (fs.SubTreeFileSystem, Crashing))
    assert not far.is_local
    far.write_text("4.json", "the first")
    far.write_text("4.json", "the second")
    for name in ("4.json", "5.json"):
        with pytest.raises(KeyboardInterrupt):
            crashing.write_text(name, "what nobody reads")
    assert (far.names(), far.read_text("4.json"), far.read_text("5.json")) == (["4.json"], "the second", None)
    far.discard_drafts()
    assert [path.name for path in (tmp_path / "plans").iterdir()] == ["4.json"]


@pytest.mark.parametrize(
    ("location", "problem"),
    [
        (
            "s3a://bucket/x",
            r'cannot write to "s3a://bucket/x": .* PyArrow knows no scheme "s3a" \(did you mean "s3"\?\)',
        ),
        ("foo://x", 'PyArrow knows no scheme "foo"$'),
        ("file:relative", 'cannot write to "file:relative": File URI cannot be relative'),
    ],
)
def test_a_uri_that_leads_nowhere_is_told(location: str, problem: str) -> None:
    with pytest.raises(SinkUnavailableError, match=problem):
        Storage.at(location)


def test_a_sink_at_a_uri_is_tried_before_anything_runs(tmp_path: Path) -> None:
    parquet_sink(f"file:{tmp_path}/answers").check()
    assert [*(tmp_path / "answers").iterdir()] == []
    (tmp_path / "file").touch()
    with pytest.raises(SinkUnavailableError, match=f'cannot write answers to "file://{tmp_path}/file/answers": '):
        parquet_sink(f"file://{tmp_path}/file/answers").check()


def test_a_sink_to_which_only_spark_knows_the_way_is_left_to_it() -> None:
    parquet_sink("s3a://bucket/answers").check()


def test_a_sink_takes_paths(tmp_path: Path) -> None:
    assert parquet_sink(tmp_path).path == str(tmp_path)


def test_a_checkpoint_may_be_a_path_and_nothing_else(tmp_path: Path) -> None:
    assert absolute_location(tmp_path / "checkpoint") == f"{tmp_path}/checkpoint"
    assert absolute_location("file:/out/checkpoint") == "file:/out/checkpoint"
    nothing: Any = None
    with pytest.raises(InvalidNetworkError, match=r'a folder is a path or a URI, such as "out/checkpoint", got None'):
        absolute_location(nothing)
