"""Answers over joins that were done in part."""

from __future__ import annotations

from typing import Any

import pytest

from streamshed.answering.answer.answering import Answering
from streamshed.answering.table.answer_schema import ROW
from streamshed.answering.table.output import Output
from streamshed.answering.table.shed_interval import ShedInterval
from streamshed.network.terms.aggregate import AggregateKind
from tests.unit.answering.partials import SECOND, kept, partials
from tests.unit.answering.test_answering import of_values, output

INTERVAL = ShedInterval(stream="s", start=5 * SECOND, until=6 * SECOND, sampling_rates={"7.0": 0.4})


def told(of: Output, row: dict[str, Any], *intervals: ShedInterval) -> dict[str, Any]:
    (batch,) = Answering([of], confidence=0.95).answers(partials(row), partly_joined=intervals)
    (answer,) = batch.to_pylist()
    found: dict[str, Any] = answer
    return found


def test_a_count_is_that_or_more() -> None:
    answer = told(output(), {"rows": 3, "rows_weighted": 3.0}, INTERVAL)
    assert (answer["value"], answer["lower"], answer["upper"]) == (3.0, 3.0, None)
    assert (answer["exact"], answer["standard_error"], answer["value_text"]) == (False, None, None)
    assert (answer["reason"], answer["sampling_rate"], answer["low"]) == ("partly joined", 0.4, False)


@pytest.mark.parametrize("function", [AggregateKind.SUM, AggregateKind.AVG, AggregateKind.MAX])
def test_other_aggregates_have_no_bounds(function: AggregateKind) -> None:
    row = kept(1.0, [3.0, 5.0]) | {"least_number": 3.0, "greatest_number": 5.0}
    exact = told(output(of_values(function)), row)
    answer = told(output(of_values(function)), row, INTERVAL)
    assert exact["exact"]
    assert answer["value"] == exact["value"]
    assert (answer["lower"], answer["upper"], answer["standard_error"]) == (None, None, None)
    assert (answer["exact"], answer["reason"]) == (False, "partly joined")


@pytest.mark.parametrize("function", [AggregateKind.SUM, AggregateKind.AVG, AggregateKind.MAX])
def test_where_nothing_came_of_the_part_that_was_done_no_error_is_known(function: AggregateKind) -> None:
    nothing = {"rows": 0, "present": 0, "rows_weighted": 0.0, "present_weighted": 0.0}
    empty = told(output(of_values(function)), nothing)
    answer = told(output(of_values(function)), nothing, INTERVAL)
    assert (empty["value"], empty["exact"], empty["standard_error"]) == (None, True, 0.0)
    assert (answer["value"], answer["exact"], answer["standard_error"]) == (None, False, None)
    assert (answer["lower"], answer["upper"], answer["reason"]) == (None, None, "partly joined")


def test_windows_elsewhere_are_exact() -> None:
    after = ShedInterval(stream="s", start=500 * SECOND, until=600 * SECOND, sampling_rates={"7.0": 0.4})
    others = ShedInterval(stream="s", start=0, until=600 * SECOND, sampling_rates={"8.0": 0.4})
    answer = told(output(), {"rows": 3, "rows_weighted": 3.0}, after, others)
    assert (answer["value"], answer["upper"], answer["exact"]) == (3.0, 3.0, True)
    assert (answer["sampling_rate"], answer["reason"]) == (1.0, None)


def test_rows_say_so_too() -> None:
    row = {"kind": ROW, "window_start": 5 * SECOND, "rows": 1, "key_text": "{}"}
    answer = told(output(), row, INTERVAL)
    assert (answer["exact"], answer["sampling_rate"], answer["reason"]) == (False, 0.4, "partly joined")
    earlier = told(output(), row | {"window_start": 4 * SECOND}, INTERVAL)
    assert (earlier["exact"], earlier["sampling_rate"], earlier["reason"]) == (True, 1.0, None)
