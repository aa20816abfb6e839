from types import SimpleNamespace
from typing import Any, cast

import pytest
from pyspark.sql import SparkSession

from streamshed.elasticity.settings import ElasticSettings
from streamshed.elasticity.workers import WorkerLimits, Workers
from streamshed.errors import InvalidNetworkError
from streamshed.network.run.settings import Settings
from streamshed.simulator.cluster import ClusterSettings, VirtualCluster
from streamshed.spark.cluster import elastic_workers as elastic_workers_module
from streamshed.spark.cluster.elastic_workers import begin_with, default_partitions, elastic_workers
from streamshed.spark.cluster.executors import Executor
from streamshed.spark.cluster.shared_workers import SharedWorkers
from tests.unit.spark.executors_in_memory import ExecutorsInMemory


def session(master: str, **settings: str) -> SparkSession:
    """What is asked of a session before any executor is."""
    named = {name.replace("_", "."): value for name, value in settings.items()}
    context = SimpleNamespace(master=master, getConf=lambda: named)
    return cast(SparkSession, SimpleNamespace(sparkContext=context))


def test_spark_and_streamshed_do_not_both_decide() -> None:
    spark = session("spark://there:7077", spark_dynamicAllocation_enabled="true")
    with pytest.raises(InvalidNetworkError, match=r"spark\.dynamicAllocation\.enabled is on"):
        elastic_workers(spark, ElasticSettings(), ["time"], partitions=8, period_seconds=2.0)


def test_one_process_is_one_worker_for_all_clocks() -> None:
    settings = ElasticSettings(limits=WorkerLimits(least=2, most=6))
    found = elastic_workers(session("local[2]"), settings, ["a", "b"], partitions=8, period_seconds=2.0)
    assert set(found) == {"a", "b"}
    assert found["a"].pool is found["b"].pool
    assert found["a"].share.workers(0.0) == Workers(running=1)
    begin_with(found, {"a": 2, "b": 9})
    assert found["b"].pool.wanted == 6
    assert found["a"].share.workers(1.0) == Workers(running=1)
    assert "one process" in found["a"].pool.obstacle


def test_a_run_begins_with_as_many_as_the_clock_that_needs_most(monkeypatch: pytest.MonkeyPatch) -> None:
    """Executors that run beside are released, once it is known that nobody needs them."""
    executors = ExecutorsInMemory(8, total=5)
    executors.start_missing()
    monkeypatch.setattr(elastic_workers_module, "executors_of", lambda _: executors)
    settings = ElasticSettings(limits=WorkerLimits(least=1, most=6))
    found = elastic_workers(session("spark://there:7077"), settings, ["a", "b"], partitions=8, period_seconds=2.0)
    assert len(executors.there) == 5
    begin_with(found, {"a": 1, "b": 3})
    assert (executors.requests, len(executors.there)) == ([3], 3)
    begin_with(found, {"a": 7, "b": 3})
    assert executors.requests[-1] == 6


def test_where_the_number_of_workers_is_fixed_nobody_is_asked() -> None:
    begin_with({}, {"a": 1})


@pytest.mark.parametrize(
    ("limits", "cores", "partitions"),
    [
        (WorkerLimits(), 1, 8),
        (WorkerLimits(least=12), 1, 12),
        (WorkerLimits(most=6), 1, 6),
        (WorkerLimits(most=6), 4, 24),
        (WorkerLimits(least=3), 4, 12),
        (WorkerLimits(most=6, partitions=24), 4, 24),
    ],
)
def test_all_cores_of_all_workers_there_may_be_have_a_partition(
    limits: WorkerLimits, cores: int, partitions: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    settings, running = ElasticSettings(limits=limits), SimpleNamespace(running=lambda: (Executor("0", cores=cores),))
    monkeypatch.setattr(elastic_workers_module, "executors_of", lambda _: running)
    assert default_partitions(session("spark://there:7077"), settings) == partitions
    none_yet = SimpleNamespace(running=lambda: None)
    monkeypatch.setattr(elastic_workers_module, "executors_of", lambda _: none_yet)
    assert default_partitions(session("spark://there:7077", spark_executor_cores=str(cores)), settings) == partitions


def test_the_most_that_any_clock_wants_is_asked_for() -> None:
    pool, wants = VirtualCluster(ClusterSettings(running=2, most=8, start_seconds=0.0)), dict[str, int]()
    one, other = (SharedWorkers(pool, wants, name) for name in ("one", "other"))
    one.want(6, 0.0)
    other.want(3, 1.0)
    assert pool.workers(2.0).committed == 6
    one.want(2, 3.0)
    assert pool.workers(4.0).committed == 3
    other.want(1, 5.0)
    assert pool.workers(6.0).committed == 2


def test_settings_of_another_kind_are_refused() -> None:
    elastic: Any = {"most": 6}
    with pytest.raises(InvalidNetworkError, match="the elastic must be ElasticSettings"):
        Settings(elastic=elastic)
    with pytest.raises(InvalidNetworkError, match="set shed to the headroom"):
        Settings(headroom=0.5, elastic=ElasticSettings())
