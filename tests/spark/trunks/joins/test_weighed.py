"""A join whose results are worth something: in part, it gives what is worth most; the weight changes at a restart."""

from __future__ import annotations

from collections.abc import Iterable

import pandas as pd
import pytest

from streamshed.network.model.query import Query
from tests.spark.trunks.joins import HANDED_OVER_AFTER, TRUNK
from tests.spark.trunks.joins.pairs import each_pair, pairs_told
from tests.spark.trunks.joins.sides import DEAR_LAG_SECONDS, HOT
from tests.spark.trunks.joins.valued import BY_WEIGHT, WITHIN_SECONDS, shed, valued, valued_pairs
from tests.spark.trunks.outcome import Outcome
from tests.spark.trunks.scenario import Scenario, Setting


def _queries(setting: Setting) -> Iterable[Query]:
    pairs = valued(setting).filter(f"alerts_origin <> '{HOT}'")
    return [each_pair(pairs)]


SCENARIO = Scenario(queries=_queries, shed=shed)


@pytest.fixture(scope="module")
def pairs(outcome: Outcome) -> pd.DataFrame:
    """All pairs of steps with weights, and how often they came.

    The last micro-batch before a restart may be run again after it.
    """
    pairs = valued_pairs(outcome)
    before = pairs[pairs.step < HANDED_OVER_AFTER]
    told = pairs_told(outcome)
    return before.assign(times=[told[pair] for pair in zip(before.left_id, before.right_id, strict=True)])


def test_pairs_come_once_and_all_where_all_is_joined(pairs: pd.DataFrame) -> None:
    assert set(pairs.times) == {0, 1}
    assert set(pairs.step[pairs.times == 0]) == {BY_WEIGHT}


def test_what_is_done_of_the_join_is_what_is_worth_most(pairs: pd.DataFrame) -> None:
    """By results alone the many of short lags would come first, and of the weight there would be a smaller share."""
    shed_by_weight = pairs[pairs.step == BY_WEIGHT]
    of_weight = (shed_by_weight.worth * shed_by_weight.times).sum() / shed_by_weight.worth.sum()
    assert of_weight > 0.6
    assert of_weight > 1.1 * shed_by_weight.times.mean()


def test_the_journal_tells_what_results_were_worth(outcome: Outcome, pairs: pd.DataFrame) -> None:
    joins, readers = outcome.journal.set_index("micro_batch_id").joins, outcome.readers("calls")
    of_step = {step: joins[readers[step]]["valued"] for step in range(TRUNK.steps)}
    for step in range(HANDED_OVER_AFTER):
        came = pairs[(pairs.step == step) & (pairs.times == 1)]
        assert of_step[step]["results"] == len(came)
        assert of_step[step]["weight"] == pytest.approx(came.worth.sum())
    # After the restart, each is worth 1.
    last = of_step[TRUNK.steps - 1]
    assert last["weight"] == last["results"] > 0
    yields = of_step[0]["yields"][:WITHIN_SECONDS]
    assert yields.index(max(yields)) == DEAR_LAG_SECONDS - 1
