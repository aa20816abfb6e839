from dataclasses import replace

import pytest

from streamshed.control.hysteresis import HELD, Hysteresis, HysteresisSettings, entered, held, settled
from streamshed.planning.plan.pricing import with_work_codes
from streamshed.planning.plan.work_shares import plan_work_shares
from streamshed.planning.tree.quantization import sampling_rate_of
from tests.unit.control.examples import BUDGET, statistics
from tests.unit.planning.networks import counting


def after(*unshed_seconds: float) -> Hysteresis:
    state = Hysteresis()
    for seconds in unshed_seconds:
        state = state.updated(unshed_seconds=seconds, budget_seconds=1.0, utmost_seconds=1.05, is_saturated=False)
    return state


@pytest.mark.parametrize(
    ("unshed_seconds", "shedding"),
    [
        ((0.99,), False),
        ((1.16,), True),
        ((1.01,), False),
        ((1.01, 1.01, 1.01, 1.01), False),
        ((1.01, 1.01, 1.01, 1.01, 1.01), True),
        ((1.01, 1.06), True),
        ((1.06, 1.06), True),
        ((1.06, 0.99, 1.06), False),
        ((1.16, 0.95), True),
        ((1.16, 0.95, 0.95), False),
        ((1.16, 0.95, 1.01, 0.95), True),
        ((1.16, 0.9), False),
        ((0.95, 0.95), False),
        ((3.0, 0.99), False),
        ((3.0, 1.2, 0.99), True),
    ],
)
def test_shedding_begins_beyond_the_edge_or_with_the_second_and_ends_below_it(
    unshed_seconds: tuple[float, ...], shedding: bool
) -> None:
    assert after(*unshed_seconds).shedding is shedding


def beyond(state: Hysteresis, unshed_seconds: float, *, is_saturated: bool) -> Hysteresis:
    """After one that is late before it has filled its budget."""
    return state.updated(
        unshed_seconds=unshed_seconds, budget_seconds=1.0, utmost_seconds=0.5, is_saturated=is_saturated
    )


def test_what_would_be_late_in_any_case_is_shed_at_once() -> None:
    """As where queries that are never shed need more than there is: the rest is not kept for being little."""
    assert beyond(Hysteresis(), 1.01, is_saturated=True).shedding
    assert not beyond(Hysteresis(), 0.99, is_saturated=True).shedding


def test_a_single_one_that_would_just_be_late_may_be_noise() -> None:
    """Where the budget lies beyond the deadline, because the micro-batch starts late, for once."""
    once = beyond(Hysteresis(), 1.01, is_saturated=False)
    assert not once.shedding
    assert beyond(once, 1.01, is_saturated=False).shedding


def test_just_below_the_edge_the_mildest_rate_stays() -> None:
    known = statistics(packets=1_350_000, alerts=1000)
    plan = plan_work_shares(counting("packets", "alerts", exact=("alerts",)), known, BUDGET)
    assert not plan.sheds
    steady = settled(plan, after(1.16), statistics=known, budget=BUDGET)
    assert steady.work_codes == {"packets": 1, "alerts": 0}
    assert steady.reason == "leaving"
    assert steady.expected_seconds < plan.expected_seconds


@pytest.mark.parametrize("least_share", [0.0, 0.85, 0.99])
def test_the_mildest_shedding_is_of_what_may_be_shed(least_share: float) -> None:
    known = replace(statistics(packets=1_350_000), least_shares={"packets": least_share})
    plan = plan_work_shares(counting("packets"), known, BUDGET)
    steady = settled(plan, after(1.16), statistics=known, budget=BUDGET)
    assert steady.work_codes == {"packets": 1}
    assert steady.work_shares["packets"] == pytest.approx(least_share + (1 - least_share) * sampling_rate_of(1))


def test_one_micro_batch_that_just_does_not_fit_is_kept_whole() -> None:
    known = statistics(packets=1_550_000)
    plan = plan_work_shares(counting("packets"), known, BUDGET)
    assert plan.sheds
    kept = entered(plan, after(1.01), statistics=known, budget=BUDGET)
    assert kept.work_codes == {"packets": 0}
    assert kept.reason == "entering"
    assert kept.expected_seconds == kept.unshed_seconds == plan.unshed_seconds
    assert entered(plan, after(1.16), statistics=known, budget=BUDGET) is plan


@pytest.mark.parametrize(
    ("last_code", "seconds_of_last", "is_held"),
    [
        (9, 1.0, True),
        (9, HELD - 1e-6, True),
        (9, HELD + 1e-6, False),
        (8, 1.0, False),
        (10, 1.0, False),
        (11, 1.0, False),
    ],
)
def test_a_step_is_held_where_it_nearly_fits(last_code: int, seconds_of_last: float, is_held: bool) -> None:
    """The plan has step 10; the last micro-batch had another, which takes so many times the time that is allowed."""
    known = statistics(packets=3_000_000)
    plan = with_work_codes(
        plan_work_shares(counting("packets"), known, BUDGET), {"packets": 10}, statistics=known, budget=BUDGET
    )
    seconds = known.seconds({"packets": sampling_rate_of(last_code)})
    plan = replace(plan, allowed_seconds=seconds / seconds_of_last)
    steady = held(plan, {"packets": last_code}, statistics=known, budget=BUDGET)
    assert steady.work_codes == {"packets": last_code if is_held else 10}
    assert steady.expected_seconds == pytest.approx(seconds if is_held else plan.expected_seconds)


def test_of_several_streams_no_step_is_held_unless_all_are_near() -> None:
    known = statistics(packets=3_000_000, alerts=3_000_000)
    plan = plan_work_shares(counting("packets", "alerts"), known, BUDGET)
    codes = dict(plan.work_codes)
    roomy = replace(plan, allowed_seconds=2 * plan.allowed_seconds)
    for last, steps in (({"packets": -1}, (1, 0)), ({"packets": -1, "alerts": -1}, (1, 1)), ({"alerts": -2}, (0, 0))):
        before = {stream: codes[stream] + step for stream, step in last.items()}
        steady = held(roomy, before, statistics=known, budget=BUDGET)
        assert steady.work_codes == {"packets": codes["packets"] - steps[0], "alerts": codes["alerts"] - steps[1]}


def test_where_nothing_was_shed_before_shedding_begins() -> None:
    known = statistics(packets=1_550_000)
    plan = plan_work_shares(counting("packets"), known, BUDGET)
    mild = with_work_codes(plan, {"packets": 1}, statistics=known, budget=BUDGET)
    mild = replace(mild, allowed_seconds=2 * mild.unshed_seconds)
    assert held(mild, {"packets": 0}, statistics=known, budget=BUDGET) is mild


def test_a_plan_that_sheds_is_left_alone_and_so_is_calm() -> None:
    calm, busy = statistics(packets=1_000_000), statistics(packets=3_000_000)
    network = counting("packets")
    for known, state in ((calm, after(0.5)), (busy, after(1.16))):
        plan = plan_work_shares(network, known, BUDGET)
        assert settled(plan, state, statistics=known, budget=BUDGET) is plan


@pytest.mark.parametrize(
    "wrong",
    [
        {"enter_share": 0.9},
        {"loaded_micro_batches": 0},
        {"leave_share": 0.0},
        {"leave_share": 1.1},
        {"fallen_share": 0.0},
        {"calm_micro_batches": 0},
    ],
)
def test_settings_that_cannot_be_are_refused(wrong: dict[str, int]) -> None:
    with pytest.raises(ValueError, match="hysteresis"):
        HysteresisSettings(**wrong)
