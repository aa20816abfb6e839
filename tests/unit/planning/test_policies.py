"""What every planner must keep, whatever its policy."""

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from streamshed.control.decision import Upcoming
from streamshed.control.loop import ControlLoop
from streamshed.control.settings import ControlSettings
from streamshed.network.model.network import network
from streamshed.network.run.load_prior import LoadPrior
from streamshed.planning.plan.budget import Budget
from streamshed.planning.plan.coming_work import coming_work
from streamshed.planning.plan.plan import Remedy, SheddingPlan
from streamshed.planning.plan.policies import POLICIES, Policy, policy_named
from streamshed.planning.plan.query_rates import QueryRates
from streamshed.planning.plan.work_shares import plan_work_shares
from streamshed.planning.tree.quantization import SMALLEST, WHOLE, sampling_rate_of
from streamshed.statistics.forecast import Statistics
from streamshed.statistics.guess import guessed_statistics
from streamshed.statistics.load_model import LoadModel
from tests.unit.planning.networks import counting, rows_of

SHARED = rows_of("packets").map(hashed="sha2(CAST(value AS STRING), 256)")
NETWORK = network(
    *counting("packets", "flows", "alerts", exact=("alerts",)).queries,
    SHARED.filter("hashed LIKE 'a%'").window("10 seconds").agg(total="sum(value)").query("few", weight=3),
    SHARED.window("10 seconds", every="5 seconds").agg(mean="avg(value)").query("many"),
    rows_of("packets").filter("value > 5").query("rows", weight=0.1),
)
EVERY_POLICY = pytest.mark.parametrize("policy", POLICIES, ids=[policy.name for policy in POLICIES])

SMALLEST_RATES = 1e-7
"""What rows at the smallest rate there is may take beside all else."""

ROWS = st.fixed_dictionaries({name: st.integers(0, 5_000_000) for name in ("packets", "flows", "alerts")})
PRIORS = st.builds(
    LoadPrior,
    fixed_seconds=st.floats(0.01, 1.0),
    seconds_per_row=st.floats(1e-8, 1e-5),
    read_share=st.floats(0.01, 0.9),
)


def statistics(prior: LoadPrior, rows: dict[str, int], correction: float = 1.0) -> Statistics:
    model = LoadModel.initial(["packets", "flows", "alerts"], prior)
    return Statistics(offered_rows=rows, load_model=model, correction=correction)


def budget(seconds: float = 1.6) -> Budget:
    return Budget(trigger_interval_seconds=2.0, deadline_seconds=seconds / 0.8, headroom=0.8)


def planned(policy: Policy, known: Statistics, allowed: Budget) -> tuple[SheddingPlan, QueryRates]:
    """What of the work is done, and which queries get it."""
    work = coming_work(NETWORK, guessed_statistics(NETWORK), known, trigger_interval_seconds=2.0)
    bounded = replace(known, least_shares=policy.least_shares(work))
    plan = plan_work_shares(NETWORK, bounded, allowed)
    return plan, policy.query_rates(work, plan.work_codes)


@EVERY_POLICY
@given(prior=PRIORS, rows=ROWS, correction=st.floats(0.3, 3), seconds=st.floats(0.1, 10))
def test_a_plan_never_exceeds_its_budget_or_says_that_none_fits(
    policy: Policy, prior: LoadPrior, rows: dict[str, int], correction: float, seconds: float
) -> None:
    known = statistics(prior, rows, correction)
    plan, rates = planned(policy, known, budget(seconds))
    assert plan.expected_seconds == pytest.approx(known.seconds(plan.work_shares))
    assert known.seconds(rates.work_shares) <= plan.expected_seconds * (1 + SMALLEST_RATES)
    if plan.saturated:
        assert plan.remedy is Remedy.REFUSE
        assert plan.unsheddable_seconds >= seconds * (1 - 1e-9)
    else:
        assert plan.expected_seconds <= plan.allowed_seconds * (1 + 1e-9)
        most = max(seconds, min(plan.unsheddable_seconds, seconds) / 0.8)
        assert seconds * (1 - 1e-9) <= plan.allowed_seconds <= most * (1 + 1e-9)


@EVERY_POLICY
@given(prior=PRIORS, rows=ROWS)
def test_the_same_question_has_the_same_answer(policy: Policy, prior: LoadPrior, rows: dict[str, int]) -> None:
    known = statistics(prior, rows)
    assert planned(policy, known, budget()) == planned(policy, known, budget())


@EVERY_POLICY
@given(prior=PRIORS, rows=ROWS)
def test_every_query_has_a_rate_and_protected_ones_are_kept_whole(
    policy: Policy, prior: LoadPrior, rows: dict[str, int]
) -> None:
    plan, rates = planned(policy, statistics(prior, rows), budget())
    assert set(plan.work_codes) == set(rates.work_shares) == {"packets", "flows", "alerts"}
    assert set(rates.codes) == set(rates.expected_errors) == {query.name for query in NETWORK.queries}
    assert all(WHOLE <= code <= SMALLEST for code in rates.codes.values())
    assert rates.codes["count_alerts"] == plan.work_codes["alerts"] == WHOLE
    assert rates.expected_errors["count_alerts"] == 0
    assert plan.protected_streams == {"alerts": ("count_alerts",)}


