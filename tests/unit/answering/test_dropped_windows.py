"""Which window partials are of dropped windows, and what is answered for them."""

from __future__ import annotations

import json
from typing import Any

import numpy as np
import pyarrow as pa

from streamshed.answering.answer.answering import Answering
from streamshed.answering.table.dropped_windows import (
    CARRIED,
    COHORT,
    Dropped,
    DroppedWindows,
    drop_reasons,
    is_carried,
    is_dropped,
)
from streamshed.answering.table.output import Output, Shape
from streamshed.answering.table.value_kind import Notation
from streamshed.answering.table.window_partials import WindowPartials
from streamshed.network.terms.aggregate import AggregateKind
from streamshed.network.terms.window import WindowSpecification
from tests.unit.answering.partials import SECOND, partials

WINDOW = WindowSpecification(30 * SECOND, 10 * SECOND, 5 * SECOND)
DROPPED = {7: [DroppedWindows(WINDOW, ((2, 4), (9, 9)), ((3, 4),), ((4, 4), (9, 9)))]}
BY_GROUP = {7: [DroppedWindows(WINDOW, ((2, 2),), cohort=3), DroppedWindows(WINDOW, ((2, 4),), cohort=5)]}


def window(number: int, **told: Any) -> dict[str, Any]:
    start = (5 + 10 * number) * SECOND
    return {"window_start": start, "window_end": start + 30 * SECOND, "rows": 2, "rows_weighted": 2.0, **told}


def output(query: str, aggregate: str = "n", *, keys: int = 0) -> Output:
    shape = Shape(AggregateKind.COUNT, counts_rows=True, value=None, key_notations=(Notation.NUMBER,) * keys)
    return Output(query, "s", aggregate, shape, definition_id=7, slot=0)


def in_cohorts(*rows: dict[str, Any]) -> WindowPartials:
    """Window partials, each of the cohort that it says it is of; those that say nothing are of cohort 0."""
    known = partials(*({name: value for name, value in row.items() if name != COHORT} for row in rows))
    cohorts = pa.array([row.get(COHORT, 0) for row in rows], pa.int32())
    return WindowPartials(known.columns.append_column(COHORT, cohorts))


def answers(outputs: list[Output], *rows: dict[str, Any], dropped: Dropped = DROPPED) -> list[dict[str, Any]]:
    told = Answering(outputs, confidence=0.95).answers(in_cohorts(*rows), (), dropped)
    return [row for batch in told for row in batch.to_pylist()]


def test_windows_are_found_by_their_starts() -> None:
    known = partials(*(window(number) for number in range(-1, 11)))
    assert (np.flatnonzero(is_dropped(known, DROPPED)) - 1).tolist() == [2, 3, 4, 9]
    reasons = drop_reasons(known, DROPPED)[is_dropped(known, DROPPED)]
    assert reasons.tolist() == ["overload", "shut down", "shut down for memory", "memory"]
    assert not is_dropped(known, {8: DROPPED[7]}).any()
    assert not is_dropped(known, {}).any()


def test_what_counts_late_rows_is_no_window() -> None:
    assert not is_dropped(partials(window(2, kind="late")), DROPPED).any()


def test_a_dropped_window_is_one_gap_however_many_aggregates_there_are() -> None:
    rows = answers([output("q", "n"), output("q", "m")], window(1), window(2), window(3))
    assert [row["kind"] for row in rows] == ["gap", "gap", "answer", "answer"]
    gaps = rows[:2]
    assert [row["reason"] for row in gaps] == ["overload", "shut down"]
    assert {row["aggregate"] for row in gaps} == {None}
    assert {(row["value"], row["exact"], row["rows_used"]) for row in gaps} == {(None, False, 0)}


def test_queries_with_one_definition_have_a_gap_each() -> None:
    rows = answers([output("one"), output("two")], window(2))
    assert [(row["kind"], row["query"]) for row in rows] == [("gap", "one"), ("gap", "two")]


def test_of_groups_the_carrier_tells_of_gaps_and_of_nothing_else() -> None:
    groups = [window(number, key_long=key) for number in (1, 2) for key in (0, 5)]
    carried = [window(number, rows=0, rows_weighted=0.0, **CARRIED) for number in (1, 2)]
    rows = answers([output("q", keys=1)], *groups, *carried)
    assert [(row["kind"], row["key"]) for row in rows] == [("gap", None), ("answer", ["0"]), ("answer", ["5"])]
    assert is_carried(partials(*groups, *carried)).tolist() == [False] * 4 + [True] * 2


def test_by_group_a_window_is_answered_for_some_and_a_gap_that_names_the_others() -> None:
    groups = [window(number, key_long=key, cohort=key) for number in (2, 3, 5) for key in (3, 4, 5)]
    carried = [window(number, rows=0, rows_weighted=0.0, **CARRIED) for number in (2, 3, 5)]
    rows = answers([output("q", keys=1)], *groups, *carried, dropped=BY_GROUP)
    delivered = [(row["window_start"].second, row["key"]) for row in rows if row["kind"] == "answer"]
    assert delivered == [(25, ["4"]), (35, ["3"]), (35, ["4"]), (55, ["3"]), (55, ["4"]), (55, ["5"])]
    gaps = [(row["window_start"].second, json.loads(row["value_text"])) for row in rows if row["kind"] == "gap"]
    assert gaps == [(25, {"cohorts": [3, 5], "of": 16}), (35, {"cohorts": [5], "of": 16})]


def test_where_nobody_tells_cohorts_any_more_a_window_is_dropped_for_all_groups() -> None:
    """After a restart without queries that drop windows, those that were open are not taken for whole."""
    known = partials(window(2, key_long=0), window(2, rows=0, **CARRIED), window(5, key_long=0))
    assert is_dropped(known, BY_GROUP).tolist() == [True, True, False]
    told = Answering([output("q", keys=1)], confidence=0.95).answers(known, (), BY_GROUP)
    rows = [row for batch in told for row in batch.to_pylist()]
    assert [(row["kind"], row["value_text"]) for row in rows if row["kind"] == "gap"] == [("gap", None)]
    assert [row["window_start"].second for row in rows if row["kind"] == "answer"] == [55]
