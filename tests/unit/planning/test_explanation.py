import math
from dataclasses import replace

import pytest

from streamshed.dashboard.explained import explained
from streamshed.dashboard.network_picture import draw_network
from streamshed.errors import InvalidNetworkError, InvalidStatisticsError
from streamshed.network.model.network import network
from streamshed.planning.explain.explanation import Explanation
from streamshed.planning.explain.load_planner import LoadPlanner, explain_rates
from streamshed.planning.rates.rate_policies import RATE_POLICIES
from streamshed.statistics.group_sizes import GroupSizes
from streamshed.statistics.guess import guessed_statistics
from streamshed.statistics.network_statistics import (
    NetworkStatistics,
    OperatorStatistics,
    QueryStatistics,
    StreamStatistics,
)
from tests.oracles.explaining import explain
from tests.unit.planning.networks import rows_of

PACKETS = rows_of("packets")
DEAR = PACKETS.filter("value > 9")
NETWORK = network(
    PACKETS.window("1 minute").agg(n="count(*)").query("all"),
    DEAR.window("1 minute").agg(n="count(*)").query("dear"),
)
KNOWN = NetworkStatistics(
    fixed_seconds=0.4,
    streams={"packets": StreamStatistics(rows_per_second=1000.0, parse_seconds_per_row=1e-4)},
    operators={DEAR.node.address: OperatorStatistics(seconds_per_row=3e-4)},
)


@pytest.mark.parametrize("policy", RATE_POLICIES)
def test_what_is_sustained_is_kept_whole(policy: str) -> None:
    plan = explain(NETWORK, KNOWN, load_factor=0.999, policy=policy)
    assert {outlook.effective_sampling_rate for outlook in plan.outlooks} == {1.0}
    assert plan.rows_per_second == pytest.approx(0.999 * 1.2 / (2 * 4e-4))
    assert [step.sampling_rate for step in plan.steps] == [None] * len(plan.steps)


@pytest.mark.parametrize("policy", RATE_POLICIES)
def test_the_load_is_tight_beyond(policy: str) -> None:
    plan = explain(NETWORK, KNOWN, load_factor=3.0, policy=policy)
    assert plan.unshed_seconds == pytest.approx(0.4 + 3 * 1.2)
    assert plan.expected_seconds == pytest.approx(1.6)
    assert not plan.is_saturated


def test_a_dear_operator_is_bound_by_its_own_cost_alone() -> None:
    plan = explain(NETWORK, KNOWN, load_factor=2.0)
    every, dear = plan.outlooks
    assert every.effective_sampling_rate > dear.effective_sampling_rate
    assert every.bound_by == "packets"
    assert dear.bound_by == DEAR.node.address
    samplers = {step.name: step.sampling_rate for step in plan.steps if step.sampling_rate is not None}
    assert samplers == {
        "packets": pytest.approx(every.effective_sampling_rate),
        "filter value > 9": pytest.approx(dear.effective_sampling_rate / every.effective_sampling_rate),
    }


def test_steps_are_a_walk_down_the_network() -> None:
    plan = explain(NETWORK, KNOWN, load_factor=2.0)
    assert [(step.depth, step.name) for step in plan.steps] == [
        (0, "packets"),
        (1, "filter value > 9"),
        (2, "dear"),
        (1, "all"),
    ]
    assert [step.address for step in plan.steps] == ["packets", DEAR.node.address, None, None]


def test_what_nothing_can_save_saturates() -> None:
    reading = NetworkStatistics(streams={"packets": StreamStatistics(rows_per_second=1.0, read_seconds_per_row=1e-3)})
    assert explain(NETWORK, reading, load_factor=1.5).is_saturated


@pytest.mark.parametrize(
    ("known", "problem"),
    [
        (NetworkStatistics(fixed_seconds=1.7), "a micro-batch without rows takes 1.7 s already"),
        (NetworkStatistics(), "no row costs anything"),
    ],
)
def test_where_there_is_nothing_to_plan_it_is_said(known: NetworkStatistics, problem: str) -> None:
    with pytest.raises(InvalidStatisticsError, match=problem):
        explain(NETWORK, known, load_factor=2.0)


def test_of_many_loads_each_has_the_plan_that_it_has_by_itself() -> None:
    planner = LoadPlanner(network=NETWORK, statistics=KNOWN)
    sustained = planner.sustained_rows_per_second
    for load_factor in (0.5, 1.5, 4.0):
        assert planner.plan(load_factor * sustained) == explain(NETWORK, KNOWN, load_factor=load_factor)


def test_where_no_load_is_sustained_a_load_has_a_plan_all_the_same() -> None:
    planner = LoadPlanner(network=NETWORK, statistics=replace(KNOWN, fixed_seconds=1.7))
    plan = planner.plan(1000.0)
    assert (plan.load_factor, plan.is_saturated) == (math.inf, True)
    assert plan.expected_seconds < plan.unshed_seconds


def test_an_unknown_policy_is_refused() -> None:
    with pytest.raises(InvalidNetworkError, match='did you mean "least_error"'):
        explain(NETWORK, KNOWN, load_factor=2.0, policy="last_error")


def test_guesses_are_enough_to_plan_on() -> None:
    plan = explain(NETWORK, guessed_statistics(NETWORK), load_factor=1.5)
    assert plan.expected_seconds == pytest.approx(plan.budget_seconds)


SUBSET = network(
    PACKETS.window("1 minute").agg(n="count(*)").query("all"),
    DEAR.window("1 minute").agg(top="max(value)").query("largest", mode="subset", max_gap=4),
)


