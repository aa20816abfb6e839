"""New rows of one side, made ready to be compared and stored."""

from __future__ import annotations

from dataclasses import dataclass
from typing import assert_never

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from streamshed.errors import InvalidNetworkError
from streamshed.joins.match.item_sets import item_columns
from streamshed.joins.match.key_codes import key_codes
from streamshed.joins.model.arrays import Booleans, one_chunk
from streamshed.joins.model.conditions import Condition, Equality, InnerProduct, Overlap, Predicate
from streamshed.joins.model.side import Side
from streamshed.joins.model.side_rows import CODE, ITEMS, TIME, SideRows
from streamshed.joins.model.specification import JoinSpecification


@dataclass(frozen=True, slots=True, kw_only=True)
class Prepared:
    """New rows that can join.

    Args:
        rows: Those rows.
        late: How many others came after the watermark had passed them.
        without_time: How many have no time.
        unmatchable: How many join nothing whatever comes: a null in the key, no item in the set.
    """

    rows: SideRows
    late: int
    without_time: int
    unmatchable: int


def prepared(specification: JoinSpecification, side: Side, table: pa.Table, watermark: int | None) -> Prepared:
    """Return the rows that can join, in order of time; of equal times, as they came.

    Args:
        specification: The join.
        side: Whose rows they are.
        table: The rows, with the columns that the join names.
        watermark: SideRows older than this are late, microseconds; None: none are.

    Raises:
        InvalidNetworkError: A column is missing, or of a type that cannot be compared.
    """
    table = table.combine_chunks()
    times = _microseconds(_column(table, specification.time_of(side), side))
    has_time = np.asarray(times.is_valid())
    numbers = np.asarray(times.fill_null(0))
    in_time = has_time if watermark is None else has_time & (numbers >= watermark)
    features, can_match = _features(specification.condition, side, table)
    for name, column in {TIME: pa.array(numbers), **features}.items():
        table = table.append_column(name, column)
    joinable = np.flatnonzero(in_time & can_match)
    joinable = joinable[np.argsort(numbers[joinable], kind="stable")]
    return Prepared(
        rows=SideRows(table.take(pa.array(joinable)).combine_chunks()),
        late=int((has_time & ~in_time).sum()),
        without_time=int((~has_time).sum()),
        unmatchable=int((in_time & ~can_match).sum()),
    )


def _features(condition: Condition, side: Side, table: pa.Table) -> tuple[dict[str, pa.Array], Booleans]:
    """The columns that the condition compares, and which rows can join at all."""
    is_left = side is Side.LEFT
    match condition:
        case Equality():
            columns = [_column(table, name, side) for name in (condition.left if is_left else condition.right)]
            complete = np.logical_and.reduce([np.asarray(column.is_valid()) for column in columns])
            codes = np.zeros(len(complete), np.int64)
            complete_mask = pa.array(complete)
            codes[complete] = key_codes([column.filter(complete_mask) for column in columns])
            return {CODE: pa.array(codes)}, complete
        case Overlap():
            items = item_columns(_column(table, condition.left if is_left else condition.right, side))[ITEMS]
            return {ITEMS: items}, np.asarray(pc.list_value_length(items)) >= condition.threshold
        case InnerProduct():
            column = _column(table, condition.left if is_left else condition.right, side)
            _check_weighted(column.type)
            sets = item_columns(column)
            return dict(sets), np.asarray(pc.list_value_length(sets[ITEMS])) > 0
        case Predicate():
            return {}, np.ones(table.num_rows, np.bool_)
        case _:
            assert_never(condition)


def _check_weighted(kind: pa.DataType) -> None:
    if not (pa.types.is_map(kind) or (pa.types.is_list(kind) and pa.types.is_struct(kind.value_type))):
        raise InvalidNetworkError(f"weighted sets of a join are of type {kind}, expected a map from items to weights")


def _column(table: pa.Table, name: str, side: Side) -> pa.Array:
    if name not in table.column_names:
        names = ", ".join(table.column_names)
        raise InvalidNetworkError(f"the {side.name.lower()} side of a join has no column {name!r}; it has {names}")
    return one_chunk(table.column(name))


def _microseconds(column: pa.Array) -> pa.Array:
    if pa.types.is_timestamp(column.type):
        return column.cast(pa.timestamp("us", column.type.tz), safe=False).cast(pa.int64())
    if pa.types.is_integer(column.type):
        return column.cast(pa.int64())
    raise InvalidNetworkError(f"time of a join is of type {column.type}, expected a timestamp or whole microseconds")
