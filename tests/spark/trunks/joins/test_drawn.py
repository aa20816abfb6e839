"""A join of which a sample is taken: which pairs are there follows from what rows drew, also over a restart."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable

import numpy as np
import numpy.typing as npt
import pandas as pd
import pytest
from pyspark.sql import SparkSession

from streamshed.errors import IncompatibleCheckpointError
from streamshed.network.model.query import Query
from streamshed.network.model.rows import Rows
from streamshed.planning.tree.quantization import code_of
from tests.spark.event_times import seconds_of
from tests.spark.harness import Found
from tests.spark.trunks.checks import test_a_window_is_answered_once_and_exactly  # noqa: F401
from tests.spark.trunks.joins.drawing import levels, rates, variances, with_rates
from tests.spark.trunks.joins.pairs import all_pairs, each_pair, pairs_told
from tests.spark.trunks.joins.restarting import start_once_more
from tests.spark.trunks.joins.sides import ROOMS, STEP_SECONDS, WATERMARK_SECONDS
from tests.spark.trunks.outcome import Outcome
from tests.spark.trunks.scenario import Scenario, Setting, Shed
from tests.spark.trunks.windows_of_duckdb import ExactWindows

SHARES = {1: 0.5, 2: 0.2, 3: 0.2, 4: 0.6}
"""The share of the full join that steps may spend; the kill and the last restart are in the midst of them."""

WITHIN_SECONDS = (4, 2)
LAST_ROOMS = ROOMS - 4


def _pairs(setting: Setting, mode: str = "sample", sampled_side: str = "left") -> Rows:
    within = tuple(f"{seconds} s" for seconds in WITHIN_SECONDS)
    return setting["calls"].join(
        setting["alerts"],
        on="room",
        within=within,
        basic_window="1 s",
        mode=mode,
        sampled_side=sampled_side,
        name="drawn",
    )


def _queries(setting: Setting) -> Iterable[Query]:
    pairs = _pairs(setting)
    return [
        pairs.window("1 second").agg(n="count(*)", total="sum(alerts_v)", mean="avg(calls_v)").query("windows"),
        pairs.window("4 seconds", every="2 seconds").by("calls_room").agg(n="count(*)").query("by_room"),
        pairs.filter("calls_v < alerts_v").window("2 seconds").agg(n="count(*)", s="stddev(alerts_v)").query("as_rows"),
        pairs.window("2 seconds").agg(half="median(calls_v)").query("medians"),
        each_pair(pairs.filter(f"calls_room >= {LAST_ROOMS}")),
        setting["calls"].window("2 seconds").agg(total="sum(v)").query("calls_alone", mode="exact"),
    ]


SCENARIO = Scenario(
    queries=_queries,
    shed=lambda step: Shed(work_shares={"drawn": SHARES.get(step, 1.0)}),
    exact={"calls_alone": ExactWindows(aggregate="total", call="sum(v)", size=2, stream="calls")},
)


@pytest.fixture(scope="module")
def pairs(outcome: Outcome, spark: SparkSession) -> pd.DataFrame:
    """All pairs, the rate at which each was there, and whether it is."""
    pairs = all_pairs(
        outcome, "a.room = b.room", within=WITHIN_SECONDS, columns="a.room, a.v AS calls_v, b.v AS alerts_v"
    )
    pairs = with_rates(outcome, pairs, "drawn", "left")
    level = levels(spark, "join drawn", outcome.table("calls").num_rows)[pairs.left_id]
    is_there = level >= pairs.rate.map(code_of)
    return pairs.assign(is_there=is_there, weight=np.where(is_there, 1 / pairs.rate, 0.0))


def _windows(pairs: pd.DataFrame, seconds: int) -> npt.NDArray[np.int64]:
    return np.asarray(pairs.later // seconds, np.int64) * seconds


def _by_window(outcome: Outcome, query: str, aggregate: str) -> dict[int, Found]:
    rows = [row for row in outcome.rows(query) if row.aggregate == aggregate]
    by_window = {round(seconds_of(row.window_start)): row for row in rows}
    assert len(by_window) == len(rows)
    return by_window


def test_pairs_are_those_of_rows_that_were_drawn(outcome: Outcome, pairs: pd.DataFrame) -> None:
    there = pairs[pairs.is_there & (pairs.room >= LAST_ROOMS)]
    came = pairs_told(outcome)
    assert came == Counter(zip(there.left_id, there.right_id, strict=True))
    assert 0 < came.total() < (pairs.room >= LAST_ROOMS).sum()


def test_answers_count_each_pair_as_often_as_it_stands_for(outcome: Outcome, pairs: pd.DataFrame) -> None:
    windows = _windows(pairs, 1)
    weights = pairs.weight.groupby(windows).sum()
    totals = (pairs.weight * pairs.alerts_v).groupby(windows).sum()
    values = (pairs.weight * pairs.calls_v).groupby(windows).sum()
    used = pairs.is_there.groupby(windows).sum()
    for name, expected in {"n": weights, "total": totals, "mean": values / weights}.items():
        answers = _by_window(outcome, "windows", name)
        assert {at: row.value for at, row in answers.items() if row.rows_used} == pytest.approx(
            expected.dropna().to_dict()
        )
        assert {at: row.rows_used for at, row in answers.items() if at in used.index} == used.to_dict()
        estimated = {at: row.rows_estimated for at, row in answers.items() if at in used.index}
        assert estimated == pytest.approx(weights.to_dict())


def test_answers_by_key_over_overlapping_windows(outcome: Outcome, pairs: pd.DataFrame) -> None:
    answers = {(round(seconds_of(row.window_start)), row.key): row.value for row in outcome.rows("by_room")}
    last = _windows(pairs, 2)
    expected: Counter[tuple[int, tuple[str]]] = Counter()
    for first in (last, last - 2):
        for at, room, weight in zip(first, pairs.room, pairs.weight, strict=True):
            if weight:
                expected[int(at), (str(room),)] += weight
    assert answers == pytest.approx(dict(expected))


def test_what_is_not_summed_where_it_is_found_is_estimated_alike(outcome: Outcome, pairs: pd.DataFrame) -> None:
    pairs = pairs[pairs.calls_v < pairs.alerts_v]
    windows = _windows(pairs, 2)
    counts = {at: row.value for at, row in _by_window(outcome, "as_rows", "n").items() if row.rows_used}
    assert counts == pytest.approx({at: n for at, n in pairs.weight.groupby(windows).sum().items() if n})
    spreads = {at: row for at, row in _by_window(outcome, "as_rows", "s").items() if row.rows_used > 1}
    for at, row in spreads.items():
        of_window = pairs[windows == at]
        mean = np.average(of_window.alerts_v, weights=of_window.weight)
        squares = (of_window.weight * (of_window.alerts_v - mean) ** 2).sum()
        assert row.value == pytest.approx(np.sqrt(squares / (of_window.weight.sum() - 1)))
        if (of_window.weight != 1).any():
            assert not row.exact
            assert row.standard_error
    assert not all(row.exact for row in spreads.values())


def test_answers_are_exact_where_all_rows_were_drawn(outcome: Outcome, pairs: pd.DataFrame) -> None:
    windows = _windows(pairs, 1)
    truth = pairs.left_id.groupby(windows).count()
    begins, ends = min(SHARES) * STEP_SECONDS, (max(SHARES) + 1) * STEP_SECONDS
    answers = _by_window(outcome, "windows", "n")
    for at, row in answers.items():
        if row.exact:
            assert row.value == row.lower == row.upper == truth.get(at, 0)
            assert row.reason is None
        else:
            assert row.reason == "sampled"
            assert begins <= at + 1 + WATERMARK_SECONDS
            assert at <= ends + WITHIN_SECONDS[0]
        is_sampled = (pairs.weight[windows == at] != 1.0).any()
        assert not (row.exact and is_sampled)
    assert sum(row.exact for row in answers.values()) > 2 * STEP_SECONDS


def test_errors_are_those_of_rows_that_come_with_all_of_their_pairs(outcome: Outcome, pairs: pd.DataFrame) -> None:
    windows = _windows(pairs, 1)
    once = pd.Series(1.0, pairs.index)
    for name, brought in {"n": once, "total": pairs.alerts_v.astype(float)}.items():
        true = variances(pairs, brought, windows)
        truth = brought.groupby(windows).sum()
        answers = {
            at: row for at, row in _by_window(outcome, "windows", name).items() if not row.exact and true.get(at, 0) > 0
        }
        estimated = np.array([(row.standard_error or 0.0) ** 2 for row in answers.values()])
        # Far more than if pairs came singly.
        alone = (brought**2 * (1 / pairs.rate - 1)).groupby(windows).sum()
        actual = np.array([true[at] for at in answers])
        assert actual.sum() > 5 * sum(alone[at] for at in answers)
        assert 0.6 < np.mean(estimated / actual) < 1.6
        off = np.array([((row.value or 0.0) - truth[at]) / np.sqrt(true[at]) for at, row in answers.items()])
        assert np.abs(off).max() < 6
        holds = [
            (row.lower or 0.0) <= truth[at] <= (row.upper if row.upper is not None else np.inf)
            for at, row in answers.items()
        ]
        assert np.mean(holds) > 0.8
    # All together: unbiased but for chance, of which less than one in a million is left out.
    whole = variances(pairs, once, np.zeros(len(pairs), np.int64))[0]
    assert abs(pairs.weight.sum() - len(pairs)) < 4.9 * np.sqrt(whole)


def test_quantiles_of_a_sample_have_no_bounds(outcome: Outcome, pairs: pd.DataFrame) -> None:
    medians = {at: row for at, row in _by_window(outcome, "medians", "half").items() if row.rows_used}
    # Of so many values ranks are never exact.
    whole, sampled = ({at: row for at, row in medians.items() if row.reason == why} for why in ("sketched", "sampled"))
    assert all(row.exact for at, row in medians.items() if at not in whole.keys() | sampled.keys())
    assert whole
    assert sampled
    assert not any(None in (row.lower, row.value, row.upper) for row in whole.values())
    assert all((row.lower or 0) <= (row.value or 0) <= (row.upper or 0) for row in whole.values())
    assert {(row.lower, row.upper, row.standard_error, row.low) for row in sampled.values()} == {
        (None, None, None, True)
    }
    windows = _windows(pairs, 2)
    for at, row in sampled.items():
        drawn = pairs[(windows == at) & pairs.is_there]
        below, up_to = (drawn.weight[side].sum() for side in (drawn.calls_v < row.value, drawn.calls_v <= row.value))
        assert below / drawn.weight.sum() < 0.55
        assert up_to / drawn.weight.sum() > 0.45


def test_the_journal_tells_the_rate_and_what_was_done(outcome: Outcome, pairs: pd.DataFrame) -> None:
    joins = outcome.journal.set_index("micro_batch_id").joins
    in_force = rates(outcome, "drawn")
    for number, rate in in_force.items():
        joined = joins[number]["drawn"]
        assert joined["sampling_rate"] == pytest.approx(rate)
        assert joined["results"] == (pairs.is_there & (pairs["read"] == number)).sum()
        if rate == min(of_others for other, of_others in in_force.items() if other <= number):
            assert joined["work_share"] == pytest.approx(rate, abs=0.15)


@pytest.mark.parametrize("changed", [("subset", "left"), ("sample", "right")], ids=["mode", "side"])
def test_what_is_drawn_is_fixed_by_the_checkpoint(
    outcome: Outcome, spark: SparkSession, changed: tuple[str, str]
) -> None:
    with pytest.raises(IncompatibleCheckpointError, match=r'stream "drawn" was a join .*streams are fixed'):
        start_once_more(outcome, spark, lambda setting: [_pairs(setting, *changed).query("pairs")])
