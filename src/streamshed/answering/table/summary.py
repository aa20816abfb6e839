"""What each query was answered, in figures small enough for a journal."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from streamshed.answering.table.window_partials import Doubles


@dataclass(frozen=True)
class Tally:
    """Some answers of one kind of one query.

    Attributes:
        answers: How many.
        exact_answers: How many of them are exact.
        widths: Sum of half the interval's width by the value, over the answers that have both.
        widths_count: How many these are.
        rows: Rows behind them.
        latest_window_end: Microseconds since the epoch; None where there is none.
        latest_window_until: The number at which it ends, where windows lie along numbers.
    """

    answers: int = 0
    exact_answers: int = 0
    widths: float = 0.0
    widths_count: int = 0
    rows: int = 0
    latest_window_end: int | None = None
    latest_window_until: int | None = None

    def __add__(self, other: Tally) -> Tally:
        return Tally(
            self.answers + other.answers,
            self.exact_answers + other.exact_answers,
            self.widths + other.widths,
            self.widths_count + other.widths_count,
            self.rows + other.rows,
            _latest(self.latest_window_end, other.latest_window_end),
            _latest(self.latest_window_until, other.latest_window_until),
        )


def _latest(first: int | None, second: int | None) -> int | None:
    return max((end for end in (first, second) if end is not None), default=None)


Summary = Mapping[tuple[str, str], Tally]
"""By kind and query; of unreadable rows, the stream stands for the query."""


def summarized(answers: pa.RecordBatch) -> Summary:
    """Return the tallies of a table of answers."""
    width = pc.divide(pc.subtract(answers.column("upper"), answers.column("lower")), 2.0)
    share = np.abs(_divided(width, answers.column("value")))
    is_number = np.isfinite(share)
    table = pa.table(
        {
            "kind": answers.column("kind"),
            "query": answers.column("query"),
            "exact": pc.cast(answers.column("exact"), pa.int64()),
            "width": np.where(is_number, share, 0.0),
            "has_width": is_number.astype(np.int64),
            "rows": answers.column("rows_used"),
            "end": pc.cast(answers.column("window_end"), pa.int64()),
            "until": answers.column("window_until"),
        }
    )
    wanted = [("exact", "count"), ("exact", "sum"), ("width", "sum"), ("has_width", "sum"), ("rows", "sum")]
    grouped = table.group_by(["kind", "query"]).aggregate([*wanted, ("end", "max"), ("until", "max")])
    return {(row["kind"], row["query"]): _tally(row) for row in grouped.to_pylist()}


def _tally(row: Mapping[str, Any]) -> Tally:
    return Tally(
        answers=row["exact_count"],
        exact_answers=row["exact_sum"],
        widths=row["width_sum"],
        widths_count=row["has_width_sum"],
        rows=row["rows_sum"],
        latest_window_end=row["end_max"],
        latest_window_until=row["until_max"],
    )


def added(summaries: Iterable[Summary]) -> Summary:
    """Return the tallies of several tables together.

    >>> of_query = ("answer", "q")
    >>> added([{of_query: Tally(1)}, {of_query: Tally(2), ("late", "q"): Tally(4)}])[of_query].answers
    3
    """
    total: dict[tuple[str, str], Tally] = {}
    for summary in summaries:
        for key, tally in summary.items():
            total[key] = total.get(key, Tally()) + tally
    return total


def _divided(widths: pa.Array, values: pa.Array) -> Doubles:
    with np.errstate(invalid="ignore", divide="ignore"):
        quotient: Doubles = widths.to_numpy(zero_copy_only=False) / values.to_numpy(zero_copy_only=False)
    return quotient
