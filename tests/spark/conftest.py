from collections.abc import Iterator
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from streamshed.spark.standalone_cluster import standalone_cluster
from tests.spark.sessions import session_for_tests

_HERE = Path(__file__).parent
_TRUNKS = _HERE / "trunks"


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption(
        "--cluster",
        action="store_true",
        help="run the tests marked `cluster`, with executors on a standalone cluster on the loopback address",
    )
    parser.addoption("--cluster-all", action="store_true", help="run all tests so, marked or not")


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    for item in items:
        if item.path.is_relative_to(_HERE):
            item.add_marker(pytest.mark.spark)
            item.add_marker(pytest.mark.xdist_group(_session_group(item.path)))
    if config.getoption("--cluster") and not config.getoption("--cluster-all"):
        others = [item for item in items if item.get_closest_marker("cluster") is None]
        items[:] = [item for item in items if item not in others]
        config.hook.pytest_deselected(items=others)
    # Trunks take longest: what is begun last should be short.
    items.sort(key=lambda item: not item.path.is_relative_to(_TRUNKS))


def _session_group(path: Path) -> str:
    """What runs in one session: all scenarios of a trunk, or the tests of a file."""
    return str(path.parent if path.is_relative_to(_TRUNKS) else path)


@pytest.fixture(scope="session")
def master(pytestconfig: pytest.Config, tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """Where tasks run: in this process, or with `--cluster` or `--cluster-all` in executors of a core each."""
    if not (pytestconfig.getoption("--cluster") or pytestconfig.getoption("--cluster-all")):
        yield "local[2]"
        return
    with standalone_cluster(tmp_path_factory.mktemp("cluster")) as cluster:
        cluster.add_worker(cores=2, memory="1400m")
        yield cluster.url


@pytest.fixture(scope="session")
def spark(master: str, tmp_path_factory: pytest.TempPathFactory) -> Iterator[SparkSession]:
    session = session_for_tests(master, {"spark.sql.warehouse.dir": str(tmp_path_factory.mktemp("warehouse"))})
    yield session
    session.stop()
