"""What would happen if a load came now, lasted and went: the answer of the simulator to what if."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable
from dataclasses import replace
from typing import Any

from streamshed.elasticity.settings import ElasticSettings
from streamshed.page.known_run import KnownRun
from streamshed.simulator.cluster import ClusterSettings
from streamshed.simulator.course import Course, CourseMoment
from streamshed.simulator.network_work import network_work
from streamshed.simulator.profiles import burst
from streamshed.simulator.scenario import Scenario, run_scenario

BEFORE, DURING, AFTER = 3, 20, 10
"""Trigger intervals at the present load, at the other one, and at the present one again."""

_SAME = 1 + 1e-9


def load_scenario(
    known_run: KnownRun, present_rows_per_second: float, load_factor: float, policy: str | None = None
) -> Scenario:
    """Return the scenario of a load that comes, lasts and goes, on the workers that the statistics are of.

    Args:
        known_run: The network and what is known of it. Costs are taken for true, and for measured.
        present_rows_per_second: The present load, of all streams together.
        load_factor: How many times as much comes.
        policy: Another one than that of the run; None: that one.

    Raises:
        InvalidNetworkError: There is no such policy.
    """
    network, statistics = known_run.document.network, known_run.believed
    control = known_run.control(policy).for_network(network)
    interval = control.trigger_interval_seconds
    begins, ends = _load_seconds(interval)
    work = network_work(
        network.foundation,
        statistics,
        factors=burst(start_seconds=begins, end_seconds=ends, low=1.0, high=load_factor),
        times=known_run.times_believed(present_rows_per_second),
        trigger_interval_seconds=interval,
        since_seconds=-math.inf,
    )
    # As in the plan: those that the statistics are of are as one worker, and it stays.
    return Scenario(
        network=network.foundation,
        load=work.load,
        seconds=ends + AFTER * interval,
        costs=work.costs,
        control=replace(control, prior=work.prior(is_measured=True), statistics=statistics),
        elastic=ElasticSettings(),
        cluster=ClusterSettings(running=1, most=1),
        controller="fixed",
        joins=work.joins,
    )


def load_course(scenario: Scenario, *, has_time: Callable[[], bool]) -> dict[str, Any]:
    """Simulate what `load_scenario` returned.

    Args:
        scenario: The scenario.
        has_time: Asked after each micro-batch whether another may be simulated.

    Returns:
        As JSON has it, in seconds from the start of the simulation: `load_from_seconds` and `load_until_seconds`;
        `end_seconds` and whether it `is_complete`, not ended by `has_time`; `delay_goal_seconds`,
        `worst_delay_seconds`, and the starts of micro-batches from which on all are `within_goal_from_seconds` and
        `whole_from_seconds` (None: not the last one); and `micro_batches`, of each `started_at_seconds`,
        `delay_seconds` from its oldest row to its answers, and `kept_share` of its rows and windows, on average over
        queries.
    """
    course = run_scenario(scenario, has_time=has_time)
    begins, ends = _load_seconds(scenario.control.trigger_interval_seconds)
    goal = course.latency_goal_seconds
    return {
        "load_from_seconds": begins,
        "load_until_seconds": ends,
        "end_seconds": course.end_seconds,
        "is_complete": course.end_seconds > scenario.seconds,
        "delay_goal_seconds": goal,
        "worst_delay_seconds": max(moment.latency_seconds for moment in course.moments),
        "within_goal_from_seconds": _since(course, (m.latency_seconds <= goal * _SAME for m in course.moments)),
        "whole_from_seconds": _since(course, (_kept_share(moment) == 1 for moment in course.moments)),
        "micro_batches": [
            {
                "started_at_seconds": moment.started_at_seconds,
                "delay_seconds": moment.latency_seconds,
                "kept_share": _kept_share(moment),
            }
            for moment in course.moments
        ],
    }


def _load_seconds(interval_seconds: float) -> tuple[float, float]:
    """From when until when the other load comes."""
    return BEFORE * interval_seconds, (BEFORE + DURING) * interval_seconds


def _kept_share(moment: CourseMoment) -> float:
    fresh_share = 1 - moment.skipped_rows / moment.offered_rows if moment.offered_rows else 1.0
    return fresh_share * (1 - moment.shed_share)


def _since(course: Course, are_good: Iterable[bool]) -> float | None:
    """The start of the first micro-batch of the last ones that are good without a break; None: the last is not."""
    since = None
    for moment, is_good in zip(course.moments, are_good, strict=True):
        since = (moment.started_at_seconds if since is None else since) if is_good else None
    return since
