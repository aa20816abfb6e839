from dataclasses import replace

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from streamshed.control.rise import TRUSTED_SHARE, limited
from streamshed.planning.plan import SheddingPlan
from streamshed.planning.quantization import code_of, sampling_rate_of
from streamshed.planning.work_shares import plan_work_shares
from streamshed.statistics.micro_batch import MicroBatchOutcome
from tests.unit.control.examples import BUDGET, outcome, statistics
from tests.unit.planning.networks import counting

NETWORK = counting("packets")


def plan_for(rows: int) -> SheddingPlan:
    return plan_work_shares(NETWORK, statistics(packets=rows), BUDGET)


def kept_after(last: MicroBatchOutcome | None, rows: int) -> float:
    known = statistics(packets=rows)
    plan = plan_work_shares(NETWORK, known, BUDGET)
    return limited(plan, last, statistics=known, budget=BUDGET).sampling_rates["packets"]


@given(
    fixed=st.floats(0.0, 0.6),
    read=st.floats(0.0, 0.9),
    code=st.integers(1, 120),
    wanted=st.integers(0, 120),
)
def test_a_micro_batch_like_the_last_stays_within_the_budget_whatever_the_split_of_its_costs(
    fixed: float, read: float, code: int, wanted: int
) -> None:
    """As long as the model overrates by less than a factor of two what shedding cannot save."""
    rows, kept = 4_000_000, sampling_rate_of(code)
    last_seconds = 1.2
    unsheddable = (fixed + read * (1 - fixed)) * last_seconds
    work = (last_seconds - unsheddable) / kept
    known = statistics(packets=rows)
    model = known.load_model
    believed = model.seconds({"packets": rows}, {"packets": 0.0}) / model.seconds({"packets": rows}, {"packets": kept})
    assume(unsheddable >= TRUSTED_SHARE * believed * last_seconds)
    assume(wanted < code)
    plan = replace(plan_for(rows), sampling_codes={"packets": wanted})
    last = outcome(0, {"packets": rows}, {"packets": kept}, last_seconds)
    risen = limited(plan, last, statistics=known, budget=BUDGET).sampling_rates["packets"]
    assert unsheddable + work * risen <= BUDGET.seconds * (1 + 1e-9)


def test_before_anything_was_measured_or_shed_nothing_limits() -> None:
    planned = plan_for(4_000_000).sampling_rates["packets"]
    assert kept_after(None, 4_000_000) == planned
    assert kept_after(outcome(0, {"packets": 10}, {}, 0.2), 4_000_000) == planned


def test_a_full_micro_batch_leaves_rates_as_they_are() -> None:
    last = outcome(0, {"packets": 4_000_000}, {"packets": sampling_rate_of(60)}, 1.58)
    assert kept_after(last, 4_000_000) == sampling_rate_of(60)


def test_rates_may_always_fall() -> None:
    last = outcome(0, {"packets": 4_000_000}, {"packets": 0.9}, 3.0)
    assert kept_after(last, 4_000_000) == plan_for(4_000_000).sampling_rates["packets"]


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
    risen = limited(plan, last, statistics=known, budget=BUDGET)
    assert risen.sampling_rates["packets"] <= 0.05
    assert risen.reason == "rising"
