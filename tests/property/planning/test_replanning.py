"""A plan for another load is the plan that planning anew would make."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from streamshed.planning.rate_policies import RATE_POLICIES
from streamshed.planning.replanning import RatePlanner
from tests.property.planning.trees import demands, trees


@pytest.mark.parametrize("policy", RATE_POLICIES)
@given(st.data(), st.floats(0.01, 1.5), st.floats(0.1, 10), st.integers(1, 2))
def test_it_is_the_same(policy: str, data: st.DataObject, share: float, factor: float, priorities: int) -> None:
    tree = data.draw(trees())
    asked = data.draw(demands(len(tree.query_nodes), priorities=priorities))
    budget = share * float(tree.node_seconds.sum())
    planner = RatePlanner(tree, asked, RATE_POLICIES[policy])
    anew = RATE_POLICIES[policy](tree, asked, budget / factor)
    np.testing.assert_allclose(planner.rates(budget, factor), anew, rtol=1e-3, atol=1e-6)
