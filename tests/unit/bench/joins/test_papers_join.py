"""The paper's operator, row by row, against the full join."""

from dataclasses import replace

import numpy as np
import pytest

from streamshed.joins.model.arrays import Floats
from streamshed.joins.model.side import Side
from streamshed_bench.joins.join_cases import JoinCase
from streamshed_bench.joins.join_runs import FULL
from streamshed_bench.joins.papers_join import PAPERS_POLICIES, PapersJoin, TimedPairs

CASE = JoinCase(policy=FULL, course=((30, 40),), shifts=(25.0,))
FULL_COMPARISONS = 2 * 40 * 40 * 20


@pytest.fixture(scope="module")
def pairs() -> TimedPairs:
    return TimedPairs.of(CASE.specification, CASE.micro_batches(1))


def results(pairs: TimedPairs, policy: str, comparisons_per_second: float) -> Floats:
    return PapersJoin(pairs, policy, comparisons_per_second=comparisons_per_second, seed=1).results_per_second()


@pytest.mark.parametrize("policy", PAPERS_POLICIES)
def test_with_time_for_everything_it_is_the_full_join(pairs: TimedPairs, policy: str) -> None:
    assert results(pairs, policy, 20 * FULL_COMPARISONS).tolist() == list(CASE.run(1).results)


@pytest.mark.parametrize("policy", PAPERS_POLICIES)
def test_short_of_time_it_is_part_of_it(pairs: TimedPairs, policy: str) -> None:
    full = np.array(CASE.run(1).results)
    some = results(pairs, policy, FULL_COMPARISONS / 4)
    assert (some <= full).all()
    assert 0.05 < some[10:].sum() / full[10:].sum() < 0.9
    assert results(pairs, policy, FULL_COMPARISONS / 4).tolist() == some.tolist()


def test_each_row_has_its_partners(pairs: TimedPairs) -> None:
    partners = {side: pairs.partners(side) for side in Side}
    assert [len(partners[side]) for side in Side] == [len(pairs.times[side]) for side in Side]
    of_left = {(row, one) for row, several in enumerate(partners[Side.LEFT]) for one in several.tolist()}
    of_right = {(one, row) for row, several in enumerate(partners[Side.RIGHT]) for one in several.tolist()}
    assert of_left == of_right == set(zip(pairs.left.tolist(), pairs.right.tolist(), strict=True))


def test_yields_are_where_the_partners_are() -> None:
    streams = replace(CASE, course=((60, 60),))
    pairs = TimedPairs.of(streams.specification, streams.micro_batches(2))
    budget = 2 * 60 * 60 * 20 / 10
    found = {policy: results(pairs, policy, budget)[30:].sum() for policy in PAPERS_POLICIES[1:]}
    assert found["rate_adaptation"] < 0.7 * found["time_correlation"]
    assert found["rate_adaptation"] < 0.7 * found["direction"]
