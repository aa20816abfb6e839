"""What every planner must keep, whatever its policy."""

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from streamshed.planning.budget import Budget
from streamshed.planning.plan import Remedy
from streamshed.planning.policies import POLICIES, Policy, policy_named
from streamshed.planning.quantization import WHOLE
from streamshed.statistics.forecast import Statistics
from streamshed.statistics.load_model import LoadModel
from streamshed.statistics.load_prior import LoadPrior
from tests.unit.planning.networks import counting

NETWORK = counting("packets", "flows", "alerts", exact=("alerts",))
EVERY_POLICY = pytest.mark.parametrize("policy", POLICIES, ids=[policy.name for policy in POLICIES])

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


@EVERY_POLICY
@given(prior=PRIORS, rows=ROWS, correction=st.floats(0.3, 3), seconds=st.floats(0.1, 10))
def test_a_plan_never_exceeds_its_budget_or_says_that_none_fits(
    policy: Policy, prior: LoadPrior, rows: dict[str, int], correction: float, seconds: float
) -> None:
    known = statistics(prior, rows, correction)
    plan = policy.plan(NETWORK, known, budget(seconds))
    assert plan.expected_seconds == pytest.approx(known.seconds(plan.sampling_rates))
    if plan.saturated:
        assert plan.remedy is Remedy.REFUSE
        assert plan.unsheddable_seconds >= seconds * (1 - 1e-9)
    else:
        assert plan.expected_seconds <= (seconds if plan.sheds else plan.allowed_seconds) * (1 + 1e-9)
        most = max(seconds, min(plan.unsheddable_seconds, seconds) / 0.8)
        assert seconds * (1 - 1e-9) <= plan.allowed_seconds <= most * (1 + 1e-9)


@EVERY_POLICY
@given(prior=PRIORS, rows=ROWS)
def test_the_same_question_has_the_same_answer(policy: Policy, prior: LoadPrior, rows: dict[str, int]) -> None:
    known = statistics(prior, rows)
    assert policy.plan(NETWORK, known, budget()) == policy.plan(NETWORK, known, budget())


@EVERY_POLICY
@given(prior=PRIORS, rows=ROWS)
def test_every_stream_has_a_rate_and_protected_streams_are_kept_whole(
    policy: Policy, prior: LoadPrior, rows: dict[str, int]
) -> None:
    plan = policy.plan(NETWORK, statistics(prior, rows), budget())
    assert set(plan.sampling_codes) == {"packets", "flows", "alerts"}
    assert all(0 < sampling_rate <= 1 for sampling_rate in plan.sampling_rates.values())
    assert plan.sampling_codes["alerts"] == WHOLE
    assert plan.protected_streams == {"alerts": ("count_alerts",)}


@EVERY_POLICY
@given(prior=PRIORS, rows=ROWS, factor=st.floats(1, 10))
def test_more_load_never_means_more_rows_kept(
    policy: Policy, prior: LoadPrior, rows: dict[str, int], factor: float
) -> None:
    plan = policy.plan(NETWORK, statistics(prior, rows), budget())
    more = policy.plan(NETWORK, statistics(prior, rows, factor), budget())
    assert all(more.sampling_codes[stream] >= code for stream, code in plan.sampling_codes.items())


@EVERY_POLICY
@given(prior=PRIORS, rows=ROWS)
def test_nothing_is_shed_without_need(policy: Policy, prior: LoadPrior, rows: dict[str, int]) -> None:
    known = statistics(prior, rows)
    assume(known.seconds({}) <= 1.6)
    plan = policy.plan(NETWORK, known, budget())
    assert not plan.sheds
    assert plan.reason in {"within_budget", "larger_micro_batch"}


def test_an_unknown_policy_is_refused_with_a_near_miss() -> None:
    with pytest.raises(ValueError, match=r"unknown policy 'unifrom'.*did you mean \"uniform\""):
        policy_named("unifrom")


def test_policies_have_names_of_their_own() -> None:
    assert len({policy.name for policy in POLICIES}) == len(POLICIES)
