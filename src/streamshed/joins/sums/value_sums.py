"""Sums over values that each count several times, group by group, as Spark's aggregates define them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from streamshed.joins.model.arrays import Booleans, Floats, Ints
from streamshed.joins.sums.summed_class import ValueForm

_LOW_BITS = 0xFFFFFFFF
_EXACT = 1 << 53
"""Floating-point numbers hold all whole ones up to this."""

NO_SUMS: Mapping[str, pa.DataType] = {
    "present": pa.int64(),
    "total": pa.float64(),
    "squares": pa.float64(),
    "sizes": pa.float64(),
    "cubes": pa.float64(),
    "quads": pa.float64(),
    "least_number": pa.float64(),
    "greatest_number": pa.float64(),
    "sum_low": pa.int64(),
    "sum_high": pa.int64(),
    "least_long": pa.int64(),
    "greatest_long": pa.int64(),
}
"""What is told of values: how many there are, Σv, Σv², Σ|v|, Σv³, Σv⁴, extremes; sum_low + 2³²·sum_high is the
exact sum of whole numbers, null for others; all but the first are null where there is no value."""


@dataclass(frozen=True, slots=True)
class Counted:
    """Rows that count, each in a group.

    Args:
        groups: The number of the group of each.
        size: How many groups there are.
        places: Of the rows; None: all rows count, in order.
        times: How often each counts; None: once.
    """

    groups: Ints
    size: int
    places: Ints | None = None
    times: Ints | None = None

    def chosen(self, which: Booleans) -> Counted:
        """Return some of the rows, of as many groups."""
        places = np.flatnonzero(which) if self.places is None else self.places[which]
        return Counted(self.groups[which], self.size, places, None if self.times is None else self.times[which])

    def where(self, is_there: Booleans) -> Counted:
        """Return those of the rows of which something is there."""
        return self if is_there.all() else self.chosen(is_there if self.places is None else is_there[self.places])

    @property
    def row_counts(self) -> Ints:
        """How many rows count, by group."""
        if self.times is None:
            return np.bincount(self.groups, minlength=self.size)
        return whole_sums(self.times, self.groups, self.size)


@dataclass(frozen=True, slots=True)
class RowValues:
    """The values of rows.

    Args:
        wholes: As whole numbers; None: they are none.
        numbers: As floating-point numbers.
        is_there: Which are not null.
    """

    wholes: Ints | None
    numbers: Floats
    is_there: Booleans

    @classmethod
    def of(cls, column: pa.Array, form: ValueForm) -> RowValues:
        """Take the values of a column in the form in which they travel."""
        is_there = np.asarray(column.is_valid()) if column.null_count else np.ones(len(column), np.bool_)
        if form is ValueForm.PRESENCE:
            nothing = np.zeros(len(column), np.int64)
            return cls(nothing, nothing.astype(np.float64), is_there)
        if form is ValueForm.FLOATING:
            return cls(None, np.asarray(column.cast(pa.float64()).fill_null(0.0)), is_there)
        wholes = as_wholes(column)
        return cls(wholes, wholes.astype(np.float64), is_there)


def sums_of_values(values: RowValues, counted: Counted, *, extremes: bool, powers: bool = False) -> dict[str, pa.Array]:
    """Return the columns of `NO_SUMS`, one row per group.

    NaN is larger than any number, as in Spark.

    Args:
        values: The values.
        counted: Which of the rows count.
        extremes: Whether these are asked for; else they are null.
        powers: Whether the sums of the third and fourth powers are; likewise.
    """
    counted = counted.where(values.is_there)
    groups, size, present = counted.groups, counted.size, counted.row_counts
    none = present == 0
    numbers = values.numbers if counted.places is None else values.numbers[counted.places]
    with np.errstate(over="ignore", invalid="ignore"):
        total = numbers if counted.times is None else numbers * counted.times
        squares = total * numbers
        weights = {"total": total, "squares": squares}
        if not total.min(initial=0.0) >= 0:
            weights["sizes"] = np.abs(total)
        if powers:
            weights |= {"cubes": squares * numbers, "quads": squares * numbers * numbers}
        sums: dict[str, Floats] = {
            name: np.bincount(groups, added, size).astype(np.float64, copy=False) for name, added in weights.items()
        }
    columns = {name: _nullable(of_groups, none) for name, of_groups in {"sizes": sums["total"], **sums}.items()}
    columns["present"] = pa.array(present)
    if values.wholes is not None:
        whole = values.wholes if counted.places is None else values.wholes[counted.places]
        columns |= _whole_sums(whole, counted, none, sums["total"])
        if extremes:
            columns["least_long"] = _nullable(_least(whole, groups, size), none)
            columns["greatest_long"] = _nullable(~_least(~whole, groups, size), none)
    if extremes:
        columns |= _extremes(numbers, groups, none)
    return no_sums(size) | columns


def _whole_sums(whole: Ints, counted: Counted, none: Booleans, rounded: Floats) -> dict[str, pa.Array]:
    """The exact sum in two parts, of which each alone is far from the largest 64-bit number.

    Args:
        whole: The numbers.
        counted: Which of the rows count.
        none: Of which groups there is no number.
        rounded: The sums of floating-point numbers, which are exact while they are small.
    """
    times = 1 if counted.times is None else counted.times
    largest = max(int(whole.max(initial=0)), -int(whole.min(initial=0)))
    utmost = largest * len(whole) * int(np.max(times, initial=1))
    if utmost < 1 << 62:
        is_exact = utmost <= _EXACT
        total = rounded.astype(np.int64) if is_exact else whole_sums(whole * times, counted.groups, counted.size)
        low, high = total & _LOW_BITS, total >> 32
    else:
        low = whole_sums((whole & _LOW_BITS) * times, counted.groups, counted.size)
        high = whole_sums((whole >> 32) * times, counted.groups, counted.size)
    return {"sum_low": _nullable(low, none), "sum_high": _nullable(high, none)}


def no_sums(size: int) -> dict[str, pa.Array]:
    """Return the columns of `NO_SUMS` of groups without values."""
    nothing = {name: pa.nulls(size, kind) for name, kind in NO_SUMS.items()}
    return nothing | {"present": pa.array(np.zeros(size, np.int64))}


def whole_sums(values: Ints, groups: Ints, size: int) -> Ints:
    """Return the sum of whole numbers per group, exactly.

    >>> whole_sums(np.array([2**60, 1, 1]), np.array([0, 0, 1]), 2).tolist()
    [1152921504606846977, 1]
    """
    largest = max(int(values.max(initial=0)), -int(values.min(initial=0)))
    if largest * len(values) <= _EXACT:
        return np.bincount(groups, values, size).astype(np.int64)
    sums = np.zeros(size, np.int64)
    np.add.at(sums, groups, values)
    return sums


def _least(values: Ints, groups: Ints, size: int) -> Ints:
    least = np.full(size, np.iinfo(np.int64).max)
    np.minimum.at(least, groups, values)
    return least


def _extremes(values: Floats, groups: Ints, none: Booleans) -> dict[str, pa.Array]:
    size = len(none)
    least, greatest = np.full(size, np.inf), np.full(size, -np.inf)
    with np.errstate(invalid="ignore"):
        np.maximum.at(greatest, groups, values)
    is_some, is_nan = ~none, np.isnan(values)
    if is_nan.any():
        groups, values = groups[~is_nan], values[~is_nan]
        is_some = np.bincount(groups, minlength=size) > 0
    np.minimum.at(least, groups, values)
    return {
        "least_number": _nullable(np.where(is_some, least, np.nan), none),
        "greatest_number": _nullable(greatest, none),
    }


def as_wholes(column: pa.Array) -> Ints:
    """Return whole numbers, truths, dates and times as 64-bit numbers, 0 for null: days or microseconds since 1970."""
    if pa.types.is_date32(column.type):
        column = column.cast(pa.int32())
    return np.asarray(pc.cast(column, pa.int64()).fill_null(0))


def _nullable(values: Ints | Floats, none: Booleans) -> pa.Array:
    # Arrow takes NaN of an array with a mask as it is.
    return pa.array(values, mask=none, from_pandas=False)
