"""Sums over values that each count several times, group by group, as Spark's aggregates define them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from streamshed.joins.model.arrays import Booleans, Floats, Ints, one_chunk
from streamshed.joins.sums.summed_class import SummedValue, ValueForm

_LOW_BITS = 0xFFFFFFFF
_EXACT = 1 << 53
"""Floating-point numbers hold all whole ones up to this."""

NO_SUMS: Mapping[str, pa.DataType] = {
    "present": pa.int64(),
    "total": pa.float64(),
    "squares": pa.float64(),
    "sizes": pa.float64(),
    "least_number": pa.float64(),
    "greatest_number": pa.float64(),
    "sum_low": pa.int64(),
    "sum_high": pa.int64(),
    "least_long": pa.int64(),
    "greatest_long": pa.int64(),
}
"""What is told of values: how many there are, Σv, Σv², Σ|v|, extremes; sum_low + 2³²·sum_high is the exact sum of whole
numbers, null for others; all but the first are null where there is no value."""


@dataclass(frozen=True, slots=True)
class Counted:
    """Rows that count, each in a group.

    Args:
        places: Of the rows.
        times: How often each counts.
        groups: The number of the group of each.
        size: How many groups there are.
    """

    places: Ints
    times: Ints
    groups: Ints
    size: int

    def chosen(self, which: Booleans) -> Counted:
        """Return some of the rows, of as many groups."""
        return Counted(self.places[which], self.times[which], self.groups[which], self.size)


def sums_of_values(value: SummedValue, rows: pa.Table, counted: Counted, *, extremes: bool) -> dict[str, pa.Array]:
    """Return the columns of `NO_SUMS`, one row per group.

    NaN is larger than any number, as in Spark.

    Args:
        value: The value.
        rows: Of its side.
        counted: Which of them count.
        extremes: Whether these are asked for; else they are null.
    """
    wholes, numbers, is_there = _taken(value, rows)
    if not is_there.all():
        counted = counted.chosen(is_there[counted.places])
    groups, size = counted.groups, counted.size
    present = whole_sums(counted.times, groups, size)
    none = present == 0
    values = numbers[counted.places]
    with np.errstate(over="ignore", invalid="ignore"):
        total = values * counted.times
        columns = {
            "present": pa.array(present),
            "total": _nullable(np.bincount(groups, total, size), none),
            "squares": _nullable(np.bincount(groups, total * values, size), none),
            "sizes": _nullable(np.bincount(groups, np.abs(total), size), none),
        }
    if wholes is not None:
        whole = wholes[counted.places]
        low, high = whole & _LOW_BITS, whole >> 32
        columns["sum_low"] = _nullable(whole_sums(low * counted.times, groups, size), none)
        columns["sum_high"] = _nullable(whole_sums(high * counted.times, groups, size), none)
        if extremes:
            columns["least_long"] = _nullable(_least(whole, groups, size), none)
            columns["greatest_long"] = _nullable(~_least(~whole, groups, size), none)
    if extremes:
        columns |= _extremes(values, groups, none)
    return no_sums(size) | columns


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
    is_number = ~np.isnan(values)
    least, greatest = np.full(size, np.inf), np.full(size, -np.inf)
    np.minimum.at(least, groups[is_number], values[is_number])
    with np.errstate(invalid="ignore"):
        np.maximum.at(greatest, groups, values)
    is_some = np.bincount(groups[is_number], minlength=size) > 0
    return {
        "least_number": _nullable(np.where(is_some, least, np.nan), none),
        "greatest_number": _nullable(greatest, none),
    }


def _taken(value: SummedValue, rows: pa.Table) -> tuple[Ints | None, Floats, Booleans]:
    """Each row's value as a whole number if it is one (else None), as a floating-point one, and whether it is there."""
    column = one_chunk(rows.column(value.column))
    is_there = np.asarray(column.is_valid())
    if value.form is ValueForm.PRESENCE:
        nothing = np.zeros(len(column), np.int64)
        return nothing, nothing.astype(np.float64), is_there
    if value.form is ValueForm.FLOATING:
        return None, np.asarray(column.cast(pa.float64()).fill_null(0.0)), is_there
    wholes = as_wholes(column)
    return wholes, wholes.astype(np.float64), is_there


def as_wholes(column: pa.Array) -> Ints:
    """Return whole numbers, truths, dates and times as 64-bit numbers, 0 for null: days or microseconds since 1970."""
    if pa.types.is_date32(column.type):
        column = column.cast(pa.int32())
    return np.asarray(pc.cast(column, pa.int64()).fill_null(0))


def _nullable(values: Ints | Floats, none: Booleans) -> pa.Array:
    # Arrow takes NaN of an array with a mask as it is.
    return pa.array(values, mask=none, from_pandas=False)
