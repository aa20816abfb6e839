import os
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from streamshed.spark.session import START_SETTINGS
from streamshed.spark.standalone_cluster import standalone_cluster

_HERE = Path(__file__).parent
_ROOT = _HERE.parents[1]
_EXECUTORS = 2
_FOR_MANY_MICRO_BATCHES = ("spark.sql.codegen.cache.maxEntries", "spark.sql.ui.retainedExecutions")
_NEXT_TO_NOTHING_TO_DO = "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC -XX:ReservedCodeCacheSize=512m -Xmn768m"
"""Tests have few rows and much code: what Java would spend on making it faster, they would not get back.

With its first compiler alone, Java keeps 48 MB of code: once that is full, it interprets, and sweeps for ever.
Room for new objects spares it collections: of a test of five minutes they took 15 s.
"""


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
    if config.getoption("--cluster") and not config.getoption("--cluster-all"):
        others = [item for item in items if item.get_closest_marker("cluster") is None]
        items[:] = [item for item in items if item not in others]
        config.hook.pytest_deselected(items=others)


@pytest.fixture(scope="session")
def master(pytestconfig: pytest.Config, tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """Where tasks run: in this process, or with `--cluster` or `--cluster-all` in executors of a core each."""
    if not (pytestconfig.getoption("--cluster") or pytestconfig.getoption("--cluster-all")):
        yield "local[2]"
        return
    with standalone_cluster(tmp_path_factory.mktemp("cluster")) as cluster:
        cluster.add_worker(cores=_EXECUTORS, memory="1400m")
        yield cluster.url


@pytest.fixture(scope="session")
def spark(master: str, tmp_path_factory: pytest.TempPathFactory) -> Iterator[SparkSession]:
    os.environ["SPARK_LOCAL_IP"] = "127.0.0.1"
    os.environ["PYSPARK_PYTHON"] = sys.executable
    builder = (
        SparkSession.builder.master(master)
        .appName("streamshed tests")
        .config("spark.driver.bindAddress", "127.0.0.1")
        .config("spark.driver.host", "127.0.0.1")
        .config("spark.driver.memory", "3g")
        .config("spark.driver.extraJavaOptions", _NEXT_TO_NOTHING_TO_DO)
        .config("spark.sql.session.timeZone", "UTC")
        .config("spark.sql.shuffle.partitions", "2")
        .config("spark.sql.warehouse.dir", str(tmp_path_factory.mktemp("warehouse")))
        .config("spark.ui.enabled", "false")
    )
    settings = {name: START_SETTINGS[name] for name in _FOR_MANY_MICRO_BATCHES}
    settings |= {} if master.startswith("local") else _ON_CLUSTER
    for name, value in settings.items():
        builder = builder.config(name, value)
    session = builder.getOrCreate()
    session.sparkContext.setLogLevel("ERROR")
    yield session
    session.stop()


_ON_CLUSTER = {
    "spark.executor.cores": "1",
    "spark.executor.memory": "512m",
    "spark.executor.extraJavaOptions": _NEXT_TO_NOTHING_TO_DO,
    "spark.executorEnv.PYTHONPATH": str(_ROOT),
    "spark.locality.wait": "0s",
    # A test begins when both have come: else what it measures is theirs to come.
    "spark.scheduler.minRegisteredResourcesRatio": "1.0",
    "spark.cores.max": str(_EXECUTORS),
}
