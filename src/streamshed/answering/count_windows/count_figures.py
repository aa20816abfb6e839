"""What windows of so many rows come to: their partial aggregates, from the rows themselves."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
from datasketches import kll_doubles_sketch

from streamshed.answering.count_windows.count_windows import ClosedWindows, CountWindows, ValueRows
from streamshed.answering.table.value_kind import Carriage
from streamshed.answering.table.window_partials import Doubles, Longs
from streamshed.answering.table.written import DECIMAL_HALF

VALUES_KEPT = 65_535
"""k of the KLL sketches: of as many values, none is left out, and quantiles are exact."""

FIGURES = (
    ("rows", "bigint"),
    ("present", "bigint"),
    ("total", "double"),
    ("mean", "double"),
    ("dispersion", "double"),
    ("least_number", "double"),
    ("greatest_number", "double"),
    ("least_long", "bigint"),
    ("greatest_long", "bigint"),
    ("sum_low", "bigint"),
    ("sum_high", "bigint"),
    ("sum_decimal_low", "string"),
    ("sum_decimal_high", "string"),
    ("least_decimal", "string"),
    ("greatest_decimal", "string"),
    ("least_text", "string"),
    ("greatest_text", "string"),
    ("sketch", "binary"),
    ("collected", "array<string>"),
)
"""Name and type of what is told of a window; decimals are texts of their digits without the point."""

_LOW_BITS = 0xFFFFFFFF
_MOST_AT_ONCE = 1 << 20
"""So many rows of windows, each counted once per window, are gathered at a time."""

Figures = dict[str, npt.NDArray[Any]]


@dataclass(frozen=True, slots=True)
class CountSeries:
    """One value of a query with windows of so many rows.

    Attributes:
        definition_id: The query's.
        slot: Which value.
        windows: The query's.
        carriage: How the value travels; None: only whether there is one matters.
        is_sketched: Whether quantiles are asked for.
        is_collected: Whether the values themselves are, for an aggregate of the user's own.
    """

    definition_id: int
    slot: int
    windows: CountWindows
    carriage: Carriage | None
    is_sketched: bool = False
    is_collected: bool = False


def figures(series: CountSeries, closed: Sequence[ClosedWindows]) -> Figures:
    """Return the partial aggregates of windows, in order, by the names of `FIGURES`; None where no query asks for one.

    Args:
        series: What they are of.
        closed: Windows of some groups.

    Example:
        >>> rows = ValueRows(np.ones(3, np.bool_), np.array([1.0, 2.0, 6.0]), np.array([1, 2, 6]), (None,) * 3)
        >>> windows = ClosedWindows(rows, np.array([0, 1]), np.array([0, 1]), np.array([2, 3]))
        >>> found = figures(CountSeries(1, 0, CountWindows(2, 1), Carriage.LONG), [windows])
        >>> found["total"].tolist(), found["greatest_long"].tolist(), found["dispersion"].tolist()
        ([3.0, 8.0], [2, 6], [0.5, 8.0])
    """
    rows = ValueRows.joined([one.rows for one in closed])
    offsets = np.cumsum([0, *(len(one.rows) for one in closed[:-1])])
    first = np.concatenate([one.first + offset for one, offset in zip(closed, offsets, strict=True)])
    until = np.concatenate([one.until + offset for one, offset in zip(closed, offsets, strict=True)])
    parts = [_numeric(rows, first[cut], until[cut]) for cut in _chunks(until - first)]
    columns = {name: np.concatenate([part[name] for part in parts]) for name in parts[0]}
    return columns | {name: _each(rows, first, until, what) for name, what in _of_single_windows(series).items()}


def _chunks(lengths: Longs) -> Iterator[slice]:
    ends = np.cumsum(lengths)
    start = 0
    while start < len(lengths):
        before = int(ends[start - 1]) if start else 0
        stop = max(start + 1, int(np.searchsorted(ends, before + _MOST_AT_ONCE, "right")))
        yield slice(start, stop)
        start = stop


def _numeric(rows: ValueRows, first: Longs, until: Longs) -> Figures:
    """Counts, sums and extremes: all rows of all windows side by side."""
    lengths = until - first
    begins = np.cumsum(lengths) - lengths
    gathered = np.arange(int(lengths.sum())) + np.repeat(first - begins, lengths)
    is_present, numbers, longs = rows.is_present[gathered], rows.numbers[gathered], rows.longs[gathered]
    present = np.add.reduceat(is_present.astype(np.int64), begins)
    with np.errstate(invalid="ignore", divide="ignore", over="ignore"):
        total = np.add.reduceat(np.where(is_present, numbers, 0.0), begins)
        mean = total / present
        distance = np.where(is_present, numbers - np.repeat(mean, lengths), 0.0)
        dispersion = np.add.reduceat(distance * distance, begins)
    kept_longs = np.where(is_present, longs, 0)
    extremes = np.iinfo(np.int64)
    return {
        "rows": lengths,
        "present": present,
        "total": total,
        "mean": mean,
        "dispersion": dispersion,
        **_extreme_numbers(is_present, numbers, begins),
        "least_long": np.minimum.reduceat(np.where(is_present, longs, extremes.max), begins),
        "greatest_long": np.maximum.reduceat(np.where(is_present, longs, extremes.min), begins),
        "sum_low": np.add.reduceat(kept_longs & _LOW_BITS, begins),
        "sum_high": np.add.reduceat(kept_longs >> 32, begins),
    }


def _extreme_numbers(is_present: npt.NDArray[np.bool_], numbers: Doubles, begins: Longs) -> Figures:
    """Least and greatest, NaN being greater than all else, as in SQL."""
    is_nan = is_present & np.isnan(numbers)
    is_number = is_present & ~is_nan
    any_nan = np.logical_or.reduceat(is_nan, begins)
    any_number = np.logical_or.reduceat(is_number, begins)
    least = np.minimum.reduceat(np.where(is_number, numbers, np.inf), begins)
    greatest = np.maximum.reduceat(np.where(is_number, numbers, -np.inf), begins)
    return {
        "least_number": np.where(any_number, least, np.nan),
        "greatest_number": np.where(any_nan, np.nan, greatest),
    }


_OfWindow = Callable[[ValueRows, int, int], object]


def _of_single_windows(series: CountSeries) -> Mapping[str, _OfWindow | None]:
    """What is computed window by window."""
    is_decimal, is_text = series.carriage is Carriage.DECIMAL, series.carriage is Carriage.TEXT
    return {
        "sum_decimal_low": (lambda rows, a, b: _written(_halves(rows, a, b)[1])) if is_decimal else None,
        "sum_decimal_high": (lambda rows, a, b: _written(_halves(rows, a, b)[0])) if is_decimal else None,
        "least_decimal": (lambda rows, a, b: _written(min(_digits(rows, a, b), default=None))) if is_decimal else None,
        "greatest_decimal": (
            (lambda rows, a, b: _written(max(_digits(rows, a, b), default=None))) if is_decimal else None
        ),
        "least_text": (lambda rows, a, b: min(_texts(rows, a, b), default=None)) if is_text else None,
        "greatest_text": (lambda rows, a, b: max(_texts(rows, a, b), default=None)) if is_text else None,
        "sketch": _sketch if series.is_sketched else None,
        "collected": _texts if series.is_collected else None,
    }


def _each(rows: ValueRows, first: Longs, until: Longs, what: _OfWindow | None) -> npt.NDArray[np.object_]:
    column = np.full(len(first), None, np.object_)
    if what is not None:
        for index, (begin, end) in enumerate(zip(first.tolist(), until.tolist(), strict=True)):
            column[index] = what(rows, begin, end)
    return column


def _texts(rows: ValueRows, begin: int, end: int) -> list[str]:
    return [text for text in rows.texts[begin:end] if text is not None]


def _digits(rows: ValueRows, begin: int, end: int) -> list[int]:
    return [int(text) for text in rows.texts[begin:end] if text is not None]


def _halves(rows: ValueRows, begin: int, end: int) -> tuple[int, int]:
    """The sum of decimals without their point as high·10²⁰ + low."""
    return divmod(sum(_digits(rows, begin, end)), DECIMAL_HALF)


def _written(number: int | None) -> str | None:
    return None if number is None else str(number)


def _sketch(rows: ValueRows, begin: int, end: int) -> bytes | None:
    """Nothing is left out of it up to `VALUES_KEPT` values; those that are no number are no part of it."""
    numbers = rows.numbers[begin:end][rows.is_present[begin:end]]
    if not len(numbers):
        return None
    sketch = kll_doubles_sketch(VALUES_KEPT)
    sketch.update(numbers)
    written: bytes = sketch.serialize()
    return written