def test_what_is_sustained_drops_no_windows() -> None:
    plan = explain(SUBSET, KNOWN, load_factor=0.999)
    assert [(one.query, one.kept_share, one.max_gap) for one in plan.outlooks] == [
        ("all", None, None),
        ("largest", 1.0, 4),
    ]
    assert {step.needed_share for step in plan.steps} == {None}


def test_beyond_windows_are_dropped_and_the_load_is_tight() -> None:
    plan = explain(SUBSET, KNOWN, load_factor=3.0)
    _, largest = plan.outlooks
    assert largest.kept_share is not None
    assert 0.2 <= largest.kept_share < 1
    assert largest.effective_sampling_rate == 1
    assert not largest.is_protected
    needed = {step.name: step.needed_share for step in plan.steps}
    assert needed["filter value > 9"] == pytest.approx(largest.kept_share)
    assert plan.expected_seconds == pytest.approx(1.6)


def test_a_query_whose_gaps_would_be_too_long_is_shut_down() -> None:
    plan = explain(SUBSET, KNOWN, load_factor=30.0)
    assert [one.kept_share for one in plan.outlooks] == [None, 0.0]


def test_what_is_behind_the_first_of_nested_aggregates_is_shown() -> None:
    counts = DEAR.window("1 minute").by("value").agg(n="count(*)")
    many = counts.filter("n > 10")
    asked = network(
        many.window("1 hour").agg(most="max(n)").query("most", mode="subset", max_gap=4),
        counts.window("1 hour").agg(values="count(*)").query("values", mode="exact"),
        PACKETS.window("1 minute").agg(n="count(*)").query("all"),
    )
    by_group = {"most": QueryStatistics(seconds_per_group=1e-4, groups=GroupSizes(((10.0, 20.0),)))}
    plan = explain(asked.foundation, replace(KNOWN, queries=by_group), load_factor=2.0)
    shown = [(step.depth, step.name, step.address, step.seconds is None) for step in plan.steps]
    answers, below = str(counts), (2, str(counts), counts.node.address, False)
    assert shown == [
        (0, "packets", "packets", False),
        (1, "filter value > 9", DEAR.node.address, False),
        below,
        (3, "most: groups", None, False),
        (3, "filter n > 10", many.node.address, True),
        (4, "most", None, True),
        below,
        (3, "values", None, True),
        (1, "all", None, False),
    ]
    text = explained(plan)
    assert text.index(answers) < text.index("filter n > 10")
    assert len(draw_network(plan).axes[0].texts) >= len(shown)


def test_guesses_are_drawn_as_guesses() -> None:
    plan = explain(SUBSET, KNOWN, load_factor=3.0)
    measured = replace(plan, steps=tuple(replace(step, is_measured=True) for step in plan.steps))
    for shown, are_guessed, style in ((plan, True, "--"), (plan, False, "-"), (measured, True, "-")):
        figure = draw_network(shown, costs_are_guessed=are_guessed)
        boxes = [box for text in figure.axes[0].texts if (box := text.get_bbox_patch()) is not None]
        assert {box.get_linestyle() for box in boxes} == {style}
        assert ("costs are guesses" in figure.get_suptitle()) is are_guessed


def test_the_title_of_a_picture_says_what_comes_of_the_load() -> None:
    titles = [
        draw_network(explain(SUBSET, KNOWN, load_factor=load_factor)).get_suptitle().splitlines()[0]
        for load_factor in (0.5, 3.0)
    ]
    assert titles[0] == "At 0.5× the load that fits, every answer is exact"
    assert titles[1].startswith("At 3× the load that fits, ")
    assert "windows" in titles[1]


def test_uniform_drops_no_windows() -> None:
    plan = explain(SUBSET, KNOWN, load_factor=3.0, policy="uniform")
    assert [one.kept_share for one in plan.outlooks] == [None, None]
    assert plan.outlooks[1].is_protected


def test_gaps_by_group_are_said_to_be() -> None:
    by_value = DEAR.window("1 second").by("value").agg(n="count(*)")
    asked = network(by_value.query("by_value", mode="subset", max_gap=4, gaps_by="group"))
    plan = explain(asked, KNOWN, load_factor=3.0)
    assert plan.outlooks[0].gaps_by == "group"
    assert "windows kept, gaps of each group of at most 4" in explained(plan)


def test_what_was_decided_on_windows_is_explained_with_the_rates() -> None:
    tolerant = DEAR.window("1 second").agg(top="max(value)").query("tops", mode="subset", max_gap=4)
    asked = network(*NETWORK.queries, tolerant)
    rates = {"all": 0.5, "dear": 0.25, "tops": 1.0}

    def plan(kept_shares: dict[str, float] | None = None) -> Explanation:
        return explain_rates(
            asked,
            KNOWN,
            rates,
            policy="least_error",
            load_factor=2.0,
            rows_per_second=1000.0,
            trigger_interval_seconds=2.0,
            kept_shares=kept_shares,
        )

    kept = plan(kept_shares={"tops": 0.4})
    tops = kept.outlooks[2]
    assert (tops.kept_share, tops.max_gap, tops.gaps_by, tops.is_protected) == (0.4, 4, "window", False)
    assert kept.expected_seconds == pytest.approx(0.4 + 0.2 * (0.4 + 0.6 * 0.5) + 0.6 * (0.4 + 0.6 * 0.25))
    assert plan().outlooks[2].kept_share is None
    assert plan().expected_seconds == pytest.approx(0.4 + 0.2 + 0.6)
