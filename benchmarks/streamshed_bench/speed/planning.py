"""Benchmark `planning`: how long a plan takes for many queries, and a plan for another load."""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable, Mapping, Sequence
from functools import partial

import numpy as np

from streamshed.planning.place.placement import samplers
from streamshed.planning.plan.replanning import RatePlanner
from streamshed.planning.rates.least_error import least_error_rates
from streamshed.planning.rates.rate_policies import RATE_POLICIES, RatePolicy
from streamshed.planning.tree.demand import Demand
from streamshed.planning.tree.work_tree import WorkNode, WorkTree
from streamshed_bench.contract import BenchOptions, BenchResult
from streamshed_bench.runs.pictures import draw_planning

_OPERATORS_PER_QUERY = 3
_BUDGET_SHARE = 0.3
_SIZES = (10, 30, 100, 300, 1000)
_QUICK_SIZES = (100, 1000)
_REPEATS = 21
_LEAST_RATE = 1e-8


def run(options: BenchOptions) -> BenchResult:
    """Measure planning; no Spark is needed."""
    sizes = _QUICK_SIZES if options.quick else _SIZES
    planned: dict[str, dict[int, float]] = {policy: {} for policy in RATE_POLICIES}
    replanned: dict[int, float] = {}
    for number, queries in enumerate(sizes):
        options.progress(f"{queries} queries", number / len(sizes))
        tree, demands = random_work(queries, seed=options.seed)
        for policy, rates_of in RATE_POLICIES.items():
            planned[policy][queries] = _milliseconds(partial(_plan, tree, demands, rates_of))
        replanned[queries] = _milliseconds(_replanning(tree, demands))
    return BenchResult(
        figures=figures_of(planned, replanned),
        details={"planned": planned, "replanned": replanned, "left_out": ["10, 30 and 300 queries"] * options.quick},
        picture=partial(draw_planning, planned=planned, replanned=replanned),
    )


def _plan(tree: WorkTree, demands: Sequence[Demand], rates_of: RatePolicy) -> None:
    """From nodes and demands to samplers, nothing known before."""
    fresh = WorkTree(tree.nodes)
    rates = rates_of(fresh, demands, _BUDGET_SHARE * float(fresh.node_seconds.sum()))
    samplers(fresh, np.maximum(rates, _LEAST_RATE))


def _replanning(tree: WorkTree, demands: Sequence[Demand]) -> Callable[[], object]:
    """Plans for one load after the other."""
    planner = RatePlanner(tree, demands, least_error_rates)
    budget = _BUDGET_SHARE * float(tree.node_seconds.sum())
    factors = iter(np.geomspace(0.5, 2.0, _REPEATS).tolist())
    return lambda: planner.rates(budget, next(factors))


def figures_of(planned: Mapping[str, Mapping[int, float]], replanned: Mapping[int, float]) -> dict[str, float]:
    """Condense what was measured into the benchmark's figures."""
    return {
        "plan_milliseconds": max(by_queries[100] for by_queries in planned.values()),
        "plan_milliseconds_1000": max(by_queries[1000] for by_queries in planned.values()),
        "replan_milliseconds_1000": replanned[1000],
    }


def random_work(queries: int, *, seed: int) -> tuple[WorkTree, list[Demand]]:
    """Return a tree of so many queries over three times as many operators, shared at random.

    Example:
        >>> tree, demands = random_work(10, seed=1)
        >>> len(tree.nodes), len(demands)
        (41, 10)
    """
    chance = np.random.default_rng(seed)
    nodes = [WorkNode(name="stream", parent=None, seconds=0.1)]
    reach = [1.0]
    for query in range(queries):
        above = int(chance.choice([place for place, node in enumerate(nodes) if node.query is None][-40:]))
        for number in range(_OPERATORS_PER_QUERY):
            reach.append(reach[above] * float(chance.uniform(0.3, 1.0)))
            seconds = float(chance.lognormal(-6, 1.5)) * reach[above]
            nodes.append(WorkNode(name=f"operator {query}.{number}", parent=above, seconds=seconds))
            above = len(nodes) - 1
        query_seconds = 1e-4 * reach[above]
        reach.append(reach[above])
        nodes.append(WorkNode(name=f"query {query}", parent=above, seconds=query_seconds, query=query))
    demands = [
        Demand(query=f"query {query}", coefficient=float(chance.lognormal(-6, 1.0)), weight=float(chance.uniform(1, 3)))
        for query in range(queries)
    ]
    return WorkTree(tuple(nodes)), demands


def _milliseconds(work: Callable[[], object]) -> float:
    times = []
    for _ in range(_REPEATS):
        begun = time.perf_counter()
        work()
        times.append(time.perf_counter() - begun)
    return statistics.median(times) * 1000
