from pathlib import Path
from typing import Any

import pytest

from streamshed.errors import InvalidNetworkError, SinkUnavailableError
from streamshed.spark.checkpoint.storage import Storage, absolute_location
from streamshed.spark.sinks.sinks import parquet_sink


def test_a_folder_is_made_and_left_empty(tmp_path: Path) -> None:
    storage = Storage.at(str(tmp_path / "new"))
    assert storage.is_local
    assert storage.names() == []
    assert (tmp_path / "new").is_dir()


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
