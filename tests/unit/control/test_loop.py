import threading
from dataclasses import replace
from typing import Any
from unittest.mock import Mock

import pytest

from streamshed.control.decision import Decision
from streamshed.control.guard import DEEPEST_CUT
from streamshed.control.loop import ControlLoop
from streamshed.control.settings import ControlSettings
from streamshed.errors import UnsheddableQueryError
from streamshed.planning.plan import kept_work
from streamshed.planning.plan.coming_work import coming_work
from streamshed.planning.plan.plan import Remedy
from streamshed.planning.tree.quantization import sampling_rate_of
from streamshed.statistics.measured import CallCost, Measured, WindowSums
from tests.unit.control.examples import PRIOR, outcome, upcoming
from tests.unit.planning.networks import aggregating, counting


def control_loop(*streams: str, exact: tuple[str, ...] = (), **settings: Any) -> ControlLoop:
    network = counting(*streams or ("packets",), exact=exact)
    return ControlLoop(network, ControlSettings(trigger_interval_seconds=2.0, prior=PRIOR, **settings), lambda: 99.0)


def run(loop: ControlLoop, micro_batch_id: int, rows: int, *, seconds: float | None = None) -> Decision:
    """Plan and record one micro-batch of stream `packets`, by default as long as the prior says."""
    decision = loop.plan(upcoming(micro_batch_id, {"packets": rows}))
    kept = dict(decision.work_shares)
    true_seconds = 0.2 + rows * 1e-6 * (0.2 + 0.8 * kept["packets"])
    loop.record(outcome(micro_batch_id, {"packets": rows}, kept, seconds or true_seconds))
    return decision


def test_the_very_first_micro_batch_is_shed_when_it_is_five_times_too_big() -> None:
    # 1.4 million rows would fill 1.6 s, headroom included.
    decision = control_loop().plan(upcoming(0, {"packets": 5 * 1_400_000}))
    assert decision.shedding
    assert decision.work_shares["packets"] < 1 / 5


def test_the_first_loaded_micro_batch_is_shed_already() -> None:
    loop = control_loop()
    calm = [run(loop, number, 700_000) for number in range(5)]
    loaded = loop.plan(upcoming(5, {"packets": 3_500_000}))
    assert not any(decision.shedding for decision in calm)
    assert loaded.shedding
    assert loaded.reason == "overload"
    assert loaded.expected_seconds <= loaded.budget_seconds <= 1.6


def test_a_decision_says_what_it_is_based_on() -> None:
    decision = control_loop("packets", "flows").plan(upcoming(0, {"packets": 4_000_000, "flows": 0}, backlog_rows=5))
    assert decision.offered_rows == {"packets": 4_000_000, "flows": 0}
    assert decision.proposed_work_codes == decision.work_codes
    assert decision.plan.remedy is Remedy.SHED
    assert "s of work for" in decision.explanation
    assert (decision.backlog_rows, decision.now_seconds, decision.decided_at_seconds) == (5, 2.0, 99.0)


def test_asked_twice_it_answers_the_same_whatever_it_learned_meanwhile() -> None:
    loop = control_loop()
    first = loop.plan(upcoming(0, {"packets": 4_000_000}))
    loop.record(outcome(0, {"packets": 4_000_000}, dict(first.work_shares), 9.0))
    assert loop.plan(upcoming(0, {"packets": 1})) is first


def test_a_mere_change_of_load_is_planned_for_without_working_all_out_again(monkeypatch: pytest.MonkeyPatch) -> None:
    counted = Mock(side_effect=coming_work)
    monkeypatch.setattr(kept_work, "coming_work", counted)
    loop = control_loop()
    decisions = [run(loop, number, rows) for number, rows in enumerate((4_000_000, 6_000_000, 3_000_000, 5_000_000))]
    assert counted.call_count == 1
    assert len({decision.work_shares["packets"] for decision in decisions}) == 4


def test_a_micro_batch_of_the_distant_past_leaves_no_trace() -> None:
    loop = control_loop()
    for number in range(5, 40):
        run(loop, number, 700_000)
    before = loop.state
    loop.plan(upcoming(1, {"packets": 9_000_000}))
    assert loop.state == before


def test_what_is_remembered_is_bounded() -> None:
    loop = control_loop()
    sizes = []
    for number in range(200):
        run(loop, number, 700_000 + 20_000 * (number % 50))
        sizes.append(len(loop.to_json()))
    assert max(sizes[100:]) <= max(sizes[:100]) * 1.05


def test_without_sizes_arrivals_are_extrapolated() -> None:
    loop = control_loop()
    for number in range(3):
        run(loop, number, 700_000)
    decision = loop.plan(upcoming(4, {}, sizes_known=False))
    assert decision.offered_rows == {"packets": 1_400_000}
    assert not decision.sizes_known


def test_a_size_that_is_known_beats_the_estimate() -> None:
    loop = control_loop()
    for number in range(3):
        run(loop, number, 700_000)
    assert loop.plan(upcoming(3, {"packets": 5}, sizes_known=False)).offered_rows == {"packets": 5}
    assert loop.plan(upcoming(4, {"packets": 0}, sizes_known=True)).offered_rows == {"packets": 0}


