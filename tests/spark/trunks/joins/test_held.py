"""A join that may take so much memory: it keeps to it, and answers say what may be missing for it."""

from __future__ import annotations

from collections.abc import Iterable

import pandas as pd
import pytest

from streamshed.network.model.query import Query
from tests.spark.event_times import seconds_of
from tests.spark.trunks.joins import TRUNK
from tests.spark.trunks.joins.pairs import all_pairs, each_pair, pairs_told
from tests.spark.trunks.outcome import Outcome
from tests.spark.trunks.scenario import Scenario, Setting

WITHIN_SECONDS = 300
"""Longer than the whole stream: windows are as large as memory allows."""

LIMIT = 400_000
"""About the rows of 20 seconds."""


def _queries(setting: Setting) -> Iterable[Query]:
    pairs = setting["calls"].join(
        setting["alerts"],
        on="customer",
        within=f"{WITHIN_SECONDS} s",
        basic_window="2 s",
        memory=f"{LIMIT} B",
        name="held",
    )
    return [
        each_pair(pairs.filter("calls_customer % 8 = 0")),
        pairs.window("2 seconds").agg(n="count(*)").query("windows"),
        pairs.window("2 seconds").by("calls_customer").agg(n="count(*)").query("by_customer"),
    ]


SCENARIO = Scenario(queries=_queries)


@pytest.fixture(scope="module")
def pairs(outcome: Outcome) -> pd.DataFrame:
    within = (WITHIN_SECONDS, WITHIN_SECONDS)
    pairs = all_pairs(outcome, "a.customer = b.customer", within=within, columns="a.customer")
    return pairs.assign(start=(pairs.later // 2).astype(int) * 2)


def test_pairs_are_pairs_of_the_full_join_each_once(outcome: Outcome, pairs: pd.DataFrame) -> None:
    came = pairs_told(outcome)
    eighth = pairs[pairs.customer % 8 == 0]
    expected = set(zip(eighth.left_id, eighth.right_id, strict=True))
    assert set(came.values()) == {1}
    assert came.keys() < expected
    assert len(came) > 0.2 * len(expected)


def test_windows_keep_to_their_limit_and_use_it(outcome: Outcome) -> None:
    journal = outcome.journal.set_index("micro_batch_id").joins
    assert all(row["held"]["stored_bytes"] <= LIMIT for row in journal if row)
    readers = outcome.readers("calls")
    last = journal[readers[TRUNK.steps - 1]]["held"]
    assert last["stored_bytes"] > 0.8 * LIMIT
    assert last["released_rows"] > 0
    assert last["missed_results"] > 0
    assert journal[readers[0]]["held"]["released_rows"] == 0


def test_answers_that_may_miss_results_say_so_and_no_others_do(outcome: Outcome, pairs: pd.DataFrame) -> None:
    truth = pairs.groupby("start").size()
    rows = outcome.rows("windows")
    assert set(truth.index) <= {seconds_of(row.window_start) for row in rows}
    assert len(rows) == len({row.window_start for row in rows})
    for row in rows:
        true = truth.get(seconds_of(row.window_start), 0)
        if row.exact:
            assert row.value == true
        else:
            assert (row.reason, row.lower, row.upper) == ("partly joined", row.value, None)
            assert row.value is not None
            assert row.value <= true
            assert row.sampling_rate is not None
            assert 0 < row.sampling_rate < 1
    assert rows[0].exact
    late = [row for row in rows if truth.get(seconds_of(row.window_start), 0)][-10:]
    assert not any(row.exact for row in late)
    assert (late[-1].value or 0) < truth[seconds_of(late[-1].window_start)]


def test_groups_that_may_miss_results_say_so(outcome: Outcome, pairs: pd.DataFrame) -> None:
    truth = pairs.groupby(["start", "customer"]).size().to_dict()
    rows = outcome.rows("by_customer")
    assert rows
    for row in rows:
        true = truth[seconds_of(row.window_start), int(row.key[0] or -1)]
        assert row.value is not None
        assert row.value == true if row.exact else row.value <= true
