"""Which answers are looked at: the groups with the most rows, of the latest windows."""

from __future__ import annotations

import random
from typing import Any

import pyarrow as pa
import pytest

from streamshed.answering.table.answer_schema import arrow_schema
from streamshed.answering.table.leading_answers import (
    COLUMNS,
    LATEST_WINDOWS,
    LEADING_GROUPS,
    leading_answers,
    leading_of,
)


def answer(query: str = "q", window: int = 0, key: str = "a", rows: float | None = 1.0, **other: Any) -> dict[str, Any]:
    """An answer whose window ends at a second, or at a number."""
    return {
        "kind": "answer",
        "query": query,
        "window_end": window * 1_000_000,
        "key": [key],
        "aggregate": "n",
        "rows_estimated": rows,
        **other,
    }


def table(rows: list[dict[str, Any]]) -> pa.RecordBatch:
    return pa.RecordBatch.from_pylist(rows, schema=arrow_schema())


def by_hand(rows: list[dict[str, Any]]) -> list[tuple[Any, ...]]:
    """The same in plain Python."""
    leading = []
    for asked in {(row["query"], row["aggregate"]) for row in rows}:
        of_asked = [row for row in rows if (row["query"], row["aggregate"]) == asked]
        for window in sorted({row["window_end"] for row in of_asked}, reverse=True)[:LATEST_WINDOWS]:
            groups = [row for row in of_asked if row["window_end"] == window]
            leading += sorted(groups, key=lambda row: (-(row["rows_estimated"] or 0), row["key"]))[:LEADING_GROUPS]
    return sorted((row["query"], row["aggregate"], row["window_end"], row["key"][0]) for row in leading)


def placed(answers: pa.Table) -> list[tuple[Any, ...]]:
    microseconds = answers.column("window_end").cast(pa.int64()).to_pylist()
    rows = zip(answers.to_pylist(), microseconds, strict=True)
    return sorted((row["query"], row["aggregate"], end, row["key"][0]) for row, end in rows)


def some_answers(seed: int) -> list[dict[str, Any]]:
    random_source = random.Random(seed)
    places = [(q, a, w, k) for q in "pq" for a in "mn" for w in range(LATEST_WINDOWS + 4) for k in "abcdefg"]
    chosen = random_source.sample(places, 300)
    return [
        answer(query, window, key, random_source.choice([None, 1.0, 2.0, 2.0, 9.5]), aggregate=aggregate)
        for query, aggregate, window, key in chosen
    ]


@pytest.mark.parametrize("seed", range(5))
def test_they_are_those_that_plain_python_finds_also_by_parts(seed: int) -> None:
    rows = some_answers(seed)
    parts = [leading_answers(table(rows[start : start + 90])) for start in range(0, len(rows), 90)]
    assert placed(leading_answers(table(rows))) == placed(leading_of(parts)) == by_hand(rows)


def test_gaps_are_among_them_and_other_kinds_are_not() -> None:
    rows = [answer(), answer(kind="row"), answer(kind="late"), answer(kind="unreadable")]
    gap = {"kind": "gap", "query": "q", "window_end": 5_000_000, "key": None, "aggregate": None, "reason": "overload"}
    leading = leading_answers(table([*rows, gap]))
    assert sorted(leading.column("kind").to_pylist()) == ["answer", "gap"]
    assert tuple(leading.column_names) == COLUMNS


def test_windows_along_numbers_are_told_apart() -> None:
    rows = [answer(window_end=None, window_until=number) for number in range(LATEST_WINDOWS + 5)]
    numbers = leading_answers(table(rows)).column("window_until").to_pylist()
    assert sorted(numbers) == list(range(5, LATEST_WINDOWS + 5))


def test_of_nothing_nothing_leads() -> None:
    assert len(leading_of([])) == len(leading_of([leading_answers(table([]))] * 2)) == 0
    assert leading_of([]).column_names == list(COLUMNS)
