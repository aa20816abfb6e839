from dataclasses import replace

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from streamshed.control.rise import TRUSTED_SHARE, limited
from streamshed.planning.plan.plan import SheddingPlan
from streamshed.planning.plan.work_shares import plan_work_shares
from streamshed.planning.tree.quantization import code_of, sampling_rate_of, work_share
from streamshed.statistics.forecast import Statistics
from streamshed.statistics.micro_batch import MicroBatchOutcome
from tests.unit.control.examples import BUDGET, outcome, statistics
from tests.unit.planning.networks import counting

NETWORK = counting("packets")


def plan_for(rows: int) -> SheddingPlan:
    return plan_work_shares(NETWORK, statistics(packets=rows), BUDGET)


def kept_after(last: MicroBatchOutcome | None, rows: int) -> float:
    known = statistics(packets=rows)
    plan = plan_work_shares(NETWORK, known, BUDGET)
    return limited(plan, last, last_least_shares={}, statistics=known, budget=BUDGET).work_shares["packets"]


def partly_protected(rows: int, least_share: float) -> Statistics:
    return replace(statistics(packets=rows), least_shares={"packets": least_share})


@given(
    fixed=st.floats(0.0, 0.6),
    read=st.floats(0.0, 0.9),
    code=st.integers(1, 120),
    wanted=st.integers(0, 120),
    least=st.floats(0.0, 0.95),
)
def test_a_micro_batch_like_the_last_stays_within_the_budget_whatever_the_split_of_its_costs(
    fixed: float, read: float, code: int, wanted: int, least: float
) -> None:
    """As long as the model overrates by less than a factor of two what shedding cannot save."""
    rows, kept = 4_000_000, sampling_rate_of(code)
    last_seconds = 1.2
    unsheddable = (fixed + read * (1 - fixed)) * last_seconds
    work = (last_seconds - unsheddable) / kept
    known = partly_protected(rows, least)
    model, done = known.load_model, {"packets": work_share(code, least)}
    believed = model.seconds({"packets": rows}, {"packets": least}) / model.seconds({"packets": rows}, done)
    assume(unsheddable >= TRUSTED_SHARE * believed * last_seconds)
    assume(wanted < code)
    plan = replace(plan_work_shares(NETWORK, known, BUDGET), work_codes={"packets": wanted})
    last = outcome(0, {"packets": rows}, done, last_seconds)
    risen = limited(plan, last, last_least_shares={"packets": least}, statistics=known, budget=BUDGET)
    assert unsheddable + work * sampling_rate_of(risen.work_codes["packets"]) <= plan.allowed_seconds * (1 + 1e-9)
    assert work_share(0, least) >= risen.work_shares["packets"] >= least


def test_before_anything_was_measured_or_shed_nothing_limits() -> None:
    planned = plan_for(4_000_000).work_shares["packets"]
    assert kept_after(None, 4_000_000) == planned
    assert kept_after(outcome(0, {"packets": 10}, {}, 0.2), 4_000_000) == planned


def test_a_full_micro_batch_leaves_rates_as_they_are() -> None:
    last = outcome(0, {"packets": 4_000_000}, {"packets": sampling_rate_of(60)}, 1.58)
    assert kept_after(last, 4_000_000) == sampling_rate_of(60)


@pytest.mark.parametrize("least", [0.0, 0.3, 0.7])
def test_a_share_that_is_left_as_it_is_loses_no_step_to_rounding(least: float) -> None:
    for code in range(1, 100):
        known = partly_protected(1_300_000, least)
        plan = plan_work_shares(NETWORK, known, BUDGET)
        last = outcome(0, {"packets": 1_300_000}, {"packets": work_share(code, least)}, 5.0)
        risen = limited(plan, last, last_least_shares={"packets": least}, statistics=known, budget=BUDGET)
        assert risen.work_codes == {"packets": code}


def test_rates_may_always_fall() -> None:
    last = outcome(0, {"packets": 4_000_000}, {"packets": 0.9}, 3.0)
    assert kept_after(last, 4_000_000) == plan_for(4_000_000).work_shares["packets"]


def test_fewer_rows_may_be_kept_at_a_higher_rate() -> None:
    last = outcome(0, {"packets": 4_000_000}, {"packets": 0.05}, 1.58)
    assert kept_after(last, 2_000_000) == pytest.approx(sampling_rate_of(code_of(0.1)))


def test_when_the_load_has_fallen_everything_may_be_kept() -> None:
    last = outcome(0, {"packets": 4_000_000}, {"packets": 0.05}, 1.58)
    assert kept_after(last, 800_000) == 1.0


def test_a_changed_mind_of_the_model_is_no_reason_to_keep_everything() -> None:
    last = outcome(0, {"packets": 1_300_000}, {"packets": 0.05}, 1.58)
    known = statistics(packets=1_300_000)
    plan = plan_work_shares(NETWORK, known, BUDGET)
    assert not plan.sheds
    risen = limited(plan, last, last_least_shares={}, statistics=known, budget=BUDGET)
    assert risen.work_shares["packets"] <= 0.05
    assert risen.reason == "rising"


def test_what_may_not_be_shed_is_no_work_that_could_rise() -> None:
    """0.45 s are fixed or read and 0.7 of work for others; 0.03 s of the 0.3 that could be shed were done."""
    rows, least = 1_250_000, 0.7
    known = partly_protected(rows, least)
    plan = plan_work_shares(NETWORK, known, BUDGET)
    assert plan.work_codes == {"packets": 0}
    last = outcome(0, {"packets": rows}, {"packets": 0.73}, 1.2)
    risen = limited(plan, last, last_least_shares={"packets": least}, statistics=known, budget=BUDGET)
    certain = TRUSTED_SHARE * (0.45 + 0.7) / (0.45 + 0.73)
    growth = (1.6 / 1.2 - certain) / (1 - certain)
    assert risen.work_codes["packets"] == code_of(0.1 * growth)


def test_of_less_work_that_may_be_shed_a_larger_share_is_as_much() -> None:
    known = partly_protected(1_000_000, 0.5)
    last = outcome(0, {"packets": 1_000_000}, {"packets": 0.125}, 1.7)
    plan = plan_work_shares(NETWORK, known, BUDGET)
    risen = limited(plan, last, last_least_shares={"packets": 0.0}, statistics=known, budget=BUDGET)
    assert risen.work_codes["packets"] == code_of(0.25)
