import os
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import SparkSession
from xdist.scheduler import LoadScopeScheduling

from tests.spark.budget import FOLDER, MOST, count_streams, note_all_starts
from tests.spark.sessions import session_for_tests
from tests.thoroughness import is_thorough

_HERE = Path(__file__).parent
_WHOLE = ("tests/spark/trunks/drop/", "tests/spark/trunks/", "tests/spark/elastic/")
"""What lies below the first of these that fits runs in one session: trunks without a cluster share a process."""

_FIRST = ("tests/spark/trunks/", "tests/spark/elastic/", "tests/spark/batch/", "tests/spark/trunks/drop/")
"""The longest comes first. Each session begins with two: what is third waits behind the first."""


def pytest_configure(config: pytest.Config) -> None:
    """Let starts of streams be counted, in all sessions and the programs that they start."""
    if not hasattr(config, "workerinput"):
        os.environ[FOLDER] = tempfile.mkdtemp(prefix="streams_started_")
    note_all_starts()


class SessionScheduling(LoadScopeScheduling):  # type: ignore[misc] # xdist has no types
    """Lets all trunks run in one session, so the elastic course, and the tests of each file."""

    def _split_scope(self, nodeid: str) -> str:
        file = nodeid.partition("::")[0]
        return next(filter(file.startswith, _WHOLE), file)


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_make_scheduler(config: pytest.Config, log: Any) -> SessionScheduling:
    """Divide the tests among sessions."""
    return SessionScheduling(config, log)


def pytest_itemcollected(item: pytest.Item) -> None:
    """Mark what starts Spark."""
    if item.path.is_relative_to(_HERE):
        item.add_marker(pytest.mark.spark)


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """What is begun last should be short."""
    items.sort(key=lambda item: _turn(item.nodeid))


def _turn(nodeid: str) -> int:
    folder = max(filter(nodeid.startswith, _FIRST), key=len, default=None)
    return len(_FIRST) if folder is None else _FIRST.index(folder)


def pytest_sessionfinish(session: pytest.Session) -> None:
    """Fail where more streams were started than may be."""
    if hasattr(session.config, "workerinput"):
        return
    count = count_streams(Path(os.environ[FOLDER]))
    if count.exceeds(MOST) and not is_thorough():
        session.exitstatus = pytest.ExitCode.TESTS_FAILED


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    """Say how many streams were started, and how many may be."""
    count = count_streams(Path(os.environ[FOLDER]))
    terminalreporter.write_line(
        f"streams started: {count.runs} of at most {MOST.runs}, micro-batches: {count.micro_batches} of at most"
        f" {MOST.micro_batches} (tests/spark/budget.py)",
        red=count.exceeds(MOST),
    )


@pytest.fixture(scope="session")
def spark(tmp_path_factory: pytest.TempPathFactory) -> Iterator[SparkSession]:
    session = session_for_tests(options={"spark.sql.warehouse.dir": str(tmp_path_factory.mktemp("warehouse"))})
    yield session
    session.stop()
