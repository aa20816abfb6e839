"""Runs each trunk once, with the scenarios that were chosen."""

from __future__ import annotations

from collections.abc import Callable
from types import ModuleType

import pytest
from pyspark.sql import SparkSession

from streamshed.spark.cluster.standalone_cluster import standalone_cluster
from tests.spark.trunks.course import FAILED, go_on, go_on_elsewhere, kill_first
from tests.spark.trunks.outcome import Outcome
from tests.spark.trunks.together import together_with
from tests.spark.trunks.trunk import Cast, prefix_of


class Trunks:
    """The trunks of which scenarios were chosen; each is run when it is first asked for.

    The first runs of trunks that run together share a process, which is killed before any of them goes on.
    """

    def __init__(self, request: pytest.FixtureRequest, paths: pytest.TempPathFactory) -> None:
        self._request, self._paths = request, paths
        self._casts = self._chosen(request.session.items)
        self._killed: set[str] = set()
        self._failures: dict[str, Exception | None] = {}

    def _chosen(self, items: list[pytest.Item]) -> dict[str, Cast]:
        modules = {item.module for item in items if isinstance(item, pytest.Function) and _is_scenario(item.module)}
        names = sorted(module.__name__ for module in modules)
        by_package: dict[str, list[str]] = {}
        for name in names:
            package, _, module = name.rpartition(".")
            by_package.setdefault(package, []).append(module)
        return {
            package: Cast(package, tuple(modules), self._paths.mktemp(package.rpartition(".")[2]))
            for package, modules in by_package.items()
        }

    def cast(self, package: str) -> Cast:
        """Return what ran; fails where it did not come to its end."""
        cast = self._casts[package]
        if package not in self._failures:
            self._failures[package] = None
            try:
                self._run(cast)
            except Exception as error:
                self._failures[package] = error
                raise
        if (failure := self._failures[package]) is not None:
            raise failure
        return cast

    def _run(self, cast: Cast) -> None:
        if not cast.trunk.on_cluster:
            self._kill_with(cast)
            _refuse_failed(cast)
            spark: SparkSession = self._request.getfixturevalue("spark")
            go_on(cast, spark)
            return
        cast.prepare()
        with standalone_cluster(cast.path / "cluster") as cluster:
            cluster.add_worker(cores=2, memory="1400m")
            kill_first([cast], cluster.url)
            _refuse_failed(cast)
            go_on_elsewhere(cast, cluster.url)

    def _kill_with(self, cast: Cast) -> None:
        """Have the first run of a trunk killed, with those of all that run together with it, unless they were."""
        folder, _, name = cast.package.rpartition(".")
        together = [f"{folder}.{trunk}" for trunk in together_with(name)]
        casts = [self._casts[package] for package in together if package in self._casts.keys() - self._killed]
        self._killed.update(together)
        for each in casts:
            each.prepare()
        if casts:
            kill_first(casts)


def _refuse_failed(cast: Cast) -> None:
    failed = cast.path / FAILED
    assert not failed.exists(), failed.read_text()


def _is_scenario(module: ModuleType) -> bool:
    return hasattr(module, "SCENARIO")


@pytest.fixture(scope="session")
def casts(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Callable[[str], Cast]:
    """Runs a trunk when it is first asked for; afterwards what came of it is there."""
    return Trunks(request, tmp_path_factory).cast


@pytest.fixture(scope="module")
def outcome(request: pytest.FixtureRequest, casts: Callable[[str], Cast]) -> Outcome:
    """What came of the trunk, as the scenario of the module sees it."""
    package, _, module = request.module.__name__.rpartition(".")
    return Outcome(casts(package), prefix_of(module))