def test_a_late_outcome_does_not_count_an_interval_twice() -> None:
    loop = control_loop()
    for number in range(3):
        run(loop, number, 700_000)
    loop.plan(upcoming(3, {}, sizes_known=False))
    assert loop.plan(upcoming(4, {}, sizes_known=False)).offered_rows == {"packets": 700_000}


def test_advisory_mode_proposes_and_applies_nothing() -> None:
    decision = control_loop(advisory=True).plan(upcoming(0, {"packets": 4_000_000}))
    assert decision.advisory
    assert decision.plan.sheds
    assert decision.proposed_work_codes["packets"] > 0
    assert decision.work_codes == {"packets": 0}
    assert not decision.shedding
    assert decision.expected_seconds == decision.plan.unshed_seconds
    assert decision.explanation.endswith("advisory, nothing is shed")


def test_protected_streams_stay_whole_and_the_plan_says_for_whom() -> None:
    loop = control_loop("packets", "alerts", exact=("alerts",))
    decision = loop.plan(upcoming(0, {"packets": 3_000_000, "alerts": 500_000}))
    assert decision.work_codes["alerts"] == 0 < decision.work_codes["packets"]
    assert decision.plan.protected_streams == {"alerts": ("count_alerts",)}


def test_what_is_kept_whole_for_others_is_no_reason_to_wait_where_it_alone_is_too_much() -> None:
    """All that can be shed is little beside it: by the share of the budget alone it might be noise."""
    loop = control_loop("packets", "alerts", exact=("alerts",))
    decision = loop.plan(upcoming(0, {"packets": 900_000, "alerts": 4_000_000}))
    assert decision.reason == "saturated"
    assert decision.plan.unshed_seconds < 1.15 * decision.plan.allowed_seconds
    assert decision.work_codes["alerts"] == 0 < decision.work_codes["packets"]


def test_when_reading_alone_is_too_much_the_cut_is_as_deep_as_the_guard_allows_and_refusal_is_advised() -> None:
    decision = control_loop().plan(upcoming(0, {"packets": 20_000_000}))
    assert (decision.reason, decision.plan.remedy) == ("saturated", Remedy.REFUSE)
    deepest = 1.6 / decision.plan.unshed_seconds / DEEPEST_CUT
    assert 0.93 * deepest <= sampling_rate_of(decision.work_codes["packets"]) <= deepest
    assert "shedding cannot save 4.2 s" in decision.explanation


def test_latency_allowing_micro_batches_grow_before_rows_are_shed() -> None:
    loop = control_loop(latency_seconds=10.0, larger_micro_batches=True)
    decision = loop.plan(upcoming(0, {"packets": 2_000_000}))
    assert (decision.reason, decision.shedding) == ("larger_micro_batch", False)


def test_queries_that_cannot_be_answered_are_refused_or_kept_whole() -> None:
    refusing = ControlSettings(trigger_interval_seconds=2.0)
    with pytest.raises(UnsheddableQueryError, match="'query'"):
        ControlLoop(aggregating("max(value)"), refusing, lambda: 0.0)
    keeping = ControlSettings(trigger_interval_seconds=2.0, unscalable="keep")
    loop = ControlLoop(aggregating("max(value)"), keeping, lambda: 0.0)
    assert not loop.plan(upcoming(0, {"packets": 90_000_000})).shedding


@pytest.mark.parametrize(("is_cold", "sheds"), [(True, False), (False, True)])
def test_a_cold_micro_batch_that_was_late_costs_no_rows(*, is_cold: bool, sheds: bool) -> None:
    """What nearly fills the time is kept whole after it; after any other one that was late it has to catch up."""
    loop = control_loop("packets")
    loop.plan(upcoming(0, {"packets": 0}))
    loop.record(replace(outcome(0, {"packets": 0}, {}, 0.5), is_cold=is_cold))
    decision = loop.plan(replace(upcoming(1, {"packets": 1_350_000}), now_seconds=upcoming(0, {}).now_seconds + 2.9))
    assert decision.shedding is sheds


def test_how_long_a_cold_micro_batch_took_teaches_nothing() -> None:
    loop = control_loop()
    before = loop.state
    entry = loop.record(replace(outcome(0, {"packets": 700_000}, {}, 40.0), is_cold=True))
    assert not entry.learned
    assert (loop.state.load_model, loop.state.regulator) == (before.load_model, before.regulator)
    assert loop.state.arrivals != before.arrivals
    assert loop.plan(upcoming(1, {"packets": 700_000})).work_codes == {"packets": 0}


