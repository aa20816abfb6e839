"""Benchmark `simulate`: a week on a large cluster in virtual time, and controllers of workers beside each other."""

from __future__ import annotations

import time
from collections.abc import Mapping
from dataclasses import dataclass
from functools import partial

from streamshed.control.settings import ControlSettings
from streamshed.elasticity.settings import ElasticSettings
from streamshed.elasticity.thresholds import Thresholds
from streamshed.elasticity.workers import WorkerLimits
from streamshed.network.model.declared_stream import stream
from streamshed.network.model.network import QueryNetwork, network
from streamshed.network.source.sources import rate
from streamshed.simulator.cluster import ClusterSettings
from streamshed.simulator.costs import RowCost, TrueCosts
from streamshed.simulator.course import Course
from streamshed.simulator.network_costs import prior_of
from streamshed.simulator.profiles import LoadCurve, diurnal, flash_crowd, scaled, steps
from streamshed.simulator.scenario import Scenario, run_scenario
from streamshed_bench.contract import BenchOptions, BenchResult
from streamshed_bench.workers.simulate_picture import draw_simulations

STREAM = "events"
HEADROOM = 0.8
SECONDS_PER_ROW = 1e-6
READ_SHARE = 0.05
DAY = 86_400.0

WEEK_INTERVAL, WEEK_WORKERS, WEEK_QUERIES, WEEK_DAYS = 60.0, 10_000, 1_000, 7
QUICK_DAYS = 1
SMALL_INTERVAL = 10.0

WAYS = {
    "predictive": ("predictive", True),
    "thresholds": ("thresholds", True),
    "thresholds_on_offered": ("thresholds_on_offered", True),
    "shedding_only": ("fixed", True),
    "scaling_only": ("predictive", False),
}
"""Who decides on workers, and whether load may be shed."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Loading:
    """A load in whole workers' time, and for how long."""

    demand: LoadCurve
    seconds: float


LOADS: Mapping[str, Loading] = {
    "steps": Loading(demand=steps([(0.0, 0.4), (1800.0, 1.2), (5400.0, 2.4), (9000.0, 0.4)]), seconds=12_600.0),
    "diurnal": Loading(demand=diurnal(low=1.0, high=6.0), seconds=DAY),
    "flash_crowd": Loading(
        demand=flash_crowd(start_seconds=3600.0, rise_seconds=60.0, half_life_seconds=600.0, low=0.4, high=4.0),
        seconds=10_800.0,
    ),
}


def run(options: BenchOptions) -> BenchResult:
    """Simulate a week, and every controller under every load; no Spark is needed."""
    courses: dict[tuple[str, str], Course] = {}
    for number, (name, loading) in enumerate(LOADS.items()):
        for way, (controller, sheds) in WAYS.items():
            options.progress(f"{name}, {way}", 0.4 * number / len(LOADS))
            courses[name, way] = run_scenario(small(loading, controller, sheds=sheds, seed=options.seed))
    days = QUICK_DAYS if options.quick else WEEK_DAYS
    options.progress("a network of a thousand queries", 0.4)
    scenario = large(days, seed=options.seed)
    times = [time.perf_counter()]

    def watch(share: float) -> None:
        times.append(time.perf_counter())
        options.progress("a week", 0.4 + 0.6 * share)

    week = run_scenario(scenario, progress=watch)
    set_up_seconds, lasting_seconds = times[1] - times[0], times[-1] - times[1]
    return BenchResult(
        figures=figures_of(courses, week, wall_seconds=set_up_seconds + lasting_seconds * WEEK_DAYS / days),
        details={
            "set_up_seconds": set_up_seconds,
            "lasting_seconds": lasting_seconds,
            "days": days,
            "workers": WEEK_WORKERS,
            "queries": WEEK_QUERIES,
            "interval_seconds": WEEK_INTERVAL,
            "week": summary(week),
            "courses": {f"{name} {way}": summary(course) for (name, way), course in courses.items()},
            "left_out": ["six of the seven days; all but the set-up counts seven times in wall_seconds"]
            * options.quick,
        },
        picture=partial(draw_simulations, courses=courses),
    )


