"""Aggregates of one's own that merge states of slices, over overlapping windows, against lists in order from DuckDB."""

from __future__ import annotations

import pytest

from tests.spark.prices_in_order import SIZE, SLIDE, expected_lists, queries_in_order
from tests.spark.trunks.outcome import Outcome
from tests.spark.trunks.scenario import Scenario
from tests.spark.trunks.time.trades import CLOCK

SCENARIO = Scenario(queries=lambda setting: queries_in_order(setting["trades"]))


@pytest.mark.parametrize("query", ["sliding", "dear", "above"])
def test_merged_states_answer_as_rows_in_order_do(outcome: Outcome, query: str) -> None:
    assert outcome.texts(query, "told") == expected_lists(outcome.rows_as_they_came("trades", CLOCK))[query]


def test_states_are_merged(outcome: Outcome) -> None:
    assert max(int(text) for text in outcome.texts("sliding", "merges").values()) >= SIZE // SLIDE - 1


def test_some_rows_are_late(outcome: Outcome) -> None:
    """Else it would not be known that these are left out."""
    assert {row.query for row in outcome.rows(kind="late")} >= {"sliding", "dear", "above", "plain"}
