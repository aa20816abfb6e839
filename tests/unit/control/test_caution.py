import pytest

from streamshed.control.caution import LARGEST_CAUTION, plan_cautiously
from streamshed.planning.work_shares import plan_work_shares
from streamshed.statistics.forecast import Statistics
from streamshed.statistics.load_model import LoadModel
from tests.unit.control.examples import BUDGET, PRIOR, outcome
from tests.unit.planning.networks import counting

NETWORK = counting("packets")


def learned(*outcomes: tuple[int, float, float]) -> LoadModel:
    model = LoadModel.initial(["packets"], PRIOR)
    for rows, kept, seconds in outcomes:
        model = model.updated(outcome(0, {"packets": rows}, {"packets": kept}, seconds))
    return model


CALM = [(200_000, 1.0, 0.4)] * 6


def test_what_is_well_known_is_planned_as_it_is() -> None:
    known = Statistics(offered_rows={"packets": 200_000}, load_model=learned(*CALM))
    plan, budget = plan_cautiously(NETWORK, known, BUDGET)
    assert budget is BUDGET
    assert plan == plan_work_shares(NETWORK, known, BUDGET)


def test_far_from_what_was_measured_the_budget_shrinks_but_not_without_end() -> None:
    known = Statistics(offered_rows={"packets": 5_000_000}, load_model=learned(*CALM))
    plan, budget = plan_cautiously(NETWORK, known, BUDGET)
    assert 1 < budget.caution <= LARGEST_CAUTION
    assert plan == plan_work_shares(NETWORK, known, budget)
    assert plan.expected_seconds <= BUDGET.seconds / budget.caution
    assert not plan.saturated


def test_a_plan_that_is_saturated_anyway_needs_no_caution() -> None:
    known = Statistics(offered_rows={"packets": 50_000_000}, load_model=learned(*CALM))
    plan, budget = plan_cautiously(NETWORK, known, BUDGET)
    assert budget is BUDGET
    assert plan.saturated


def test_doubt_fades_with_the_first_micro_batches_of_the_kind() -> None:
    burst = [(5_000_000, 0.1, 1.6)] * 6
    known = Statistics(offered_rows={"packets": 5_000_000}, load_model=learned(*CALM, *burst))
    _, budget = plan_cautiously(NETWORK, known, BUDGET)
    assert budget.caution == pytest.approx(1.0, abs=0.05)
