"""Runs each trunk once, with the scenarios that were chosen."""

from __future__ import annotations

from collections.abc import Callable
from types import ModuleType

import pytest
from pyspark.sql import SparkSession

from tests.spark.trunks.course import go_on, kill_first
from tests.spark.trunks.outcome import Outcome
from tests.spark.trunks.trunk import Cast, prefix_of


@pytest.fixture(scope="session")
def casts(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> Callable[[str, SparkSession], Cast]:
    """Runs a trunk when it is first asked for; afterwards what came of it is there."""
    done: dict[str, Cast | Exception] = {}

    def of(package: str, spark: SparkSession) -> Cast:
        if package not in done:
            cast = Cast(package, _chosen(request.session.items, package), tmp_path_factory.mktemp(package.rpartition(".")[2]))
            try:
                cast.prepare()
                kill_first(cast)
                go_on(cast, spark)
            except Exception as error:
                done[package] = error
                raise
            done[package] = cast
        result = done[package]
        if isinstance(result, Exception):
            raise result
        return result

    return of


def _chosen(items: list[pytest.Item], package: str) -> tuple[str, ...]:
    modules = {item.module for item in items if isinstance(item, pytest.Function)}
    chosen = [module.__name__ for module in modules if _is_scenario(module, package)]
    return tuple(sorted(name.rpartition(".")[2] for name in chosen))


def _is_scenario(module: ModuleType, package: str) -> bool:
    return module.__name__.startswith(f"{package}.") and hasattr(module, "SCENARIO")


@pytest.fixture(scope="module")
def outcome(
    request: pytest.FixtureRequest, spark: SparkSession, casts: Callable[[str, SparkSession], Cast]
) -> Outcome:
    """What came of the trunk, as the scenario of the module sees it."""
    package, _, module = request.module.__name__.rpartition(".")
    return Outcome(casts(package, spark), prefix_of(module))
