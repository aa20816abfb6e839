from dataclasses import replace
from pathlib import Path
from typing import Any

import pandas as pd
import pytest
from pyarrow import parquet

from streamshed.elasticity.pieces import Pieces
from streamshed.simulator.course import Course
from streamshed_bench.errors import UnfinishedBenchmarkError
from streamshed_bench.workers import elastic
from streamshed_bench.workers.elastic_calibration import Calibration, Facts, calibration, facts_of, simulated
from streamshed_bench.workers.elastic_kills import Kill, KillsRun, recovery_seconds
from streamshed_bench.workers.elastic_network import START_MICROSECONDS, AnsweredElsewhere, feed_rows, waiting_network
from streamshed_bench.workers.elastic_picture import draw_elastic
from streamshed_bench.workers.elastic_runs import course_of, elastic_settings
from streamshed_bench.workers.elastic_sizes import (
    CALM_DEMAND,
    FULL,
    LOADS,
    MOST_WORKERS,
    PARTITIONS,
    QUICK,
    WAYS,
    ElasticSizes,
)

PNG = b"\x89PNG"


def row(number: int, *, kept: float = 1.0, delay: float = 5.0, running: int = 1, wanted: int = 1) -> dict[str, Any]:
    return {
        "micro_batch_id": number,
        "started_at_seconds": 1000.0 + 10.0 * number,
        "offered_rows": 100,
        "reason": "overload" if kept < 1 else "within_budget",
        "advisory": False,
        "effective_sampling_rates": {"all": kept, "by_group": kept},
        "expected_errors": {"all": 0.01, "by_group": 0.1},
        "delay_seconds": delay,
        "processing_seconds": 4.0,
        "workers_running": running,
        "workers_starting": 0,
        "workers_wanted": wanted,
        "offered_utilization": 0.5,
        "admitted_utilization": 0.5,
        "scaling_reason": "steady",
        "scaling_explanation": "utilization 0.50",
    }


def course(*rows: dict[str, Any]) -> Course:
    return course_of(list(rows), start_seconds=1000.0, trigger_seconds=10.0)


def made_up() -> dict[str, Course]:
    return {
        "predictive": course(row(0, wanted=4), row(1, kept=0.8, running=4, wanted=4)),
        "thresholds": course(row(0), row(1, kept=0.5)),
        "shedding_only": course(row(0), row(1, kept=0.5)),
        "scaling_only": course(row(0), row(1, delay=40.0)),
    }


def test_a_journal_is_read_as_a_course() -> None:
    [first, second] = course(row(0, wanted=4), row(1, kept=0.25, delay=40.0, running=4, wanted=4)).moments
    assert (first.started_at_seconds, first.committed, first.wanted, first.shed_share) == (0.0, 1, 4, 0.0)
    assert (second.started_at_seconds, second.running, second.shed_share) == (10.0, 4, 0.75)
    assert second.worst_error == 0.1


def test_advice_sheds_nothing() -> None:
    [moment] = course(row(0, kept=0.25) | {"advisory": True}).moments
    assert (moment.shed_share, moment.worst_error) == (0.0, 0.0)


def test_a_micro_batch_without_a_decision_on_workers_is_left_out() -> None:
    assert len(course(row(0), row(1) | {"workers_running": float("nan")}).moments) == 1
    with pytest.raises(UnfinishedBenchmarkError, match="no micro-batch"):
        course(row(0) | {"workers_running": float("nan")})


def test_figures() -> None:
    figures = elastic.figures_of(made_up())
    assert figures["predictive_rows_shed_share"] == pytest.approx(0.1)
    assert figures["predictive_rescales"] == 1
    assert figures["shed_ratio_to_shedding_only"] == pytest.approx(0.4)
    assert figures["predictive_dominates_thresholds"] == 1
    assert figures["predictive_is_dominated"] == 0
    assert figures["scaling_only_time_over_latency_goal_seconds"] == 10.0


def test_ours_is_dominated_where_another_is_no_worse_in_both() -> None:
    courses = made_up() | {"scaling_only": course(row(0), row(1))}
    assert elastic.figures_of(courses)["predictive_is_dominated"] == 1


