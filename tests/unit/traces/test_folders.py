import errno
import os
from pathlib import Path

import pytest

from streamshed.errors import SinkUnavailableError, SourceUnavailableError
from streamshed.traces.errors import InvalidReplayError
from streamshed.traces.folders import check_hidden, check_same_file_system, make_writable, staging_folder_of


def test_staging_lies_beside_what_a_link_points_to(tmp_path: Path) -> None:
    (tmp_path / "far").mkdir()
    (tmp_path / "watched").symlink_to(tmp_path / "far")
    assert staging_folder_of(tmp_path / "watched") == tmp_path / "_far.staging"


@pytest.mark.parametrize("staging", [".", "inner", "inner/deeper"])
def test_staging_in_sight_of_spark_is_refused(tmp_path: Path, staging: str) -> None:
    with pytest.raises(InvalidReplayError, match="would be seen before they are due"):
        check_hidden(tmp_path / staging, tmp_path)


@pytest.mark.parametrize("staging", ["../beside", "_staging", ".staging/files"])
def test_staging_out_of_sight_is_fine(tmp_path: Path, staging: str) -> None:
    check_hidden(tmp_path / staging, tmp_path)


def test_an_unwritable_folder_is_named_with_its_role(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    with pytest.raises(SinkUnavailableError, match=r"watched folder .*inner: cannot be written"):
        make_writable(tmp_path / "file" / "inner", role="watched folder")


def test_placing_is_tried_without_leaving_anything(tmp_path: Path) -> None:
    (tmp_path / "_staging").mkdir()
    for place in (os.rename, os.link):
        check_same_file_system(tmp_path / "_staging", tmp_path / "watched", place=place)
    assert sorted(path.name for path in tmp_path.rglob("*")) == ["_staging", "watched"]


def test_another_file_system_is_refused_with_the_way_out(tmp_path: Path) -> None:
    def place(source: Path, target: Path) -> None:
        raise OSError(errno.EXDEV, "Invalid cross-device link", str(source), None, str(target))

    (tmp_path / "_staging").mkdir()
    with pytest.raises(SinkUnavailableError, match=r"different file systems.*stage beside.*_watched\.staging"):
        check_same_file_system(tmp_path / "_staging", tmp_path / "watched", place=place)
    assert list((tmp_path / "_staging").iterdir()) == []


def test_another_reason_is_told_as_it_is(tmp_path: Path) -> None:
    def place(source: Path, target: Path) -> None:
        raise PermissionError(errno.EACCES, "Permission denied", str(source), None, str(target))

    (tmp_path / "_staging").mkdir()
    with pytest.raises(SinkUnavailableError, match=r"cannot be placed there: .*Permission denied"):
        check_same_file_system(tmp_path / "_staging", tmp_path / "watched", place=place)


def test_a_missing_staging_folder(tmp_path: Path) -> None:
    with pytest.raises(SourceUnavailableError, match=r"no such folder \(was it staged\?\)"):
        check_same_file_system(tmp_path / "_staging", tmp_path / "watched")
