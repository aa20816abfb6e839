from dataclasses import replace
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from streamshed.network.run.load_prior import LoadPrior
from streamshed.planning.plan.budget import Budget
from streamshed.planning.plan.plan import Remedy, SheddingPlan
from streamshed.planning.plan.work_shares import plan_work_shares
from streamshed.planning.tree.quantization import WHOLE, code_of
from streamshed.statistics.forecast import Statistics
from streamshed.statistics.load_model import LoadModel
from tests.unit.control.examples import BUDGET, PRIOR, statistics
from tests.unit.planning.networks import counting


def test_the_rate_solves_the_load_equation() -> None:
    # 0.2 fixed + 4 * 0.2 read = 1.0 s cannot be saved, 0.6 s are left for 4 * 0.8 = 3.2 s of work.
    plan = plan_work_shares(counting("packets"), statistics(packets=4_000_000), BUDGET)
    assert plan.work_codes == {"packets": code_of(0.6 / 3.2)}
    assert plan.unsheddable_seconds == pytest.approx(1.0)
    assert plan.unshed_seconds == pytest.approx(4.2)
    assert (plan.remedy, plan.reason, plan.saturated) == (Remedy.SHED, "overload", False)
    assert 1.55 < plan.expected_seconds <= 1.6
    assert plan.expected_utilization == pytest.approx(plan.expected_seconds / 2.0)
    assert "4.2 s of work for 1.6 s" in plan.explanation


def test_all_streams_that_may_be_shed_have_one_rate() -> None:
    known = statistics(packets=2_000_000, flows=2_000_000)
    plan = plan_work_shares(counting("packets", "flows"), known, BUDGET)
    assert set(plan.work_codes.values()) == {code_of(0.6 / 3.2)}


def test_what_must_be_kept_whole_leaves_less_for_the_others() -> None:
    known = statistics(alerts=300_000, packets=3_500_000)
    plan = plan_work_shares(counting("alerts", "packets", exact=("alerts",)), known, BUDGET)
    assert plan.work_codes == {"alerts": WHOLE, "packets": code_of(0.4 / 2.8)}
    assert plan.protected_streams == {"alerts": ("count_alerts",)}


def test_a_load_that_fits_is_kept_whole() -> None:
    plan = plan_work_shares(counting("packets"), statistics(packets=1_000_000), BUDGET)
    assert (plan.work_codes, plan.remedy) == ({"packets": WHOLE}, Remedy.NONE)


def test_where_latency_allows_micro_batches_grow_before_anything_is_shed() -> None:
    wide = Budget(trigger_interval_seconds=2.0, deadline_seconds=5.0, headroom=0.8)
    plan = plan_work_shares(counting("packets"), statistics(packets=3_000_000), wide)
    assert (plan.work_codes, plan.remedy) == ({"packets": WHOLE}, Remedy.LARGER_MICRO_BATCH)
    assert plan.reason == "larger_micro_batch"
    assert plan_work_shares(counting("packets"), statistics(packets=5_000_000), wide).remedy is Remedy.SHED


def test_when_reading_alone_is_too_much_the_plan_says_by_how_much() -> None:
    plan = plan_work_shares(counting("packets"), statistics(packets=10_000_000), BUDGET)
    assert 2.2 + 0.9 * 0.02 * 2.2 < plan.expected_seconds <= 2.2 + 0.02 * 2.2
    assert (plan.remedy, plan.reason, plan.saturated) == (Remedy.REFUSE, "saturated", True)
    assert plan.unsheddable_seconds == pytest.approx(2.2)
    assert "shedding cannot save 2.2 s" in plan.explanation
    assert "refuse queries or streams, or add workers" in plan.explanation


def test_what_would_save_next_to_nothing_is_not_shed() -> None:
    busy = statistics(packets=10_000)
    plan = plan_work_shares(counting("packets"), busy, replace(BUDGET, headroom=0.1))
    assert plan.unsheddable_seconds > 10 * (plan.unshed_seconds - plan.unsheddable_seconds)
    assert (plan.work_codes, plan.saturated) == ({"packets": WHOLE}, True)


def slow(fixed_seconds: float, **rows: int) -> Statistics:
    """A machine on which nearly all time is fixed; a million rows take 0.2 s to read and 0.8 s of work."""
    prior = replace(PRIOR, fixed_seconds=fixed_seconds)
    return Statistics(offered_rows=rows, load_model=LoadModel.initial(list(rows), prior))


def test_headroom_is_no_reason_to_give_up_answers_for_next_to_no_time() -> None:
    plan = plan_work_shares(counting("packets"), slow(1.5, packets=200_000), BUDGET)
    assert plan.unshed_seconds == pytest.approx(1.7)
    assert (plan.work_codes, plan.remedy) == ({"packets": WHOLE}, Remedy.NONE)
    assert plan.reason == "not_worth_shedding"
    assert "shedding could save 0.16 s at most" in plan.explanation


