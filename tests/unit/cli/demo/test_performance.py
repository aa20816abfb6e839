import os
from pathlib import Path

import pytest

from streamshed.cli.demo.performance import scratch
from streamshed.cli.terminal.exit_code import ExitCode
from streamshed.errors import SinkUnavailableError
from tests.unit.cli.command_line import streamshed


def test_only_what_the_demo_made_is_removed(tmp_path: Path) -> None:
    mine = tmp_path / "scratch" / "thesis.txt"
    mine.parent.mkdir()
    mine.write_text("mine")
    with scratch(tmp_path) as folder:
        (folder / "packets").mkdir()
    assert mine.read_text() == "mine"
    assert [path.name for path in tmp_path.iterdir()] == ["scratch"]


def test_two_demos_share_a_folder_of_results(tmp_path: Path) -> None:
    with scratch(tmp_path / "out") as first, scratch(tmp_path / "out") as second:
        assert first != second
        assert first.is_dir()
        assert second.is_dir()


def test_a_refused_demo_leaves_the_folder_as_it_was(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("JAVA_HOME", os.fspath(tmp_path / "none"))
    mine = tmp_path / "scratch" / "thesis.txt"
    mine.parent.mkdir()
    mine.touch()
    outcome = streamshed("demo", "--out", tmp_path)
    assert outcome.code == ExitCode.REFUSED
    assert "no Java found" in outcome.errors
    assert list(tmp_path.rglob("*.txt")) == [mine]
    assert [path.name for path in tmp_path.iterdir()] == ["scratch"]


def test_an_unwritable_folder_is_refused(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    with pytest.raises(SinkUnavailableError, match="cannot be written"), scratch(tmp_path / "file" / "out"):
        pytest.fail("there is no folder")
