import pytest

from streamshed.control.hysteresis import Hysteresis, HysteresisSettings, entered, settled
from streamshed.planning.work_shares import plan_work_shares
from tests.unit.control.examples import BUDGET, statistics
from tests.unit.planning.networks import counting


def after(*unshed_seconds: float) -> Hysteresis:
    state = Hysteresis()
    for seconds in unshed_seconds:
        state = state.updated(unshed_seconds=seconds, budget_seconds=1.0, utmost_seconds=1.05)
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


def test_what_would_be_late_is_shed_at_once_although_the_budget_lies_beyond() -> None:
    """As where streams that are kept whole need more than there is: the rest is not kept for being little."""
    beyond = {"budget_seconds": 1.0, "utmost_seconds": 0.5}
    assert Hysteresis().updated(unshed_seconds=1.01, **beyond).shedding
    assert not Hysteresis().updated(unshed_seconds=0.99, **beyond).shedding


def test_a_single_one_that_would_just_be_late_may_be_noise() -> None:
    """Where the budget has grown to nearly the deadline, because shedding could save next to nothing."""
    nearly = {"budget_seconds": 1.24, "utmost_seconds": 1.25}
    once = Hysteresis().updated(unshed_seconds=1.3, **nearly)
    assert not once.shedding
    assert once.updated(unshed_seconds=1.3, **nearly).shedding


def test_just_below_the_edge_the_mildest_rate_stays() -> None:
    known = statistics(packets=1_350_000, alerts=1000)
    plan = plan_work_shares(counting("packets", "alerts", exact=("alerts",)), known, BUDGET)
    assert not plan.sheds
    steady = settled(plan, after(1.16), statistics=known, budget=BUDGET)
    assert steady.sampling_codes == {"packets": 1, "alerts": 0}
    assert steady.reason == "leaving"
    assert steady.expected_seconds < plan.expected_seconds


def test_one_micro_batch_that_just_does_not_fit_is_kept_whole() -> None:
    known = statistics(packets=1_550_000)
    plan = plan_work_shares(counting("packets"), known, BUDGET)
    assert plan.sheds
    kept = entered(plan, after(1.01), statistics=known, budget=BUDGET)
    assert kept.sampling_codes == {"packets": 0}
    assert kept.reason == "entering"
    assert kept.expected_seconds == kept.unshed_seconds == plan.unshed_seconds
    assert entered(plan, after(1.16), statistics=known, budget=BUDGET) is plan


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
