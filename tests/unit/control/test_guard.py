from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from streamshed.control.guard import GuardedPlan, guarded
from streamshed.planning.plan.work_shares import plan_work_shares
from streamshed.planning.tree.quantization import code_of, sampling_rate_of
from tests.unit.control.examples import BUDGET, statistics
from tests.unit.planning.networks import counting

NETWORK = counting("packets", "alerts", exact=("alerts",))
KNOWN = statistics(packets=4_000_000, alerts=0)
PLAN = plan_work_shares(NETWORK, KNOWN, BUDGET)


def guard(codes: dict[str, int]) -> GuardedPlan:
    plan = replace(PLAN, work_codes=codes)
    return guarded(NETWORK, plan, statistics=KNOWN, budget=BUDGET)


def test_a_proper_plan_passes_untouched() -> None:
    allowed = guard(dict(PLAN.work_codes))
    assert allowed.plan == PLAN
    assert allowed.clamps == ()


@pytest.mark.parametrize(
    ("codes", "reason", "applied"),
    [
        ({"packets": 20, "alerts": 5}, "guard_protected", {"packets": 20, "alerts": 0}),
        ({"packets": 20}, "guard_missing_stream", {"packets": 20, "alerts": 0}),
        ({"packets": -3, "alerts": 0}, "guard_range", {"packets": 0, "alerts": 0}),
        ({"packets": 20, "alerts": 0, "ghosts": 7}, "guard_unknown_stream", {"packets": 20, "alerts": 0}),
    ],
)
def test_what_no_plan_may_do_is_undone_with_the_reason(
    codes: dict[str, int], reason: str, applied: dict[str, int]
) -> None:
    allowed = guard(codes)
    assert allowed.plan.work_codes == applied
    assert [clamp.reason for clamp in allowed.clamps] == [reason]
    assert allowed.plan.expected_seconds == pytest.approx(KNOWN.seconds(allowed.plan.work_shares))


def test_a_cut_is_at_most_ten_times_deeper_than_the_load_asks() -> None:
    deepest = code_of(BUDGET.seconds / KNOWN.seconds({}) / 10)
    allowed = guard({"packets": 255, "alerts": 0})
    assert allowed.plan.work_codes["packets"] == deepest
    assert [str(clamp) for clamp in allowed.clamps] == [f"guard_depth(packets: 255 -> {deepest})"]


@pytest.mark.parametrize(("least_share", "clamped"), [(0.0, False), (0.7, False), (0.999, False), (1.0, True)])
def test_any_share_of_what_may_be_shed_leaves_the_rest_alone(least_share: float, *, clamped: bool) -> None:
    least_shares = {"packets": least_share, "alerts": 1.0}
    known = replace(KNOWN, least_shares=least_shares)
    plan = replace(PLAN, work_codes={"packets": 20, "alerts": 0}, least_shares=least_shares)
    allowed = guarded(NETWORK, plan, statistics=known, budget=BUDGET)
    assert allowed.plan.work_shares["packets"] >= least_share
    assert [clamp.reason for clamp in allowed.clamps] == (["guard_protected"] if clamped else [])
    assert allowed.plan.work_codes["packets"] == (0 if clamped else 20)


@given(st.dictionaries(st.sampled_from(["packets", "alerts", "ghosts"]), st.integers(-1000, 1000)))
def test_whatever_is_proposed_what_applies_is_allowed(codes: dict[str, int]) -> None:
    applied = guard(codes).plan.work_codes
    assert set(applied) == {"packets", "alerts"}
    assert applied["alerts"] == 0
    assert sampling_rate_of(applied["packets"]) >= 0.93 * BUDGET.seconds / KNOWN.seconds({}) / 10
