from pathlib import Path

import pytest

from streamshed.simulator.course import Course, CourseMoment
from streamshed.simulator.profiles import constant
from streamshed.simulator.scenario import run_scenario
from streamshed_bench.workers import simulate
from streamshed_bench.workers.simulate_picture import draw_simulations

PNG = b"\x89PNG"


def course(*, shed: float = 0.0, latency: float = 1.0, wanted: int = 2) -> Course:
    moments = [
        CourseMoment(
            started_at_seconds=60.0 * number,
            offered_rows=100,
            shed_share=shed,
            worst_error=0.0,
            latency_seconds=latency,
            processing_seconds=1.0,
            running=2,
            committed=2,
            wanted=wanted if number == 1 else 2,
            scaling_reason="steady",
            scaling_explanation="",
            offered_utilization=0.5,
            admitted_utilization=0.5,
            fixed_utilization=0.1,
            demand=0.4,
            saturated=False,
        )
        for number in range(3)
    ]
    return Course(moments=moments, queries=[], failures=0, end_seconds=180.0, latency_goal_seconds=20.0)


def made_up() -> dict[tuple[str, str], Course]:
    return {
        (load, way): course(shed=0.1 * number, latency=1.0 + 30.0 * number, wanted=2 + number)
        for number, load in enumerate(simulate.LOADS)
        for way in simulate.WAYS
    }


def test_figures_are_the_worst_share_and_the_sum_of_all_else() -> None:
    figures = simulate.figures_of(made_up(), course(wanted=3), wall_seconds=40.0)
    assert figures["wall_seconds"] == 40.0
    assert figures["week_rescales_per_day"] == pytest.approx(86_400 / 180)
    assert figures["predictive_rows_shed_share"] == pytest.approx(0.2)
    assert figures["predictive_time_over_latency_goal_seconds"] == 2 * 180
    assert figures["predictive_rescales"] == 2
    assert figures["predictive_worker_hours"] == pytest.approx(3 * 2 * 180 / 3600)


def test_ours_sheds_less_than_shedding_alone_and_is_in_time() -> None:
    def run(way: str) -> Course:
        controller, sheds = simulate.WAYS[way]
        return run_scenario(simulate.small(simulate.LOADS["steps"], controller, sheds=sheds, seed=0))

    ours, text, shedding, scaling = map(run, ("predictive", "thresholds", "shedding_only", "scaling_only"))
    assert ours.rows_shed_share <= shedding.rows_shed_share / 2
    assert ours.rows_shed_share < text.rows_shed_share
    assert len(ours.rescales) <= 6
    assert ours.time_over_latency_goal_seconds < scaling.time_over_latency_goal_seconds


def test_what_is_simulated_is_as_large_as_it_says() -> None:
    scenario = simulate.large(7, seed=0)
    assert (len(scenario.network.queries), scenario.cluster.most) == (1_000, 10_000)
    assert scenario.seconds / scenario.control.trigger_interval_seconds == 7 * 24 * 60
    assert scenario.load[simulate.STREAM].load_at(12 * 3600) == pytest.approx(6e9)


def test_loads_are_in_whole_workers() -> None:
    scenario = simulate.small(simulate.Loading(demand=constant(0.5), seconds=10.0), "fixed", sheds=True, seed=0)
    rows = round(scenario.load[simulate.STREAM].rows_before(10.0))
    assert scenario.costs.row_seconds({simulate.STREAM: rows}, {simulate.STREAM: 1.0}, 0.0) == pytest.approx(5.0)


def test_a_picture_is_drawn(tmp_path: Path) -> None:
    file = tmp_path / "simulate.png"
    draw_simulations(file, courses=made_up())
    assert file.read_bytes()[:4] == PNG