@pytest.mark.parametrize("sizes", [QUICK, FULL])
def test_loads_are_shares_of_a_workers_time(sizes: ElasticSizes) -> None:
    assert len(sizes.loads) == sizes.triggers
    for load in LOADS:
        waited = sizes.file_rows(load) * PARTITIONS * sizes.seconds_per_row
        assert waited / sizes.trigger_seconds == pytest.approx(load * CALM_DEMAND, rel=0.02)


@pytest.mark.parametrize("sizes", [QUICK, FULL])
def test_workers_suffice_for_the_largest_load(sizes: ElasticSizes) -> None:
    limits = elastic_settings(sizes, "predictive").limits
    assert limits.most is not None
    assert max(LOADS) * CALM_DEMAND <= 0.6 * Pieces(PARTITIONS).effective_workers(limits.most) + 1e-9
    assert 3 * CALM_DEMAND > 0.7
    assert set(sizes.ways) <= set(WAYS)


def test_files_go_on_from_one_trigger_interval_to_the_next(tmp_path: Path) -> None:
    for number, load in enumerate((1.0, 3.0)):
        feed_rows(tmp_path, QUICK, first=number, load=load, place=Path.rename)
    table = parquet.read_table(tmp_path)
    assert table.num_rows == PARTITIONS * (QUICK.file_rows(1.0) + QUICK.file_rows(3.0))
    assert len(set(table["id"].to_pylist())) == table.num_rows
    seconds = [instant.timestamp() - START_MICROSECONDS / 1e6 for instant in table["ts"].to_pylist()]
    assert (min(seconds), round(max(seconds), 1)) == (0.0, pytest.approx(2 * QUICK.trigger_seconds, abs=0.2))


def test_the_operator_returns_what_it_was_given(tmp_path: Path) -> None:
    network = waiting_network(tmp_path, QUICK)
    assert [query.name for query in network.queries] == ["all", "by_group"]
    assert AnsweredElsewhere(0.0)(pd.Series([1, 2])).tolist() == [1, 2]


def test_the_operator_waits_as_long_for_each_row(monkeypatch: pytest.MonkeyPatch) -> None:
    waits: list[float] = []
    monkeypatch.setattr("streamshed_bench.workers.elastic_network.time.sleep", waits.append)
    AnsweredElsewhere(0.002)(pd.Series(range(50)))
    assert waits == [pytest.approx(0.1)]


def test_a_picture_is_drawn(tmp_path: Path) -> None:
    file = tmp_path / "elastic.png"
    draw_elastic(file, courses=made_up(), sizes=QUICK)
    assert file.read_bytes()[:4] == PNG


def test_recovery_ends_with_a_micro_batch_that_began_on_as_many_workers_as_before() -> None:
    rows = [
        row(0, running=2),
        row(1, running=1) | {"workers_starting": 1},
        row(2, running=2) | {"workers_starting": 0},
        row(3, running=2),
    ]
    assert recovery_seconds(rows, 1003.0) == 1020.0 + 4.0 - 1003.0
    with pytest.raises(UnfinishedBenchmarkError, match="not replaced"):
        recovery_seconds(rows[:2], 1003.0)


def made_up_kills() -> KillsRun:
    rows = [row(number, running=2) | {"workers_replaced": 2} for number in range(4)]
    return KillsRun(kills=(Kill("executor", 1003.0), Kill("worker", 1013.0)), rows=rows)


def test_figures_tell_of_both_kills() -> None:
    assert made_up_kills().figures() == {
        "executor_recovery_seconds": 11.0,
        "worker_recovery_seconds": 11.0,
        "killed_replaced": 2.0,
    }


OFF = Calibration(
    steps=[{"delay_seconds": (10.0, 11.0), "load": (1.0, 0.8)}, {"delay_seconds": (10.0, 10.0)}],
    p95_delay_seconds=(20.0, 25.0),
)


def test_how_far_a_simulation_is_off() -> None:
    assert OFF.step_error == pytest.approx(0.2)
    assert OFF.p95_error == pytest.approx(0.25)