def figures_of(courses: Mapping[tuple[str, str], Course], week: Course, *, wall_seconds: float) -> dict[str, float]:
    """Condense simulations into the benchmark's figures: of all loads together, each way's worst or sum."""
    figures = {"wall_seconds": wall_seconds, "week_rescales_per_day": _per_day(week)}
    for way in WAYS:
        of_way = [course for (_, course_way), course in courses.items() if course_way == way]
        figures[f"{way}_rows_shed_share"] = max(course.rows_shed_share for course in of_way)
        figures[f"{way}_time_over_latency_goal_seconds"] = sum(
            course.time_over_latency_goal_seconds for course in of_way
        )
        figures[f"{way}_rescales"] = float(sum(len(course.rescales) for course in of_way))
        figures[f"{way}_worker_hours"] = sum(course.worker_hours for course in of_way)
    return figures


def summary(course: Course) -> dict[str, float]:
    """Return what a simulation comes down to."""
    return {
        "rows_shed_share": course.rows_shed_share,
        "time_over_latency_goal_seconds": course.time_over_latency_goal_seconds,
        "rescales": len(course.rescales),
        "worker_hours": course.worker_hours,
        "most_workers": max(moment.running for moment in course.moments),
        "failures": course.failures,
    }


def small(loading: Loading, controller: str, *, sheds: bool, seed: int) -> Scenario:
    """Return a load on a handful of workers, in micro-batches of ten seconds."""
    costs = TrueCosts(fixed_seconds=0.5, rows=_row_costs(), noise_deviation=0.05)
    return Scenario(
        network=queries_over_events(4),
        load={STREAM: scaled(loading.demand, 1 / SECONDS_PER_ROW)},
        seconds=loading.seconds,
        costs=costs,
        control=_control(SMALL_INTERVAL, costs, sheds=sheds),
        elastic=_elastic(WorkerLimits(least=1, most=16)),
        cluster=ClusterSettings(running=1, most=16, start_seconds=30.0, seed=seed),
        controller=controller,
    )


def large(days: int, *, seed: int) -> Scenario:
    """Return days of load on thousands of workers, some of which straggle and die, for a thousand queries."""
    costs = TrueCosts(fixed_seconds=2.0, rows=_row_costs(), noise_deviation=0.05)
    demand = diurnal(low=0.1 * WEEK_WORKERS, high=0.6 * WEEK_WORKERS, days=days)
    return Scenario(
        network=queries_over_events(WEEK_QUERIES),
        load={STREAM: scaled(demand, 1 / SECONDS_PER_ROW)},
        seconds=days * DAY,
        costs=costs,
        control=_control(WEEK_INTERVAL, costs, sheds=True),
        elastic=_elastic(WorkerLimits(least=100, most=WEEK_WORKERS)),
        cluster=ClusterSettings(
            running=WEEK_WORKERS // 4,
            most=WEEK_WORKERS,
            start_seconds=120.0,
            straggler_share=1e-5,
            straggler_factor=1.5,
            failures_per_worker_day=0.01,
            seed=seed,
        ),
    )


def queries_over_events(count: int) -> QueryNetwork:
    """Return a network of so many counts, each behind a filter of its own."""
    events = stream(STREAM, rate(10), time="timestamp", watermark="1 second")
    return network(
        *(
            events.filter(f"value % {number + 2} = 0").window("1 minute").agg(n="count(*)").query(f"query_{number}")
            for number in range(count)
        )
    )


def _row_costs() -> dict[str, RowCost]:
    read = READ_SHARE * SECONDS_PER_ROW
    return {STREAM: RowCost(read_seconds=read, work_seconds=SECONDS_PER_ROW - read)}


def _control(interval: float, costs: TrueCosts, *, sheds: bool) -> ControlSettings:
    return ControlSettings(
        trigger_interval_seconds=interval, headroom=HEADROOM, advisory=not sheds, prior=prior_of(costs)
    )


def _elastic(limits: WorkerLimits) -> ElasticSettings:
    return ElasticSettings(thresholds=Thresholds(shed=HEADROOM), limits=limits)


def _per_day(course: Course) -> float:
    return len(course.rescales) * DAY / (course.end_seconds - course.moments[0].started_at_seconds)
