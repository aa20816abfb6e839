"""Time for windows is not rounded to codes of work: what is lost so would be lost by the highest priority."""

from __future__ import annotations

from dataclasses import replace

import pytest

from streamshed.network.model.network import network
from streamshed.network.run.load_prior import LoadPrior
from streamshed.network.run.policy_names import DEFAULT_POLICY
from streamshed.planning.plan.budget import Budget
from streamshed.planning.plan.coming_work import coming_work
from streamshed.planning.plan.plan import SheddingPlan
from streamshed.planning.plan.policies import policy_named
from streamshed.planning.plan.query_rates import QueryRates
from streamshed.planning.plan.work_shares import plan_work_shares
from streamshed.planning.tree.quantization import sampling_rate_of
from streamshed.planning.window_drop.track.decisions import UpcomingWindows
from streamshed.planning.window_drop.track.open_windows import EventTimes
from streamshed.statistics.forecast import Statistics
from streamshed.statistics.guess import guessed_statistics
from streamshed.statistics.load_model import LoadModel
from tests.unit.planning.networks import rows_of

WINDOWS = rows_of("s").window("100 milliseconds")
NETWORK = network(
    WINDOWS.agg(n="count(*)").query("first", mode="subset", max_gap=9, priority=100),
    WINDOWS.by("value").agg(n="count(*)").query("last", mode="subset", max_gap=9),
)
TIMES = EventTimes(opened=0, carried_since=0, first=10_000_000, last=11_999_999)


def _planned(rows: int) -> tuple[SheddingPlan, QueryRates, float]:
    """The plan for a micro-batch of so many rows, and what its windows are expected to take."""
    prior = LoadPrior(fixed_seconds=0.1, seconds_per_row=2e-6, read_share=0.1)
    known = Statistics(offered_rows={"s": rows}, load_model=LoadModel.initial(["s"], prior))
    windows = UpcomingWindows(event_times={"s": TIMES})
    work = coming_work(NETWORK, guessed_statistics(NETWORK), known, trigger_interval_seconds=2.0, windows=windows)
    policy = policy_named(DEFAULT_POLICY)
    known = replace(known, least_shares=policy.least_shares(work))
    budget = Budget(trigger_interval_seconds=2.0, deadline_seconds=2.0, headroom=0.8)
    plan = plan_work_shares(NETWORK, known, budget)
    rates = policy.query_rates(work, plan.work_codes, plan.exact_work_shares)
    assert rates.windows is not None
    taken = float(work.tree.node_seconds @ rates.windows.needed_in_the_long_run)
    return plan, rates, plan.unsheddable_seconds + taken


@pytest.mark.parametrize("rows", [1_000_000, 1_010_000, 1_050_000, 1_100_000, 1_200_000, 1_500_000])
def test_the_highest_priority_gets_all_the_time_that_there_is(rows: int) -> None:
    plan, rates, taken_seconds = _planned(rows)
    assert rates.windows is not None
    shares = rates.windows.kept_shares
    assert plan.sheds
    assert shares["last"] == pytest.approx(0.1) or shares["first"] == 1.0
    assert taken_seconds == pytest.approx(plan.allowed_seconds, rel=0.02)


def test_what_fits_is_rounded_only_where_rates_are() -> None:
    plan, _, _ = _planned(1_100_000)
    (share,), (exact,) = plan.work_shares.values(), plan.exact_work_shares.values()
    assert share < exact < share / sampling_rate_of(1)
    limited = replace(plan, work_codes={"s": plan.work_codes["s"] + 1})
    assert limited.exact_work_shares == limited.work_shares