@EVERY_POLICY
@given(prior=PRIORS, rows=ROWS, factor=st.floats(1, 10))
def test_more_load_never_means_that_more_work_is_done(
    policy: Policy, prior: LoadPrior, rows: dict[str, int], factor: float
) -> None:
    plan, _ = planned(policy, statistics(prior, rows), budget())
    more, _ = planned(policy, statistics(prior, rows, factor), budget())
    assert more.saturated or all(more.work_codes[stream] >= code for stream, code in plan.work_codes.items())


@EVERY_POLICY
@given(prior=PRIORS, rows=ROWS)
def test_nothing_is_shed_without_need(policy: Policy, prior: LoadPrior, rows: dict[str, int]) -> None:
    known = statistics(prior, rows)
    assume(known.seconds({}) <= 1.6)
    plan, rates = planned(policy, known, budget())
    assert not plan.sheds
    assert set(rates.codes.values()) == {WHOLE}
    assert plan.reason in {"within_budget", "larger_micro_batch"}


def test_an_unknown_policy_is_refused_with_a_near_miss() -> None:
    with pytest.raises(ValueError, match=r"unknown policy 'unifrom'.*did you mean \"uniform\""):
        policy_named("unifrom")


def test_policies_have_names_of_their_own() -> None:
    assert len({policy.name for policy in POLICIES}) == len(POLICIES)


@given(rows=st.integers(1_000_000, 20_000_000), goal=st.sampled_from((0.001, 0.01, 0.1)))
def test_goals_are_met_after_rounding_or_told_to_be_missed(rows: int, goal: float) -> None:
    shared = rows_of("packets").map(hashed="sha2(CAST(value AS STRING), 256)")
    asked = network(
        shared.filter("hashed LIKE 'a%'").window("10 seconds").agg(total="sum(value)").query("few", max_error=goal),
        shared.window("10 seconds").agg(mean="avg(value)").query("many", weight=100),
    )
    known = Statistics(
        offered_rows={"packets": rows}, load_model=LoadModel.initial(["packets"], LoadPrior()), correction=1.0
    )
    work = coming_work(asked, guessed_statistics(asked), known, trigger_interval_seconds=2.0)
    for policy in POLICIES:
        plan = plan_work_shares(asked, replace(known, least_shares=policy.least_shares(work)), budget())
        rates = policy.query_rates(work, plan.work_codes)
        [few] = [demand for demand in work.demands if demand.query == "few"]
        is_met = few.meets_goal(sampling_rate_of(rates.codes["few"]))
        assert rates.missed_goals == (() if is_met else ("few",))
        if policy.rates is not None and is_met is False and not plan.saturated:
            assert work.shares(np.array([few.goal_rate, 0.0]))["packets"] > sampling_rate_of(
                plan.work_codes["packets"]
            ) * (1 - 1e-9)


def test_a_goal_that_is_missed_is_named_in_the_explanation() -> None:
    asked = network(
        rows_of("packets").window("10 seconds").agg(total="sum(value)").query("exacting", max_error="0.1 % at 99 %")
    )
    loop = ControlLoop(asked, ControlSettings(trigger_interval_seconds=2.0), lambda: 0.0)
    upcoming = Upcoming(
        micro_batch_id=0, offered_rows={"packets": 50_000_000}, sizes_known=True, backlog_rows=0, now_seconds=0.0
    )
    decision = loop.plan(upcoming)
    assert decision.missed_goals == ("exacting",)
    assert "the load leaves too little for the max_error of exacting" in decision.explanation
    assert decision.samplers.keys() == {"packets"}


def test_a_query_that_is_named_like_its_stream_has_a_sampler_of_its_own() -> None:
    packets = rows_of("packets")
    asked = network(
        packets.window("10 seconds").agg(total="sum(value)").query("packets"),
        packets.window("10 seconds").agg(mean="avg(value)").query("many", weight=100),
    )
    known = Statistics(
        offered_rows={"packets": 20_000_000}, load_model=LoadModel.initial(["packets"], LoadPrior()), correction=1.0
    )
    work = coming_work(asked, guessed_statistics(asked), known, trigger_interval_seconds=2.0)
    rates = policy_named("least_error").query_rates(work, {"packets": 100})
    of_stream, of_query = (rates.samplers[place] for place in ("packets", "query packets"))
    # [B04] §4: the samplers on the way to a query multiply to what it is answered from.
    assert of_stream * of_query == pytest.approx(sampling_rate_of(rates.codes["packets"]))
    assert of_stream == pytest.approx(sampling_rate_of(rates.codes["many"]))
