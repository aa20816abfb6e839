import os
from pathlib import Path

import pytest

from streamshed.errors import JavaUnavailableError
from streamshed.spark.cluster.session import require_java


class Home:
    """A JAVA_HOME whose `java` is a script."""

    def __init__(self, folder: Path) -> None:
        self.java = folder / "bin" / "java"
        self.java.parent.mkdir()

    def holds(self, first_line: str, *, mode: int = 0o755) -> None:
        self.java.write_text(f"#!/bin/sh\necho '{first_line}' >&2\n")
        self.java.chmod(mode)


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Home:
    monkeypatch.setenv("JAVA_HOME", os.fspath(tmp_path))
    return Home(tmp_path)


@pytest.mark.parametrize("first_line", ['openjdk version "17.0.15" 2025-04-15', 'java version "21" 2023-09-19 LTS'])
def test_a_java_that_is_new_enough(home: Home, first_line: str) -> None:
    home.holds(first_line)
    require_java()


@pytest.mark.parametrize(
    ("first_line", "version"), [('openjdk version "11.0.24" 2024-07-16', "11"), ('java version "1.8.0_412"', "8")]
)
def test_one_that_is_too_old(home: Home, first_line: str, version: str) -> None:
    home.holds(first_line)
    with pytest.raises(JavaUnavailableError, match=f"is Java {version}, which is too old. Spark needs Java 17"):
        require_java()


def test_one_that_is_missing(home: Home) -> None:
    with pytest.raises(
        JavaUnavailableError, match=f"no Java found in JAVA_HOME={home.java.parent.parent}. Spark needs"
    ):
        require_java()


def test_none_at_all(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("JAVA_HOME", raising=False)
    monkeypatch.setenv("PATH", os.fspath(tmp_path))
    with pytest.raises(JavaUnavailableError, match=r"no Java found\. Spark needs"):
        require_java()


def test_one_that_may_not_be_run(home: Home) -> None:
    home.holds('openjdk version "17.0.15" 2025-04-15', mode=0o644)
    with pytest.raises(JavaUnavailableError, match="java cannot be run: Permission denied"):
        require_java()


def test_one_that_is_no_program(home: Home) -> None:
    home.java.write_bytes(b"\x00\x01")
    home.java.chmod(0o755)
    with pytest.raises(JavaUnavailableError, match="java cannot be run: Exec format error"):
        require_java()
