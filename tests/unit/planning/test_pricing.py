import pytest

from streamshed.network.run.load_prior import LoadPrior
from streamshed.planning.plan.budget import Budget
from streamshed.planning.plan.plan import Remedy
from streamshed.planning.plan.pricing import with_work_codes
from streamshed.planning.plan.work_shares import plan_work_shares
from streamshed.statistics.forecast import Statistics
from streamshed.statistics.load_model import LoadModel
from tests.unit.planning.networks import counting

PRIOR = LoadPrior(fixed_seconds=0.2, seconds_per_row=1e-6, read_share=0.2)
STATISTICS = Statistics(offered_rows={"packets": 1_000_000}, load_model=LoadModel.initial(["packets"], PRIOR))
BUDGET = Budget(trigger_interval_seconds=2.0, deadline_seconds=2.0, headroom=0.8)
PLAN = plan_work_shares(counting("packets"), STATISTICS, BUDGET)


def test_the_expectation_follows_the_rates() -> None:
    changed = with_work_codes(PLAN, {"packets": 32}, statistics=STATISTICS, budget=BUDGET)
    assert changed.work_shares == {"packets": 0.1}
    assert changed.expected_seconds == pytest.approx(0.2 + 0.2 + 0.08)
    assert changed.expected_utilization == pytest.approx(0.24)
    assert changed.remedy is Remedy.SHED
    assert changed.unshed_seconds == PLAN.unshed_seconds


def test_the_same_rates_are_the_same_plan() -> None:
    assert with_work_codes(PLAN, {"packets": 0}, statistics=STATISTICS, budget=BUDGET) is PLAN
