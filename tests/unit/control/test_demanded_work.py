"""What workers are wanted for: all that is to be done, and nothing that nobody needs."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from streamshed.control.decision import Decision, Upcoming
from streamshed.control.elastic_loop import ElasticLoop
from streamshed.control.known_needs import NOTHING_KNOWN, KnownNeeds
from streamshed.control.loop import ControlLoop
from streamshed.control.state import ControlState
from streamshed.elasticity.controllers import controller_named
from streamshed.elasticity.settings import ElasticSettings
from streamshed.network.model.network import network
from streamshed.planning.plan.policies import POLICIES
from streamshed.planning.window_drop.track.decisions import UpcomingWindows
from streamshed.planning.window_drop.track.open_windows import EventTimes
from streamshed.simulator.cluster import ClusterSettings, VirtualCluster
from streamshed.statistics.micro_batch import MicroBatchOutcome
from tests.unit.control.test_shed_for_others import FED, SECOND, SETTINGS, TICKS, decided

DROPPING = network(
    TICKS.window("1 second").agg(top="max(value)").query("largest", mode="subset", max_gap=5),
    TICKS.window("1 second").agg(n="count(*)").query("counts"),
)


@pytest.mark.parametrize("policy", [policy.name for policy in POLICIES])
def test_without_needs_all_is_to_be_done(policy: str) -> None:
    decision = decided(4_000, NOTHING_KNOWN, settings=replace(SETTINGS, policy=policy))
    assert decision.shedding
    assert decision.demanded_seconds == pytest.approx(decision.plan.unshed_seconds)


def test_windows_that_are_dropped_for_want_of_time_are_to_be_done() -> None:
    decision = decided(8_000, NOTHING_KNOWN, queries=DROPPING)
    assert decision.kept_shares["largest"] < 1
    assert decision.demanded_seconds == pytest.approx(decision.plan.unshed_seconds)


def test_windows_for_which_there_is_no_memory_are_not() -> None:
    """A worker more would not make room for them."""
    settings = replace(SETTINGS, state_limit_bytes=1_000)
    loop = ControlLoop(DROPPING, settings, lambda: 0.0)
    times = EventTimes(opened=0, carried_since=0, first=0, last=10 * SECOND - 1)
    windows = UpcomingWindows(event_times={"ticks": times})
    loop.plan(replace(upcoming(0, 1_000), windows=windows))
    loop.record(outcome(0, 1_000, state_bytes=2_000))
    decision = loop.plan(replace(upcoming(1, 1_000), windows=windows))
    assert decision.kept_shares["largest"] < 1
    assert decision.demanded_seconds < decision.plan.unshed_seconds


@given(st.integers(100, 20_000), st.floats(0, 20_000))
def test_it_lies_between_what_is_done_and_what_could_be(rows: int, useful: float) -> None:
    decision = decided(rows, KnownNeeds(rows_per_second={"fed": useful}))
    assert decision.expected_seconds <= decision.demanded_seconds * (1 + 1e-9)
    assert decision.demanded_seconds <= decision.plan.unshed_seconds * (1 + 1e-9)


@given(st.floats(0, 5_000), st.floats(0, 5_000))
def test_the_more_is_of_use_the_more_is_to_be_done(some: float, others: float) -> None:
    less, more = (
        decided(4_000, KnownNeeds(rows_per_second={"fed": useful})).demanded_seconds
        for useful in sorted((some, others))
    )
    assert less <= more * (1 + 1e-9)


def test_times_of_which_nobody_needs_a_row_are_no_load() -> None:
    alone = network(TICKS.query("fed"))
    needs = KnownNeeds(unneeded={"fed": ((0, 5 * SECOND),)})
    decision = decided(1_000, needs, queries=alone)
    fixed = SETTINGS.prior.fixed_seconds
    of_rows = decision.demanded_seconds - fixed
    assert of_rows == pytest.approx(0.5 * (decision.plan.unshed_seconds - fixed), rel=0.05)


def test_in_advisory_mode_all_is_done() -> None:
    decision = decided(1_000, KnownNeeds(rows_per_second={"fed": 1.0}), settings=replace(SETTINGS, advisory=True))
    assert decision.demanded_seconds == decision.plan.unshed_seconds == decision.expected_seconds


@pytest.mark.parametrize("useful", [None, 10.0])
def test_workers_are_not_asked_for_to_do_what_nobody_needs(useful: float | None) -> None:
    """Half of the work is for those that are fed; without it there is room."""
    needs = NOTHING_KNOWN if useful is None else KnownNeeds(rows_per_second={"fed": useful})
    cluster = VirtualCluster(ClusterSettings(running=1, most=9, start_seconds=5.0))
    elastic = ElasticSettings(release_after_seconds=60.0)
    loop = ElasticLoop(ControlLoop(FED, SETTINGS, lambda: 0.0), controller_named("predictive", elastic), cluster)
    for number in range(60):
        decision = loop.plan(replace(upcoming(number, 1_800), needs=needs))
        loop.record(outcome(number, 1_800, decision=decision))
    assert (cluster.workers(1_000.0).running > 1) == (useful is None)


def test_what_was_to_be_done_is_saved_and_older_states_can_be_read() -> None:
    loop = ControlLoop(FED, SETTINGS, lambda: 0.0)
    decision = loop.plan(replace(upcoming(0, 1_000), needs=KnownNeeds(rows_per_second={"fed": 1.0})))
    document = json.loads(loop.to_json())
    assert loaded(document).decision(0) == decision
    del document["decisions"][0]["demanded_seconds"]
    assert loaded(document).decision(0) == replace(decision, demanded_seconds=decision.plan.unshed_seconds)


def loaded(document: dict[str, Any]) -> ControlState:
    return ControlLoop.from_json(json.dumps(document), network=FED, settings=SETTINGS, clock=lambda: 0.0).state


def upcoming(number: int, rows: int) -> Upcoming:
    return Upcoming(
        micro_batch_id=number,
        offered_rows={"ticks": rows},
        sizes_known=True,
        backlog_rows=0,
        now_seconds=2.0 * (number + 1),
    )


def outcome(number: int, rows: int, *, decision: Decision | None = None, state_bytes: int = 0) -> MicroBatchOutcome:
    shares = {} if decision is None else decision.work_shares
    return MicroBatchOutcome(
        micro_batch_id=number,
        offered_rows={"ticks": rows},
        admitted_rows={"ticks": float(rows)},
        sampling_rates={},
        work_shares=shares,
        processing_seconds=1.0 if decision is None else decision.expected_seconds,
        trigger_interval_seconds=2.0,
        started_at_seconds=2.0 * (number + 1),
        state_entries=1,
        state_written_entries=int(state_bytes > 0),
        state_written_bytes=state_bytes,
    )
