"""Checks that scenarios share; a scenario's module imports those that are tests of it."""

from __future__ import annotations

from collections import Counter
from datetime import datetime
from itertools import groupby

from streamshed.network.terms.window import WindowSpecification
from tests.spark.event_times import microseconds_of
from tests.spark.trunks.outcome import Outcome
from tests.spark.trunks.windows_of_duckdb import Answers

ENOUGH_GAPS = 10
"""A scenario that drops windows has more gaps than that: else it would prove little."""


def expected_of(outcome: Outcome, query: str) -> Answers:
    """What DuckDB answers."""
    exact = outcome.scenario.exact[query]
    return exact.answers(outcome.table(exact.stream))


def tolerant_queries(outcome: Outcome) -> list[str]:
    """The queries of which windows may be missing, and DuckDB's answers are known."""
    asked = {query.name.removeprefix(f"{outcome.prefix}."): query for query in outcome.network.queries}
    return [name for name in outcome.scenario.exact if asked[name].gap_windows]


def window_number(start: datetime, window: WindowSpecification) -> int:
    """The number of the window that starts then."""
    return (microseconds_of(start) - window.offset_microseconds) // window.slide_microseconds


def test_what_is_delivered_is_exact_and_the_rest_are_gaps(outcome: Outcome) -> None:
    for query, exact in outcome.scenario.exact.items():
        expected, gaps = expected_of(outcome, query), outcome.gaps(query)
        answers = outcome.answers(query, exact.aggregate)
        assert not {start for start, _ in answers} & gaps.keys(), query
        inside = {place: value for place, value in answers.items() if place in expected}
        assert inside == {place: value for place, value in expected.items() if place[0] not in gaps}, query
        beside = {value for place, value in answers.items() if place not in expected}
        assert beside <= {None, 0.0}, query
        assert all(row.exact for row in outcome.rows(query)), query


def test_no_gap_is_longer_than_allowed(outcome: Outcome) -> None:
    asked = {query.name.removeprefix(f"{outcome.prefix}."): query for query in outcome.network.queries}
    for query in tolerant_queries(outcome):
        window = asked[query].windows[-1]
        numbers = sorted(window_number(start, window) for start in outcome.gaps(query))
        runs = [len(list(run)) for _, run in groupby(enumerate(numbers), key=lambda pair: pair[1] - pair[0])]
        assert len(numbers) > ENOUGH_GAPS, query
        assert max(runs) <= asked[query].gap_windows, query


def test_a_window_is_answered_once_and_exactly(outcome: Outcome) -> None:
    """Of queries that tolerate no gaps."""
    for query, exact in outcome.scenario.exact.items():
        expected = expected_of(outcome, query)
        answers = outcome.answers(query, exact.aggregate)
        assert {place: answers.get(place) for place in expected} == expected, query
        assert {value for place, value in answers.items() if place not in expected} <= {None, 0.0}, query
        assert all(row.exact for row in outcome.rows(query)), query
        assert not outcome.gaps(query), query


def test_no_row_is_late(outcome: Outcome) -> None:
    assert outcome.rows(kind="late") == []


def check_unreadable_rows_are_counted(outcome: Outcome, clock: str = "time") -> None:
    """The journal counts those that are set aside from the start of each run, micro-batch by micro-batch."""
    aside: Counter[int] = Counter()
    for row in outcome.set_aside(clock=clock):
        aside[row["micro_batch_id"]] += row["rows"]
    before, journal = 0, outcome.journal_of(clock).sort_values("micro_batch_id")
    for number, count in zip(journal.micro_batch_id, journal.unreadable_rows, strict=True):
        assert count in {before + aside[number], aside[number]}, number
        before = count
    assert aside.total() > 0
