"""Decisions of a network whose queries feed others, which have no use for all rows."""

from __future__ import annotations

from dataclasses import replace

import pytest

from streamshed.control.decision import Decision, Upcoming
from streamshed.control.known_needs import NOTHING_KNOWN, KnownNeeds
from streamshed.control.loop import ControlLoop
from streamshed.control.settings import ControlSettings
from streamshed.network.model.declared_stream import stream
from streamshed.network.model.network import QueryNetwork, network
from streamshed.network.run.load_prior import LoadPrior
from streamshed.network.source.sources import rate
from streamshed.planning.plan.policies import POLICIES
from streamshed.planning.window_drop.track.decisions import UpcomingWindows
from streamshed.planning.window_drop.track.open_windows import EventTimes
from streamshed.planning.window_drop.track.window_drops import WindowDrops

SECOND = 1_000_000
TICKS = stream("ticks", rate(1), time="timestamp")
FED = network(
    TICKS.query("fed"),
    TICKS.window("1 second").agg(n="count(*)").query("counts"),
)
SETTINGS = ControlSettings(
    trigger_interval_seconds=2.0,
    prior=LoadPrior(fixed_seconds=0.2, seconds_per_row=1e-3, read_share=0.01, is_measured=True),
)
HALF = KnownNeeds(rows_per_second={"fed": 250.0})


def decided(
    rows: int, needs: KnownNeeds, *, settings: ControlSettings = SETTINGS, queries: QueryNetwork = FED
) -> Decision:
    times = EventTimes(opened=0, carried_since=0, first=0, last=10 * SECOND - 1)
    upcoming = Upcoming(
        micro_batch_id=0,
        offered_rows={"ticks": rows},
        sizes_known=True,
        backlog_rows=0,
        now_seconds=2.0,
        windows=UpcomingWindows(event_times={"ticks": times}),
        needs=needs,
    )
    return ControlLoop(queries, settings, lambda: 0.0).plan(upcoming)


@pytest.mark.parametrize("policy", [policy.name for policy in POLICIES if policy.name != "uniform"])
def test_what_is_of_no_use_is_shed_though_there_is_time_for_it(policy: str) -> None:
    decision = decided(1_000, HALF, settings=replace(SETTINGS, policy=policy))
    assert decision.reason == "within_budget"
    assert decision.shedding
    assert decision.useful_rates == {"fed": 0.5}
    assert 0.46 < decision.effective_sampling_rates["fed"] <= 0.5
    assert decision.effective_sampling_rates["counts"] == 1
    assert "of fed no more than 0.5 of the rows are of use to those it feeds" in decision.explanation


def test_enough_is_no_reason_to_shed() -> None:
    decision = decided(1_000, KnownNeeds(rows_per_second={"fed": 500.0}))
    assert not decision.shedding
    assert decision.useful_rates == {}


def test_under_overload_others_get_what_is_of_no_use_there() -> None:
    alone, beside = decided(4_000, NOTHING_KNOWN), decided(4_000, KnownNeeds(rows_per_second={"fed": 2.0}))
    assert alone.effective_sampling_rates["counts"] < 1
    assert beside.effective_sampling_rates["fed"] <= 0.001
    assert beside.effective_sampling_rates["counts"] >= alone.effective_sampling_rates["counts"]
    assert beside.plan.expected_seconds <= beside.budget_seconds


def test_uniform_sheds_only_what_no_query_of_the_stream_has_use_for() -> None:
    uniform = replace(SETTINGS, policy="uniform")
    assert not decided(1_000, HALF, settings=uniform).shedding
    rows = network(TICKS.query("fed"), TICKS.filter("value > 1").query("some"))
    needs = KnownNeeds(rows_per_second={"fed": 100.0, "some": 100.0})
    rates = decided(1_000, needs, settings=uniform, queries=rows).effective_sampling_rates
    assert rates["fed"] == rates["some"] < 0.5


def test_advice_sheds_nothing() -> None:
    needs = replace(HALF, unneeded={"fed": ((0, 5 * SECOND),)})
    decision = decided(1_000, needs, settings=replace(SETTINGS, advisory=True))
    assert not decision.shedding
    assert decision.drops.elsewhere == {}


def test_times_that_nobody_needs_are_told_to_those_who_read_rows() -> None:
    decision = decided(1_000, KnownNeeds(unneeded={"fed": ((0, 5 * SECOND),)}))
    definition = FED.query("fed").definition_id
    assert decision.drops.elsewhere == {definition: ((0, 5 * SECOND),)}
    assert WindowDrops.from_document(decision.drops.to_document()) == decision.drops
    assert decision.work_shares["ticks"] < decided(1_000, NOTHING_KNOWN).work_shares["ticks"]


def test_only_rows_that_are_needed_count_as_what_comes() -> None:
    needs = KnownNeeds(rows_per_second={"fed": 250.0}, unneeded={"fed": ((0, 5 * SECOND),)})
    assert decided(1_000, needs).useful_rates == {}


def test_rows_that_took_longer_to_come_are_more() -> None:
    loop = ControlLoop(FED, SETTINGS, lambda: 0.0)
    upcoming = Upcoming(
        micro_batch_id=0, offered_rows={"ticks": 1_000}, sizes_known=True, backlog_rows=0, now_seconds=2.0, needs=HALF
    )
    loop.plan(upcoming)
    later = loop.plan(replace(upcoming, micro_batch_id=1, now_seconds=5.0))
    assert later.useful_rates == {"fed": 0.75}


WINDOWS_FED = network(
    TICKS.window("1 second").agg(top="max(value)").query("largest", mode="subset", max_gap=4),
    TICKS.window("1 second").agg(n="count(*)").query("counts"),
)


@pytest.mark.parametrize("advisory", [False, True])
def test_windows_whose_answers_nobody_needs_are_dropped_though_there_is_time(advisory: bool) -> None:
    needs = KnownNeeds(rows_per_second={"largest": 1.0}, unneeded={"largest": ((3 * SECOND, 6 * SECOND),)})
    decision = decided(1_000, needs, settings=replace(SETTINGS, advisory=advisory), queries=WINDOWS_FED)
    known = decision.drops.queries[str(WINDOWS_FED.query("largest").definition_id)]
    assert known.numbers() == ([] if advisory else [3, 4, 5])
    assert known.elsewhere == known.dropped
    assert decision.drops.elsewhere == {}
    assert decision.useful_rates == {}
    assert decision.effective_sampling_rates["counts"] == 1
