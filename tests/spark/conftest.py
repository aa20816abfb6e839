import os
import tempfile
from collections.abc import Iterator
from pathlib import Path, PurePosixPath
from typing import Any

import pytest
from pyspark.sql import SparkSession
from xdist.scheduler import LoadScopeScheduling

from tests.spark.budget import FOLDER, MOST, MOST_ELASTIC, StreamCount, count_streams, note_all_starts
from tests.spark.sessions import session_for_tests
from tests.thoroughness import is_thorough

_HERE = Path(__file__).parent
_TRUNKS = _HERE / "trunks"
_TRUNKS_BELOW_ROOT = "tests/spark/trunks/"


def pytest_configure(config: pytest.Config) -> None:
    """Let starts of streams be counted, in all sessions and the programs that they start."""
    if not hasattr(config, "workerinput"):
        os.environ[FOLDER] = tempfile.mkdtemp(prefix="streams_started_")
    note_all_starts()


class SessionScheduling(LoadScopeScheduling):  # type: ignore[misc] # xdist has no types
    """Lets all scenarios of a trunk run in one session, and the tests of each other file."""

    def _split_scope(self, nodeid: str) -> str:
        file = nodeid.partition("::")[0]
        folder = str(PurePosixPath(file).parent)
        return folder if folder.startswith(_TRUNKS_BELOW_ROOT) else file


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_make_scheduler(config: pytest.Config, log: Any) -> SessionScheduling:
    """Divide the tests among sessions."""
    return SessionScheduling(config, log)


def pytest_itemcollected(item: pytest.Item) -> None:
    """Mark what starts Spark."""
    if item.path.is_relative_to(_HERE):
        item.add_marker(pytest.mark.spark)


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Trunks take longest: what is begun last should be short."""
    items.sort(key=lambda item: not item.path.is_relative_to(_TRUNKS))


def pytest_sessionfinish(session: pytest.Session) -> None:
    """Fail where more streams were started than may be."""
    if hasattr(session.config, "workerinput"):
        return
    count, most = count_streams(Path(os.environ[FOLDER])), _most(session.config)
    if count.exceeds(most) and not is_thorough():
        session.exitstatus = pytest.ExitCode.TESTS_FAILED


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter, config: pytest.Config) -> None:
    """Say how many streams were started, and how many may be."""
    count, most = count_streams(Path(os.environ[FOLDER])), _most(config)
    terminalreporter.write_line(
        f"streams started: {count.runs} of at most {most.runs}, micro-batches: {count.micro_batches} of at most"
        f" {most.micro_batches} (tests/spark/budget.py)",
        red=count.exceeds(most),
    )


def _most(config: pytest.Config) -> StreamCount:
    arguments = [Path(argument.partition("::")[0]).absolute() for argument in config.args]
    is_elastic = all(argument.is_relative_to(_HERE / "elastic") for argument in arguments)
    return MOST_ELASTIC if is_elastic else MOST


@pytest.fixture(scope="session")
def spark(tmp_path_factory: pytest.TempPathFactory) -> Iterator[SparkSession]:
    session = session_for_tests(options={"spark.sql.warehouse.dir": str(tmp_path_factory.mktemp("warehouse"))})
    yield session
    session.stop()
