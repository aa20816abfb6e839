"""Runs each trunk once, with the scenarios that were chosen."""

from __future__ import annotations

from collections.abc import Callable
from types import ModuleType

import pytest
from pyspark.sql import SparkSession

from streamshed.spark.cluster.standalone_cluster import standalone_cluster
from tests.spark.trunks.course import go_on, go_on_elsewhere, kill_first
from tests.spark.trunks.outcome import Outcome
from tests.spark.trunks.trunk import Cast, prefix_of


@pytest.fixture(scope="session")
def casts(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Callable[[str], Cast]:
    """Runs a trunk when it is first asked for; afterwards what came of it is there."""
    results: dict[str, Cast | Exception] = {}

    def of(package: str) -> Cast:
        if package not in results:
            path = tmp_path_factory.mktemp(package.rpartition(".")[2])
            cast = Cast(package, _chosen(request.session.items, package), path)
            try:
                _run(cast, request)
            except Exception as error:
                results[package] = error
                raise
            results[package] = cast
        result = results[package]
        if isinstance(result, Exception):
            raise result
        return result

    return of


def _run(cast: Cast, request: pytest.FixtureRequest) -> None:
    cast.prepare()
    if not cast.trunk.on_cluster:
        kill_first(cast)
        spark: SparkSession = request.getfixturevalue("spark")
        go_on(cast, spark)
        return
    with standalone_cluster(cast.path / "cluster") as cluster:
        cluster.add_worker(cores=2, memory="1400m")
        kill_first(cast, cluster.url)
        go_on_elsewhere(cast, cluster.url)


def _chosen(items: list[pytest.Item], package: str) -> tuple[str, ...]:
    modules = {item.module for item in items if isinstance(item, pytest.Function)}
    chosen = [module.__name__ for module in modules if _is_scenario(module, package)]
    return tuple(sorted(name.rpartition(".")[2] for name in chosen))


def _is_scenario(module: ModuleType, package: str) -> bool:
    return module.__name__.startswith(f"{package}.") and hasattr(module, "SCENARIO")


@pytest.fixture(scope="module")
def outcome(request: pytest.FixtureRequest, casts: Callable[[str], Cast]) -> Outcome:
    """What came of the trunk, as the scenario of the module sees it."""
    package, _, module = request.module.__name__.rpartition(".")
    return Outcome(casts(package), prefix_of(module))
