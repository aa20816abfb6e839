"""A join done in part, of which one key has half of the rows: pairs are right, and answers say what they are not."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable

import pandas as pd
import pytest

from streamshed.network.model.query import Query
from streamshed.statistics.network_statistics import NetworkStatistics
from tests.spark.event_times import at, seconds_of
from tests.spark.trunks.checks import test_a_window_is_answered_once_and_exactly  # noqa: F401
from tests.spark.trunks.joins import TRUNK
from tests.spark.trunks.joins.pairs import each_pair, pairs_told
from tests.spark.trunks.joins.sides import HOT, LAG_SECONDS, STEP_SECONDS, WATERMARK_SECONDS
from tests.spark.trunks.joins.valued import (
    BY_RESULTS,
    BY_WEIGHT,
    SKEWED,
    WITHIN_SECONDS,
    partly,
    shed,
    valued,
    valued_pairs,
)
from tests.spark.trunks.outcome import Outcome
from tests.spark.trunks.scenario import Scenario, Setting
from tests.spark.trunks.windows_of_duckdb import ExactWindows


def _queries(setting: Setting) -> Iterable[Query]:
    pairs = valued(setting)
    windows = pairs.window("2 seconds")
    return [
        each_pair(pairs.filter(f"calls_origin <> '{HOT}'")),
        windows.agg(n="count(*)", most="sum(alerts_id)").query("windows"),
        windows.by("calls_origin").agg(n="count(*)").query("by_origin"),
        setting["calls"].window("2 seconds").agg(n="count(*)").query("calls_alone", mode="exact"),
    ]


SCENARIO = Scenario(
    queries=_queries,
    shed=shed,
    exact={"calls_alone": ExactWindows(aggregate="n", call="count(*)", size=2, stream="calls")},
)


@pytest.fixture(scope="module")
def pairs(outcome: Outcome) -> pd.DataFrame:
    return valued_pairs(outcome)


@pytest.fixture(scope="module")
def delivered(outcome: Outcome) -> Counter[tuple[int, int]]:
    return pairs_told(outcome)


def test_pairs_are_pairs_of_the_full_join_each_once_and_only_shed_steps_lack_some(
    outcome: Outcome, pairs: pd.DataFrame, delivered: Counter[tuple[int, int]]
) -> None:
    read = _read(pairs)
    assert set(delivered.values()) == {1}
    assert delivered.keys() <= read.keys()
    assert {read[pair] for pair in read.keys() - delivered.keys()} == set(partly(outcome).values())


def test_what_is_done_of_the_join_is_what_yields_most(
    outcome: Outcome, pairs: pd.DataFrame, delivered: Counter[tuple[int, int]]
) -> None:
    """A third of the comparisons, those at the lag that pairs have, give far more than a third of the results."""
    number = partly(outcome).get(BY_RESULTS)
    shed = [pair for pair, read in _read(pairs).items() if read == number]
    assert sum(pair in delivered for pair in shed) >= 0.45 * len(shed)


def _read(pairs: pd.DataFrame) -> dict[tuple[int, int], int]:
    """By pair, but for those of the hot key, the micro-batch in which both its sides were there."""
    others = pairs[pairs.origin != HOT]
    return dict(zip(zip(others.left_id, others.right_id, strict=True), others["read"], strict=True))


def test_what_the_join_takes_and_yields_is_told_with_all_else_that_was_learned(outcome: Outcome) -> None:
    learned = outcome.statistics.join("valued")
    assert learned.left_rows_per_second == pytest.approx(learned.right_rows_per_second, rel=0.05)
    assert 0 < learned.compared_share <= 1
    of_join = [row["valued"] for row in outcome.journal.joins if row]
    comparisons, results = (sum(one[counts] for one in of_join) for counts in ("comparisons", "results"))
    assert results / 3 < learned.results_per_comparison * comparisons < 3 * results
    assert min(learned.fixed_seconds, learned.seconds_per_row) > 0
    assert NetworkStatistics.from_json(outcome.statistics.to_json()).joins == outcome.statistics.joins


def test_answers_say_that_there_may_be_more(outcome: Outcome, pairs: pd.DataFrame) -> None:
    truth = pairs.groupby("start").size()
    counts = [row for row in outcome.rows("windows") if row.aggregate == "n"]
    assert set(truth.index) <= {seconds_of(row.window_start) for row in counts}
    for row in counts:
        true = truth.get(seconds_of(row.window_start), 0)
        if row.exact:
            assert row.value == row.lower == row.upper == true
        else:
            assert row.reason == "partly joined"
            assert (row.lower, row.upper, row.standard_error) == (row.value, None, None)
            assert row.value is not None
            assert row.value <= true
            assert row.sampling_rate is not None
            assert 0 < row.sampling_rate < 1
    for step in partly(outcome):
        begins, ends = _inside(step, step)
        inside = [row for row in counts if at(begins) <= row.window_start <= at(ends - 2)]
        assert inside
        assert not any(row.exact for row in inside)
    last = at((max(partly(outcome)) + 1) * STEP_SECONDS + 2)
    assert all(row.exact for row in counts if row.window_start >= last)
    assert any(row.window_start >= last for row in counts)


def _inside(first: int, last: int) -> tuple[int, int]:
    """The seconds of event time whose results are all found in some steps."""
    return first * STEP_SECONDS + WATERMARK_SECONDS, (last + 1) * STEP_SECONDS - WATERMARK_SECONDS


def test_sums_of_a_part_have_no_bounds(outcome: Outcome) -> None:
    sums = [row for row in outcome.rows("windows") if row.aggregate == "most" and not row.exact]
    assert sums
    assert all((row.lower, row.upper, row.standard_error) == (None, None, None) for row in sums)


def test_groups_are_right_or_say_that_there_may_be_more(outcome: Outcome, pairs: pd.DataFrame) -> None:
    truth = pairs.groupby(["start", "origin"]).size().to_dict()
    rows = outcome.rows("by_origin")
    for row in rows:
        true = truth[seconds_of(row.window_start), row.key[0]]
        assert row.value is not None
        assert row.value == true if row.exact else row.value <= true
        assert row.exact or row.reason == "partly joined"
    assert sum(row.exact for row in rows) > len(rows) / 3


def test_the_key_with_half_the_rows_has_most_results_and_sheds_as_others_do(
    outcome: Outcome, pairs: pd.DataFrame
) -> None:
    """In windows of which all results were found in a step that joined in part."""
    begins, ends = _inside(SKEWED, SKEWED)
    truth = pairs[(pairs.start >= begins) & (pairs.start + 2 <= ends)].groupby(["start", "origin"]).size()
    values = {(seconds_of(start), key): value for (start, (key,)), value in outcome.answers("by_origin", "n").items()}
    shares = {}
    for is_hot in (True, False):
        own = truth[(truth.index.get_level_values(1) == HOT) == is_hot]
        shares[is_hot] = sum(values.get(place) or 0.0 for place in own.index) / own.sum()
    assert all(0.1 < share < 0.95 for share in shares.values()), shares
    assert 0.5 < shares[True] / shares[False] < 2.0, shares
    assert truth[truth.index.get_level_values(1) == HOT].sum() > 0.9 * truth.sum()


def test_the_journal_tells_what_was_done_of_the_join(outcome: Outcome) -> None:
    joins, readers = outcome.journal.set_index("micro_batch_id").joins, outcome.readers("calls")
    for step in range(TRUNK.steps):
        of_step = joins[readers[step]]["valued"]
        most = {BY_WEIGHT: 0.6, BY_RESULTS: 0.6}.get(step, 1.0)
        assert of_step["work_share"] < most if step in partly(outcome) else of_step["work_share"] == 1
        assert 0 < of_step["left_share"] <= 1
        assert len(of_step["yields"]) == 2 * WITHIN_SECONDS
    counted = sum(row.value or 0 for row in outcome.rows("windows") if row.aggregate == "n")
    assert sum(row["valued"]["results"] for row in joins if row) == counted
    yields = joins[readers[SKEWED - 2]]["valued"]["yields"][:WITHIN_SECONDS]
    assert yields.index(max(yields)) == LAG_SECONDS - 1
