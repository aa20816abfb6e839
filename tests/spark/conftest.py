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
from tests.spark.trunks.together import TOGETHER, together_with
from tests.thoroughness import is_thorough

_HERE = Path(__file__).parent
_TRUNKS, _ELASTIC, _KAFKA = "tests/spark/trunks/", "tests/spark/elastic/", "tests/spark/kafka/"
_WHOLE = (_ELASTIC, _KAFKA)
"""Folders whose tests run in one session: they share servers."""

_FIRST = (
    *(f"{_TRUNKS}{trunks[0]}/" for trunks in TOGETHER),
    f"{_TRUNKS}drop/",
    _ELASTIC,
    _KAFKA,
    *(f"tests/spark/{begin}" for begin in ("kill_loop/", "tables/", "streaming/", "exactness/", "test_")),
)
"""The longest come first, one in each session. Each begins with two: what is third waits behind the first.

The many short files of the other folders come last, so that both sessions end together.
"""


def pytest_configure(config: pytest.Config) -> None:
    """Let starts of streams be counted, in all sessions and the programs that they start."""
    if not hasattr(config, "workerinput"):
        os.environ[FOLDER] = tempfile.mkdtemp(prefix="streams_started_")
    note_all_starts()


class SessionScheduling(LoadScopeScheduling):  # type: ignore[misc] # xdist has no types
    """Lets trunks that share a process run in one session, so those that share servers, and the tests of each file."""

    def _split_scope(self, nodeid: str) -> str:
        return _scope_of(nodeid)


def _scope_of(nodeid: str) -> str:
    file = nodeid.partition("::")[0]
    if file.startswith(_TRUNKS):
        return f"{_TRUNKS}{together_with(_folder_in(_TRUNKS, file))[0]}/"
    return next(filter(file.startswith, _WHOLE), file)


def _folder_in(folder: str, file: str) -> str:
    return file.removeprefix(folder).partition("/")[0]


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
    folder = next(filter(_scope_of(nodeid).startswith, _FIRST), None)
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