def test_nothing_is_shed_to_catch_up_what_catches_up_by_itself() -> None:
    late = replace(BUDGET, drain_seconds=0.9)
    assert late.seconds == pytest.approx(0.7)
    plan = plan_work_shares(counting("packets"), slow(0.5, packets=1_000_000), late)
    assert plan.unshed_seconds == pytest.approx(1.5)
    assert (plan.work_codes, plan.remedy) == ({"packets": WHOLE}, Remedy.NONE)
    overloaded = plan_work_shares(counting("packets"), slow(0.5, packets=3_000_000), late)
    assert overloaded.unsheddable_seconds == pytest.approx(1.1)
    assert overloaded.sheds


def test_but_what_must_be_shed_in_any_case_is_shed_to_the_headroom() -> None:
    plan = plan_work_shares(counting("packets"), slow(1.3, packets=1_000_000), BUDGET)
    assert plan.unsheddable_seconds == pytest.approx(1.5)
    assert plan.expected_seconds == pytest.approx(1.6, rel=0.02)
    assert (plan.reason, plan.expected_seconds <= 1.6) == ("overload", True)


@given(fixed_seconds=st.floats(0.01, 1.59), rows=st.integers(1, 10_000_000))
def test_what_is_allowed_is_the_budget_or_has_headroom_of_its_own(fixed_seconds: float, rows: int) -> None:
    plan = plan_work_shares(counting("packets"), slow(fixed_seconds, packets=rows), BUDGET)
    assert plan.saturated == (plan.unsheddable_seconds >= BUDGET.seconds)
    if not plan.saturated and plan.allowed_seconds > BUDGET.seconds:
        assert plan.allowed_seconds <= BUDGET.utmost_seconds
        assert plan.allowed_seconds * BUDGET.headroom <= plan.unsheddable_seconds * (1 + 1e-9)
    if plan.work_codes == {"packets": WHOLE}:
        assert plan.unshed_seconds <= plan.allowed_seconds * (1 + 1e-9)
    elif not plan.saturated:
        assert plan.expected_seconds <= plan.allowed_seconds * (1 + 1e-9)


@pytest.mark.parametrize("fixed_seconds", [0.1, 1.2, 1.4, 1.5, 1.7])
def test_a_few_rows_more_never_cost_many(fixed_seconds: float) -> None:
    def plan_of(rows: int) -> SheddingPlan:
        return plan_work_shares(counting("packets"), slow(fixed_seconds, packets=rows), BUDGET)

    expected_seconds = [plan_of(rows).expected_seconds for rows in range(10_000, 2_000_000, 10_000)]
    falls = [earlier - later for earlier, later in pairwise(expected_seconds)]
    assert max(falls) < 0.08


LEAST = st.floats(0.0, 0.99)


def partly_protected(least_share: float, seconds: float) -> Statistics:
    """A stream whose rows take so many seconds of work, of which a share may not be shed, and next to nothing else."""
    prior = LoadPrior(fixed_seconds=1e-6, seconds_per_row=1e-6, read_share=1e-6)
    rows = {"packets": round(seconds * 1e6)}
    model = LoadModel.initial(["packets"], prior)
    return Statistics(offered_rows=rows, load_model=model, least_shares={"packets": least_share})


@given(least_share=LEAST, load=st.floats(1.2, 20.0))
def test_shares_are_of_what_may_be_shed_however_much_may_not_be(least_share: float, load: float) -> None:
    known = partly_protected(least_share, load * BUDGET.seconds)
    plan = plan_work_shares(counting("packets"), known, BUDGET)
    assert plan.work_shares["packets"] > least_share
    if plan.sheds and not plan.saturated:
        sheddable_seconds = plan.unshed_seconds - plan.unsheddable_seconds
        wanted = (plan.allowed_seconds - plan.unsheddable_seconds) / sheddable_seconds
        assert plan.work_codes == {"packets": code_of(wanted)}
        assert plan.expected_seconds == pytest.approx(known.seconds(plan.work_shares))
        assert plan.expected_seconds <= plan.allowed_seconds * (1 + 1e-9)


def test_a_sixth_of_what_may_be_shed_is_done_beside_what_may_not_be() -> None:
    """1.1 s of work for 0.8 s, of which 0.77 s may not be shed; as that is nearly all of it, 0.825 s are allowed."""
    known = partly_protected(0.7, 1.1)
    budget = Budget(trigger_interval_seconds=1.0, deadline_seconds=1.0, headroom=0.8)
    plan = plan_work_shares(counting("packets"), known, budget)
    assert (plan.reason, plan.saturated) == ("overload", False)
    assert plan.work_codes == {"packets": code_of(1 / 6)}
    assert plan.work_shares["packets"] == pytest.approx(0.7 + 0.3 / 6, abs=1e-3)
    assert "0.165 of the 0.33 s that may be shed fits" in plan.explanation


def test_when_nothing_may_be_shed_overload_is_saturation() -> None:
    plan = plan_work_shares(counting("packets", exact=("packets",)), statistics(packets=4_000_000), BUDGET)
    assert (plan.work_codes, plan.remedy) == ({"packets": WHOLE}, Remedy.REFUSE)
    assert plan.protected_streams == {"packets": ("count_packets",)}
