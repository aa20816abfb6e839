"""Exact distinct counts, from rows as they travel."""

from __future__ import annotations

import pyarrow as pa
import pytest

from streamshed.answering.answer.answering import Answering
from streamshed.answering.table.output import Output, Shape
from streamshed.answering.table.user_methods import UserShape
from streamshed.answering.table.window_partials import WindowPartials
from streamshed.network.terms.aggregate import AggregateKind, parse_aggregate
from tests.unit.answering.partials import partials

COLLECTED = pa.list_(pa.struct([("instant", pa.int64()), ("text", pa.string())]))


def counted(kind: str, *windows: list[str]) -> list[tuple[float | None, str | None, bool]]:
    """Value, text and whether it is exact, of windows whose rows have these values."""
    user = parse_aggregate("count(DISTINCT v)").user
    assert user is not None
    shape = Shape(AggregateKind.COUNT_DISTINCT, False, None, (), user=UserShape(user.function, (kind,), user.returns))
    rows = partials(*({"window_start": n, "present": len(texts)} for n, texts in enumerate(windows)))
    lists = pa.array([[(0, text) for text in texts] for texts in windows], COLLECTED)
    told = WindowPartials(rows.columns.append_column("collected", lists))
    [answers] = Answering([Output("q", "s", "n", shape, 7, 0)], confidence=0.95).answers(told)
    return [(row["value"], row["value_text"], row["exact"]) for row in answers.to_pylist()]


@pytest.mark.parametrize(
    ("kind", "values", "count"),
    [
        ("bigint", ["1", "2", "1"], 2),
        ("double", ["0.0", "1.5", "NaN", "NaN", "1.5"], 3),
        ("string", ["a", "A", "a", ""], 3),
        ("decimal(5,2)", ["1.50", "1.50", "-1.50"], 2),
        ("boolean", ["1", "0", "1"], 2),
        ("binary", ["01FF", "01FF", ""], 2),
        ("timestamp", ["5", "5", "6"], 2),
    ],
)
def test_equal_values_count_once(kind: str, values: list[str], count: int) -> None:
    assert counted(kind, values) == [(float(count), str(count), True)]


def test_windows_without_values_have_none() -> None:
    assert counted("bigint", [], ["7"]) == [(0.0, "0", True), (1.0, "1", True)]
