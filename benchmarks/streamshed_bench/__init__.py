"""Benchmarks by name: each is the function `run` of a module, which is loaded when it is asked for."""

import importlib
from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import cast

from streamshed_bench.contract import BenchOptions, BenchResult

__all__ = ["BENCHMARKS", "MODULES", "ON_CLUSTER", "ON_TEXT", "BenchOptions", "BenchResult", "Benchmark"]

Benchmark = Callable[[BenchOptions], BenchResult]

MODULES: Mapping[str, str] = MappingProxyType(
    {
        "throughput": "streamshed_bench.speed.throughput",
        "overhead": "streamshed_bench.speed.overhead",
        "burst": "streamshed_bench.speed.burst",
        "latency": "streamshed_bench.speed.latency",
        "start": "streamshed_bench.topics.start",
        "changes": "streamshed_bench.speed.changes",
        "goodput": "streamshed_bench.speed.goodput",
        "nexmark": "streamshed_bench.nexmark.nexmark",
        "kafka": "streamshed_bench.topics.kafka",
        "soak": "streamshed_bench.lasting.soak",
        "accuracy": "streamshed_bench.samples.accuracy",
        "coverage": "streamshed_bench.samples.coverage",
        "large_values": "streamshed_bench.samples.large_values",
        "counted_rows": "streamshed_bench.samples.counted_rows",
        "blocks": "streamshed_bench.samples.blocks",
        "windows": "streamshed_bench.windows.windows",
        "prediction": "streamshed_bench.windows.prediction",
        "planning": "streamshed_bench.speed.planning",
        "joins": "streamshed_bench.joins.joins",
        "simulate": "streamshed_bench.workers.simulate",
        "elastic": "streamshed_bench.workers.elastic",
    }
)
"""Where each benchmark is, in the order in which `make bench` runs them."""


def _loaded_when_run(name: str) -> Benchmark:
    def run(options: BenchOptions) -> BenchResult:
        module = importlib.import_module(MODULES[name])
        return cast(Benchmark, module.run)(options)

    return run


BENCHMARKS: Mapping[str, Benchmark] = MappingProxyType({name: _loaded_when_run(name) for name in MODULES})
"""Every benchmark, in that order."""

ON_CLUSTER = frozenset({"burst"})
"""Those that can be asked to let executors of a cluster do the work; `elastic` starts clusters of its own."""

ON_TEXT = frozenset({"throughput"})
"""Those that can be asked to have their rows as lines of JSON; `kafka`, `burst` and `goodput` have JSON anyway."""
