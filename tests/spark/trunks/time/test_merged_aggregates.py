"""Aggregates of one's own that merge states of slices, over overlapping windows, against lists in order from DuckDB."""

from __future__ import annotations

import pytest

from tests.spark.event_times import seconds_of
from tests.spark.prices_in_order import SIZE, SLIDE, Lists, expected_lists, queries_in_order
from tests.spark.trunks.outcome import Outcome
from tests.spark.trunks.scenario import Scenario
from tests.spark.trunks.time.trades import trades_as_they_came

SCENARIO = Scenario(queries=lambda setting: queries_in_order(setting["trades"]))


def _told(outcome: Outcome, query: str, aggregate: str = "told") -> Lists:
    rows = [row for row in outcome.rows(query) if row.aggregate == aggregate]
    told = {(seconds_of(row.window_start), row.key[0]): str(row.value_text) for row in rows}
    assert len(told) == len(rows), "a window was answered twice"
    return told


@pytest.mark.parametrize("query", ["sliding", "dear", "above"])
def test_merged_states_answer_as_rows_in_order_do(outcome: Outcome, query: str) -> None:
    assert _told(outcome, query) == expected_lists(trades_as_they_came(outcome))[query]


def test_states_are_merged(outcome: Outcome) -> None:
    assert max(int(text) for text in _told(outcome, "sliding", "merges").values()) >= SIZE // SLIDE - 1


def test_some_rows_are_late(outcome: Outcome) -> None:
    """Else it would not be known that these are left out."""
    assert {row.query for row in outcome.rows(kind="late")} >= {"sliding", "dear", "above", "plain"}