@pytest.mark.parametrize(("seconds", "is_cold"), [(0.9, True), (40.0, False)])
def test_what_functions_cost_in_a_cold_micro_batch_or_an_outlier_teaches_nothing(
    seconds: float, *, is_cold: bool
) -> None:
    """Functions, too, import and compile when they are first called, and wait where all wait."""
    loop = control_loop()
    for number in range(5):
        loop.record(outcome(number, {"packets": 700_000}, {}, 0.9))
    measured = Measured(
        calls={"packets > apply judge": CallCost(1000.0, 20.0)},
        windows={("count_packets", "n"): WindowSums(frozenset({0}), 10.0, 10.0, 10.0, 10.0)},
    )
    entry = loop.record(replace(outcome(5, {"packets": 700_000}, {}, seconds), is_cold=is_cold), measured)
    assert not entry.learned
    assert not loop.state.learned.calls
    assert loop.state.learned.offered["packets"]["rows"] == 700_000
    assert loop.state.learned.values
    loop.record(outcome(6, {"packets": 700_000}, {}, 0.9), measured)
    assert loop.state.learned.calls["packets > apply judge"]["seconds"] == 20.0


def test_an_outcome_teaches_once() -> None:
    loop = control_loop()
    decision = run(loop, 0, 700_000)
    before = loop.state
    again = loop.record(outcome(0, {"packets": 700_000}, dict(decision.work_shares), 7.0))
    assert not again.learned
    assert again.decision == decision
    assert loop.state == before


def test_an_outcome_that_nobody_planned_teaches_too() -> None:
    loop = control_loop()
    entry = loop.record(outcome(7, {"packets": 700_000}, {}, 1.8))
    assert (entry.reason, entry.learned, entry.expected_seconds) == ("unplanned", True, None)
    assert loop.state.load_model.seconds({"packets": 700_000}, {}) > 1.5


def test_rows_of_an_unknown_stream_are_refused() -> None:
    with pytest.raises(ValueError, match="unknown stream 'pakets'"):
        control_loop().plan(upcoming(0, {"pakets": 1}))


def test_a_restart_goes_on_exactly_where_it_stopped() -> None:
    loop = control_loop()
    for number, rows in enumerate([700_000, 700_000, 3_500_000, 3_500_000]):
        run(loop, number, rows)
    known = loop.plan(upcoming(4, {"packets": 3_500_000}))
    restored = ControlLoop.from_json(
        loop.to_json(), network=counting("packets"), settings=loop.settings, clock=lambda: 99.0
    )
    assert restored.state == loop.state
    assert restored.plan(upcoming(4, {"packets": 1})) == known
    resumed, unbroken = run(restored, 5, 3_500_000), run(loop, 5, 3_500_000)
    # Work that was planned on is kept in the one, and worked out anew in the other: that rounds otherwise.
    assert resumed.work_shares == pytest.approx(unbroken.work_shares, rel=1e-12)
    assert resumed.plan.expected_seconds == pytest.approx(unbroken.plan.expected_seconds, rel=1e-12)
    rounded: dict[str, Any] = {"work_shares": {}, "plan": unbroken.plan}
    assert replace(resumed, **rounded) == replace(unbroken, **rounded)


def test_a_restart_with_another_network_keeps_the_costs_of_what_stayed() -> None:
    loop = control_loop()
    for number in range(4):
        run(loop, number, 700_000, seconds=1.5)
    restored = ControlLoop.from_json(
        loop.to_json(), network=counting("packets", "flows"), settings=loop.settings, clock=lambda: 99.0
    )
    assert restored.state.load_model.seconds({"packets": 700_000}, {}) == pytest.approx(1.5, rel=0.1)
    assert set(restored.plan(upcoming(4, {"packets": 700_000, "flows": 10})).work_codes) == {
        "packets",
        "flows",
    }


@pytest.mark.parametrize("text", ["", "{}", "[]", '{"format": 0}', '{"format": 1, "regulator": 3}'])
def test_a_saved_state_that_cannot_be_used_is_one_clear_error(text: str) -> None:
    with pytest.raises(ValueError, match="the control loop's saved state cannot be used"):
        ControlLoop.from_json(
            text,
            network=counting("packets"),
            settings=ControlSettings(trigger_interval_seconds=2.0),
            clock=lambda: 0.0,
        )


def test_threads_that_ask_for_the_same_micro_batch_get_the_same_decision() -> None:
    loop = control_loop()
    decisions: list[Decision] = []
    threads = [
        threading.Thread(target=lambda: decisions.append(loop.plan(upcoming(0, {"packets": 4_000_000}))))
        for _ in range(8)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(decisions) == 8
    assert all(decision is decisions[0] for decision in decisions)


def test_less_is_done_of_a_micro_batch_that_is_held_up() -> None:
    free, held_up = control_loop(), control_loop()
    for number in range(5):
        run(free, number, 700_000)
        run(held_up, number, 700_000)
    first = free.plan(upcoming(5, {"packets": 3_500_000}))
    told: list[Decision] = []

    def held(decision: Decision) -> float:
        told.append(decision)
        return 0.5

    second = held_up.plan(upcoming(5, {"packets": 3_500_000}), held)
    assert told == [first]
    assert second.expected_seconds <= second.budget_seconds < first.budget_seconds
    assert second.work_shares["packets"] < first.work_shares["packets"]
    assert held_up.state.decisions[-1] == second