def fed_rows(sizes: ElasticSizes, *, fixed_seconds: float) -> list[dict[str, Any]]:
    """The journal of a run on one worker that is never late, and sheds nothing."""
    rows = []
    for number, load in enumerate(sizes.loads):
        offered = PARTITIONS * sizes.file_rows(load)
        taken = fixed_seconds + offered * sizes.seconds_per_row
        rows.append(
            row(number)
            | {"offered_rows": offered, "sampling_rate": 1.0, "processing_seconds": taken, "expected_seconds": taken}
            | {"delay_seconds": sizes.trigger_seconds + taken, "offered_utilization": taken / sizes.trigger_seconds}
        )
    return rows


def test_facts_are_what_a_run_shows() -> None:
    rows = fed_rows(QUICK, fixed_seconds=1.5)
    rows[4] |= {"workers_wanted": 3, "processing_seconds": rows[4]["processing_seconds"] + 7.0}
    facts = facts_of(rows, QUICK, sheds=True)
    assert facts.fixed_seconds == pytest.approx(1.5)
    assert facts.held_up_seconds == pytest.approx(7.0)


def test_how_long_workers_took_to_start_shows_where_they_helped() -> None:
    """Of three files of 5.2 s each, who comes after 7.5 s takes the third."""
    rows = fed_rows(QUICK, fixed_seconds=1.5)
    rows[8] |= {"workers_wanted": 2, "processing_seconds": 1.5 + 7.5 + 5.2}
    facts = facts_of(rows, QUICK, sheds=True)
    assert facts.held_up_seconds == 0
    assert facts.start_seconds == pytest.approx(7.5, rel=0.01)


def test_a_micro_batch_belongs_to_the_load_of_its_rows() -> None:
    """The only one of the third load started late, in the time of the fourth, of which it took some rows, too."""
    short = replace(QUICK, step_triggers=(1, 1, 1, 2))
    rows = fed_rows(short, fixed_seconds=1.5)
    rows[2] |= {"started_at_seconds": rows[3]["started_at_seconds"] + 8.0, "delay_seconds": 77.0}
    rows[2]["offered_rows"] += rows[3]["offered_rows"]
    del rows[3]
    found = calibration(rows, short, "shedding_only").steps
    assert [step["delay_seconds"][0] for step in found[2:]] == pytest.approx([77.0, 14.1], rel=1e-3)


def test_a_load_whose_rows_were_taken_with_more_of_another_is_not_compared() -> None:
    short = replace(QUICK, step_triggers=(1, 1, 1, 2))
    rows = fed_rows(short, fixed_seconds=1.5)
    rows[2]["offered_rows"] += rows[1]["offered_rows"]
    del rows[1]
    found = calibration(rows, short, "shedding_only").steps
    assert [step["load"][0] for step in found] == [rows[number]["offered_utilization"] for number in (0, 1, 2)]


def test_micro_batches_without_rows_are_not_compared() -> None:
    rows = fed_rows(QUICK, fixed_seconds=1.5)
    idle = row(len(rows), delay=500.0) | {"offered_rows": 0, "sampling_rate": 1.0, "expected_seconds": 4.0}
    found = calibration([*rows[:2], *[idle] * 20, *rows[2:], *[idle] * 20], QUICK, "shedding_only")
    assert found.p95_delay_seconds[0] < 500
    assert all(step["delay_seconds"][0] < 500 for step in found.steps)


def test_the_simulator_comes_near_a_run_that_goes_by_its_costs() -> None:
    calm = replace(QUICK, step_triggers=(4, 1, 1, 4))
    found = calibration(fed_rows(calm, fixed_seconds=1.5), calm, "shedding_only")
    first = found.steps[0]
    assert first["delay_seconds"] == pytest.approx((14.5, 14.5), rel=0.1)
    assert first["sampling_rate"] == (1.0, 1.0)
    assert first["load"][1] == pytest.approx(first["load"][0], rel=0.15)


def test_a_simulation_grows_where_the_run_did() -> None:
    course = simulated(Facts(fixed_seconds=1.5, held_up_seconds=8.0, start_seconds=10.0), QUICK, "predictive")
    assert max(moment.running for moment in course.moments) == MOST_WORKERS
    assert course.moments[0].running == 1
