"""Benchmarks by name: `x` is the function `run` of `streamshed.bench.x`, loaded when it is asked for."""

import importlib
from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import cast

from streamshed.bench.contract import BenchOptions, BenchResult

__all__ = ["BENCHMARKS", "ON_CLUSTER", "BenchOptions", "BenchResult", "Benchmark"]

Benchmark = Callable[[BenchOptions], BenchResult]

_NAMES = (
    "throughput",
    "overhead",
    "burst",
    "accuracy",
    "coverage",
    "large_values",
    "counted_rows",
    "windows",
    "prediction",
    "planning",
    "joins",
    "simulate",
    "elastic",
)


def _loaded_when_run(name: str) -> Benchmark:
    def run(options: BenchOptions) -> BenchResult:
        module = importlib.import_module(f"streamshed.bench.{name}")
        return cast(Benchmark, module.run)(options)

    return run


BENCHMARKS: Mapping[str, Benchmark] = MappingProxyType({name: _loaded_when_run(name) for name in _NAMES})
"""Every benchmark, in the order in which `make bench` runs them."""

ON_CLUSTER = frozenset({"burst"})
"""Those that can be asked to let executors of a cluster do the work; `elastic` starts clusters of its own."""
