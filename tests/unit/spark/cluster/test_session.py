import os
from collections.abc import Callable
from pathlib import Path

import pytest
from pyspark.sql import DataFrame

import streamshed as ss
from streamshed.errors import InvalidNetworkError, JavaUnavailableError
from streamshed.spark import predictions, query_view
from streamshed.spark.cluster.session import local_session, require_java


class ConnectSession:
    """What a session of Spark Connect looks like; PySpark has them where its packages for them are installed."""

    __module__ = "pyspark.sql.connect.session"
    dtypes = (("timestamp", "timestamp"),)


QUERY = ss.stream("ticks", ss.rate(1), time="timestamp").window("1 second").agg(n="count(*)").query("q")


class Unasked:
    """A sink that nobody asks anything."""

    reads_once = False
    label = "the sink"

    def check(self) -> None:
        raise AssertionError("the sink was asked before the session")

    def write(self, answers: DataFrame, query_id: str, micro_batch_id: int) -> None:
        raise AssertionError((answers, query_id, micro_batch_id))


@pytest.mark.parametrize(
    "refused",
    [
        lambda: ss.network(QUERY).start(ConnectSession(), checkpoint="/nowhere", sink=Unasked()),
        lambda: ss.network(QUERY).answers(ConnectSession()),
        lambda: ss.network(QUERY).answers(None, {"ticks": ConnectSession()}),
        lambda: query_view(ConnectSession(), ss.network(QUERY), "q"),  # type: ignore[arg-type]
        lambda: predictions(ConnectSession(), ss.network(QUERY), "q"),  # type: ignore[arg-type]
        lambda: ss.stream("ticks", ConnectSession(), time="timestamp"),
        lambda: ss.relation("hosts", ConnectSession()),
    ],
    ids=["start", "answers", "inputs", "view", "predictions", "stream", "relation"],
)
def test_what_is_of_spark_connect_is_refused_before_anything_runs(refused: Callable[[], object]) -> None:
    with pytest.raises(InvalidNetworkError, match="is of Spark Connect"):
        refused()


@pytest.mark.parametrize("name", ["SPARK_REMOTE", "SPARK_CONNECT_MODE_ENABLED"])
def test_no_session_is_made_where_pyspark_would_make_one_of_spark_connect(
    name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(name, "1")
    with pytest.raises(InvalidNetworkError, match=f"the variable {name} is set"):
        local_session()


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
