"""Rows of the sink in the form in which the oracles answer."""

from __future__ import annotations

from tests.spark.event_times import microseconds_of
from tests.spark.exactness.comparison import Answer
from tests.spark.exactness.oracle import Place
from tests.spark.harness import Found


def answer_of(row: Found) -> Answer:
    """What was answered."""
    start = microseconds_of(row.window_start)
    return Answer(start, row.key, row.aggregate or "", row.value, row.value_text, row.rows_used)


def place_of(answer: Answer) -> Place:
    """Where, for queries without groups."""
    return Place(answer.window_start, answer.key, answer.aggregate)
