"""What if a load came now, lasted and went: what the simulator says of it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from streamshed.control.settings import ControlSettings
from streamshed.elasticity.settings import ElasticSettings
from streamshed.network.document.document import network_to_document, parse_network
from streamshed.page import watched
from streamshed.page.known_run import KnownRun
from streamshed.page.load_course import load_course, load_scenario
from streamshed.page.watched import WatchedCheckpoint
from streamshed.simulator.cluster import ClusterSettings
from streamshed.simulator.costs import RowCost, TrueCosts
from streamshed.simulator.network_costs import prior_of
from streamshed.simulator.profiles import steps
from streamshed.simulator.scenario import Scenario, run_scenario
from streamshed.statistics.guess import believed_statistics
from streamshed.statistics.network_statistics import NetworkStatistics
from tests.unit.page.recorded import Recorded, monitored

PRESENT = 500.0
READ, WORK, FIXED = 1e-6, 4e-4, 0.5
"""Seconds of a row to read it and for all else, and those of a micro-batch without rows: 4,000 rows fill 1.6 s."""

JOINED = Path(__file__).parents[3] / "examples" / "alerts_joined.yaml"


def always() -> bool:
    return True


def statistics_of(network: Any) -> NetworkStatistics:
    """One operator and one query take all that rows take beside reading."""
    guessed = believed_statistics(network, None)
    ticks = replace(
        guessed.stream("ticks"), read_seconds_per_row=READ, parse_seconds_per_row=0.0, rows_per_second=2 * PRESENT
    )
    operators = {
        address: replace(costs, seconds_per_row=WORK, selectivity=1.0) for address, costs in guessed.operators.items()
    }
    queries = {
        name: replace(costs, seconds_per_row=0.0, seconds_per_group=0.0) for name, costs in guessed.queries.items()
    }
    return replace(guessed, fixed_seconds=FIXED, streams={"ticks": ticks}, operators=operators, queries=queries)


@pytest.fixture
def known_run() -> KnownRun:
    network = monitored(2)
    only = replace(network, queries=network.queries[1:])
    document = parse_network(network_to_document(only))
    return KnownRun(document, statistics_of(document.network))


def course_of(
    known_run: KnownRun, load_factor: float, policy: str | None = None, *, has_time: Callable[[], bool] = always
) -> dict[str, Any]:
    return load_course(load_scenario(known_run, PRESENT, load_factor, policy), has_time=has_time)


def test_a_load_that_fits_is_as_late_as_its_rows_take(known_run: KnownRun) -> None:
    course = course_of(known_run, 2.0)
    delays = [2 + FIXED + 2 * rows * (READ + WORK) for rows in [PRESENT] * 3 + [2 * PRESENT] * 20 + [PRESENT] * 10]
    assert [row["delay_seconds"] for row in course["micro_batches"]] == pytest.approx(delays)
    assert [row["started_at_seconds"] for row in course["micro_batches"]] == [2.0 * number for number in range(1, 34)]
    assert {row["kept_share"] for row in course["micro_batches"]} == {1.0}
    assert (course["load_from_seconds"], course["load_until_seconds"], course["end_seconds"]) == (6.0, 46.0, 68.0)
    assert (course["within_goal_from_seconds"], course["whole_from_seconds"]) == (2.0, 2.0)
    assert course["is_complete"]
    assert course["worst_delay_seconds"] == pytest.approx(max(delays))


def test_it_agrees_with_the_simulator(known_run: KnownRun) -> None:
    network = known_run.document.network
    costs = TrueCosts(fixed_seconds=FIXED, rows={"ticks": RowCost(read_seconds=READ, work_seconds=WORK)})
    expected = run_scenario(
        Scenario(
            network=network.foundation,
            load={"ticks": steps([(0.0, PRESENT), (6.0, 20 * PRESENT), (46.0, PRESENT)])},
            seconds=66.0,
            costs=costs,
            control=ControlSettings(
                trigger_interval_seconds=2.0,
                prior=prior_of(costs, is_measured=True),
                statistics=known_run.statistics,
            ),
            elastic=ElasticSettings(),
            cluster=ClusterSettings(running=1, most=1),
            controller="fixed",
        )
    )
    course = course_of(known_run, 20.0)
    rows = course["micro_batches"]
    assert [row["delay_seconds"] for row in rows] == pytest.approx([one.latency_seconds for one in expected.moments])
    assert [row["kept_share"] for row in rows] == pytest.approx([1 - one.shed_share for one in expected.moments])
    assert course["worst_delay_seconds"] == pytest.approx(expected.latency_seconds(1.0))
    (spell,) = expected.spells
    assert course["whole_from_seconds"] == spell.end_seconds >= 48.0
    assert min(row["kept_share"] for row in rows) < 0.3


def test_what_cannot_be_shed_makes_answers_late_until_it_has_gone(known_run: KnownRun) -> None:
    course = course_of(known_run, 1800.0)
    late = [row["started_at_seconds"] for row in course["micro_batches"] if row["delay_seconds"] > 4]
    since = course["within_goal_from_seconds"]
    assert 6 < late[0] < late[-1] < since
    assert course["worst_delay_seconds"] > course["delay_goal_seconds"] == 4.0
    endless = course_of(known_run, 400_000.0)
    assert (endless["within_goal_from_seconds"], endless["whole_from_seconds"]) == (None, None)


def test_another_policy_and_advice_alone_are_simulated(known_run: KnownRun) -> None:
    rate = {policy: course_of(known_run, 20.0, policy) for policy in ("uniform", "hoeffding")}
    assert rate["uniform"]["whole_from_seconds"] == 48.0
    document = replace(known_run.document, run=replace(known_run.document.run, policy="hoeffding", fudge=0.1))
    assert course_of(replace(known_run, document=document), 20.0, "uniform") == rate["uniform"]
    advised = replace(known_run.document, run=replace(known_run.document.run, advisory=True))
    course = course_of(replace(known_run, document=advised), 20.0)
    assert course["whole_from_seconds"] == 2.0
    assert course["worst_delay_seconds"] > 10


def test_it_ends_where_its_time_does(known_run: KnownRun) -> None:
    times = iter([True] * 4 + [False])
    begun, whole = course_of(known_run, 20.0, has_time=lambda: next(times)), course_of(known_run, 20.0)
    assert begun["micro_batches"] == whole["micro_batches"][:5]
    assert (begun["is_complete"], begun["end_seconds"]) == (False, 12.0)
    assert begun["whole_from_seconds"] is None


def test_without_time_there_is_a_micro_batch(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    recorded = Recorded(tmp_path)
    recorded.add(3)
    checkpoint = WatchedCheckpoint(str(tmp_path))
    monkeypatch.setattr(watched, "SIMULATED_FOR_SECONDS", 0.0)
    answer = checkpoint.what_if(3.0, None)
    assert len(answer["course"]["micro_batches"]) == 1
    assert not answer["course"]["is_complete"]
    assert answer["rows_per_second"] == 1500.0


def test_windows_of_joins_are_full_from_the_beginning() -> None:
    """The load has been there for long: the first micro-batch takes as long as the third."""
    document = parse_network(JOINED.read_text(encoding="utf-8"))
    statistics = believed_statistics(document.network.foundation, None)
    scenario = load_scenario(KnownRun(document, statistics), 2000.0, 1.0)
    delays = [row["delay_seconds"] for row in load_course(scenario, has_time=always)["micro_batches"]]
    assert len(scenario.joins.joins) == 1
    assert delays == pytest.approx([delays[-1]] * len(delays))
