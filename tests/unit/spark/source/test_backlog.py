import os
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from streamshed.network.source.sources import FolderSource, folder
from streamshed.spark.source.backlog import Waiting, rows_left, waiting_files


def written(watched: Path, names: list[str]) -> list[str]:
    """Files, each a second younger than the one before."""
    paths = []
    for second, name in enumerate(names):
        path = watched / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text("{}")
        os.utime(path, (1_000_000 + second, 1_000_000 + second))
        paths.append(str(path))
    return paths


def source(watched: Path, most: int | None, **options: str) -> FolderSource:
    return folder(watched, "json", schema="v int", max_files_per_micro_batch=most, options=options)


def test_younger_files_wait(tmp_path: Path) -> None:
    paths = written(tmp_path, ["a.json", "b.json", "c.json", "day=2/d.json", "_e.json", ".f.json", "_g/h.json"])
    assert waiting_files(source(tmp_path, 2), paths[:2], 200).rows == 200
    assert waiting_files(source(tmp_path, 1), paths[:1], 50).rows == 150
    assert waiting_files(source(tmp_path, 2), paths[2:4], 200).rows == 0


def test_a_micro_batch_that_takes_fewer_files_than_it_may_leaves_none(tmp_path: Path) -> None:
    paths = written(tmp_path, ["a.json", "b.json", "c.json"])
    assert waiting_files(source(tmp_path, 3), paths[:2], 200).rows == 0
    assert waiting_files(source(tmp_path, None), paths[:2], 200).rows == 0
    assert waiting_files(source(tmp_path, 2), [], 0).rows == 0


def test_a_folder_read_from_its_youngest_file_does_not_tell(tmp_path: Path) -> None:
    paths = written(tmp_path, ["a.json", "b.json"])
    assert waiting_files(source(tmp_path, 1, latestFirst="true"), paths[:1], 10).rows == 0


def test_files_that_are_gone_do_not_tell(tmp_path: Path) -> None:
    paths = written(tmp_path, ["a.json", "b.json"])
    Path(paths[0]).unlink()
    assert waiting_files(source(tmp_path, 1), paths[:1], 10).rows == 0


@given(ends=st.dictionaries(st.sampled_from("abc"), st.integers(0, 100)), behind=st.integers(0, 50))
def test_a_broker_is_behind_by_what_each_partition_is(ends: dict[str, int], behind: int) -> None:
    latest = {"topic": {name: end + behind for name, end in ends.items()}}
    assert rows_left({"endOffset": {"topic": ends}, "latestOffset": latest}) == behind * len(ends)


@pytest.mark.parametrize("latest", [None, 7, "x", {"logOffset": 3}])
def test_other_sources_do_not_tell(latest: object) -> None:
    assert rows_left({"endOffset": {"topic": {"0": 1}}, "latestOffset": latest}) is None


def test_the_youngest_file_that_waits_is_told(tmp_path: Path) -> None:
    paths = written(tmp_path, ["a.json", "b.json", "day=2/c.json"])
    assert waiting_files(source(tmp_path, 1), paths[:1], 10) == Waiting(20, paths[2])
    assert waiting_files(source(tmp_path, 1), paths[2:], 10) == Waiting()


@pytest.mark.parametrize(("most_bytes", "rows"), [(29, 100), (30, 0), (10**9, 0)])
def test_what_would_have_been_taken_came_later(tmp_path: Path, most_bytes: int, rows: int) -> None:
    """Of four files of ten bytes two were taken: a third would have been, if Spark had seen it."""
    paths = [str(tmp_path / f"{number}.json") for number in range(4)]
    for age, path in enumerate(paths):
        Path(path).write_text("0123456789")
        os.utime(path, ns=(0, 10**9 + age))
    assert waiting_files(source(tmp_path, None), paths[:2], 100, most_bytes).rows == rows
