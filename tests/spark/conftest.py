import os
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from tests.spark.budget import FOLDER, MOST, MOST_ELASTIC, StreamCount, count_streams, note_all_starts
from tests.spark.sessions import session_for_tests
from tests.thoroughness import is_thorough

_HERE = Path(__file__).parent
_TRUNKS = _HERE / "trunks"


def pytest_configure(config: pytest.Config) -> None:
    """Let starts of streams be counted, in all sessions and the programs that they start."""
    if not hasattr(config, "workerinput"):
        os.environ[FOLDER] = tempfile.mkdtemp(prefix="streams_started_")
    note_all_starts()


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    for item in items:
        if item.path.is_relative_to(_HERE):
            item.add_marker(pytest.mark.spark)
            item.add_marker(pytest.mark.xdist_group(_session_group(item.path)))
    # Trunks take longest: what is begun last should be short.
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


def _session_group(path: Path) -> str:
    """What runs in one session: all scenarios of a trunk, or the tests of a file."""
    return str(path.parent if path.is_relative_to(_TRUNKS) else path)


@pytest.fixture(scope="session")
def spark(tmp_path_factory: pytest.TempPathFactory) -> Iterator[SparkSession]:
    session = session_for_tests(options={"spark.sql.warehouse.dir": str(tmp_path_factory.mktemp("warehouse"))})
    yield session
    session.stop()
