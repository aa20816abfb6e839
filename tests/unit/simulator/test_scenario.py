from dataclasses import replace

import pytest

from streamshed.control.settings import ControlSettings
from streamshed.elasticity.settings import ElasticSettings
from streamshed.elasticity.workers import WorkerLimits
from streamshed.errors import InvalidStatisticsError
from streamshed.planning.load.network_load import network_load
from streamshed.simulator.cluster import ClusterSettings
from streamshed.simulator.costs import RowCost, TrueCosts
from streamshed.simulator.course import Course, CourseMoment
from streamshed.simulator.network_costs import network_costs, prior_of
from streamshed.simulator.profiles import constant, steps
from streamshed.simulator.scenario import Scenario, run_scenario
from streamshed.statistics.guess import guessed_statistics
from tests.unit.planning.networks import counting

NETWORK = counting("packets")
COSTS = TrueCosts(fixed_seconds=0.4, rows={"packets": RowCost(read_seconds=1e-7, work_seconds=9e-7)})
ONE = 800_000
"""Rows per second that take four of five seconds of one worker, fixed cost not counted."""

SCENARIO = Scenario(
    network=NETWORK,
    load={"packets": constant(ONE / 2)},
    seconds=600.0,
    costs=COSTS,
    control=ControlSettings(trigger_interval_seconds=5.0, prior=prior_of(COSTS)),
    elastic=ElasticSettings(limits=WorkerLimits(most=8)),
    cluster=ClusterSettings(running=1, most=8),
)


def test_a_load_that_fits_is_carried_by_the_workers_there_are() -> None:
    course = run_scenario(SCENARIO)
    assert len(course.moments) == 120
    assert (course.rows_shed_share, course.rescales, course.time_over_latency_goal_seconds) == (0.0, [], 0.0)
    assert course.worker_hours == pytest.approx(600 / 3600)
    assert [(query.query, query.whole_share) for query in course.queries] == [("count_packets", 1.0)]


def test_a_course_ends_where_there_is_no_time_for_more() -> None:
    whole, times = run_scenario(SCENARIO), iter([True, True, False])
    begun = run_scenario(SCENARIO, has_time=lambda: next(times))
    assert begun.moments == whole.moments[:3]
    assert begun.end_seconds == begun.moments[-1].started_at_seconds + 5 < SCENARIO.seconds < whole.end_seconds


def test_what_is_shed_is_told_and_where_workers_come_it_is_less() -> None:
    load = {"packets": steps([(0.0, ONE / 2), (200.0, 4 * ONE)])}
    kept, scaled = (run_scenario(replace(SCENARIO, load=load, controller=name)) for name in ("fixed", "predictive"))
    assert 0 < scaled.rows_shed_share < kept.rows_shed_share / 2
    (spell,) = kept.spells
    assert (spell.start_seconds, spell.end_seconds) == (205.0, 605.0)
    assert kept.queries[0].whole_share == pytest.approx(40 / 120)
    assert kept.queries[0].least_rate < 0.5
    assert 0 < kept.queries[0].mean_error <= kept.queries[0].worst_error
    assert [moment.scaling_reason for moment in scaled.rescales] == ["overload"]


def test_the_demand_does_not_depend_on_who_carries_it() -> None:
    load = {"packets": steps([(0.0, ONE / 2), (200.0, 4 * ONE)])}
    found = {
        name: run_scenario(replace(SCENARIO, load=load, controller=name)).moments[-1]
        for name in ("fixed", "predictive")
    }
    assert found["fixed"].running == 1 < found["predictive"].running
    assert found["fixed"].demand == pytest.approx(found["predictive"].demand, rel=0.02)
    assert found["fixed"].demand == pytest.approx(4 * 0.8, rel=0.05)


def test_costs_are_those_of_the_statistics() -> None:
    known = guessed_statistics(NETWORK)
    costs = network_costs(NETWORK, known, trigger_interval_seconds=5.0)
    load = network_load(NETWORK, known, trigger_interval_seconds=5.0)
    rows = {"packets": round(known.stream("packets").rows_per_second * 5)}
    whole = costs.row_seconds(rows, {"packets": 1.0}, 0.0)
    assert costs.fixed_seconds + whole == pytest.approx(load.unshed_seconds)
    prior = prior_of(costs, wrong_by=3.0)
    assert prior.seconds_per_row * rows["packets"] == pytest.approx(3 * whole)


def test_a_simulation_of_nothing_is_refused() -> None:
    with pytest.raises(InvalidStatisticsError, match="must last for a trigger interval of 5 s"):
        replace(SCENARIO, seconds=1.0)


def moment(start: float, *, shed: float = 0.0, latency: float = 1.0, running: int = 1) -> CourseMoment:
    return CourseMoment(
        started_at_seconds=start,
        offered_rows=100,
        shed_share=shed,
        worst_error=0.0,
        latency_seconds=latency,
        processing_seconds=1.0,
        running=running,
        committed=running,
        wanted=running,
        scaling_reason="steady",
        scaling_explanation="",
        offered_utilization=0.5,
        admitted_utilization=0.5,
        fixed_utilization=0.1,
        demand=0.4,
        saturated=False,
    )


def test_figures_go_by_time_and_rows() -> None:
    moments = [moment(0.0), moment(2.0, shed=0.5, latency=5.0, running=2), moment(6.0, shed=0.25), moment(8.0)]
    course = Course(moments=moments, queries=[], failures=0, end_seconds=10.0, latency_goal_seconds=4.0)
    assert course.rows_shed_share == pytest.approx(0.1875)
    assert course.time_over_latency_goal_seconds == 4.0
    assert course.worker_hours == pytest.approx(14 / 3600)
    assert [(spell.start_seconds, spell.end_seconds, spell.worst_share) for spell in course.spells] == [(2.0, 8.0, 0.5)]
