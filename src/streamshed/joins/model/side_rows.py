"""SideRows of one side, in order of time, as blobs hold them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import pyarrow as pa

from streamshed.joins.model.arrays import Booleans, Floats, Ints, one_chunk

TIME, CODE, ITEMS, WEIGHTS = "#time", "#code", "#items", "#weights"
"""Columns beside the user's own: time in microseconds, code of the key, codes of the items, their weights."""

WORTH = "__worth_"
"""What the names of columns begin with that weights of results are made of; another weight has others."""


@dataclass(frozen=True)
class SideRows:
    """SideRows of one side, in order of time, with what their condition compares.

    Args:
        table: The user's columns, and those of this module that the condition needs; each in one chunk.
    """

    table: pa.Table

    def __len__(self) -> int:
        return int(self.table.num_rows)

    @classmethod
    def joined(cls, several: Sequence[SideRows]) -> SideRows:
        """Return the rows of several, which must be in order of time; at least one.

        They have the columns of the last of them for the weight of results.
        """
        if len(several) == 1:
            return several[0]
        schema = several[-1].table.schema
        return cls(pa.concat_tables([_with_worth_of(schema, rows.table) for rows in several]).combine_chunks())

    @classmethod
    def from_blob(cls, blob: bytes) -> SideRows:
        """Return what `to_blob` made a blob of."""
        return cls(pa.ipc.open_stream(pa.py_buffer(blob)).read_all().combine_chunks())

    def to_blob(self) -> bytes:
        """Return them as one piece: an Arrow stream."""
        sink = pa.BufferOutputStream()
        with pa.ipc.new_stream(sink, self.table.schema) as writer:
            writer.write_table(self.table)
        return bytes(sink.getvalue())

    @cached_property
    def times(self) -> Ints:
        """Microseconds, never falling."""
        return self._numbers(TIME)

    @cached_property
    def codes(self) -> Ints:
        """The code of each row's key."""
        return self._numbers(CODE)

    @cached_property
    def item_starts(self) -> Ints:
        """Where each row's items begin in `items`, and where the last row's end."""
        return _starts(self._column(ITEMS))

    @cached_property
    def items(self) -> Ints:
        """The codes of the items of all rows; each row's are different from one another."""
        return np.asarray(self._column(ITEMS).flatten())

    @cached_property
    def weights(self) -> Floats:
        """The weight of each item."""
        return np.asarray(self._column(WEIGHTS).flatten())

    @property
    def payload(self) -> pa.Table:
        """The user's columns."""
        return self.table.select([name for name in self.table.column_names if not name.startswith("#")])

    def chosen(self, which: Booleans) -> SideRows:
        """Return some of the rows."""
        return self if which.all() else SideRows(self.table.filter(pa.array(which)).combine_chunks())

    def part(self, start: int, stop: int) -> SideRows:
        """Return the rows from one place to another."""
        return SideRows(self.table.slice(start, stop - start).combine_chunks())

    def with_columns(self, columns: pa.Schema) -> SideRows:
        """Return the rows with just those columns of the user's; null where they lack one.

        >>> rows = SideRows(pa.table({"a": [1], "b": [2], "#time": [3]}))
        >>> rows.with_columns(pa.schema([("a", pa.int64()), ("c", pa.bool_())])).table.to_pylist()
        [{'a': 1, 'c': None, '#time': 3}]
        """
        if self.payload.schema.equals(columns):
            return self
        there = set(self.table.column_names)
        payload_columns = [
            self.table.column(field.name) if field.name in there else pa.nulls(len(self), field.type)
            for field in columns
        ]
        feature_fields = [field for field in self.table.schema if field.name.startswith("#")]
        schema = pa.schema([*columns, *feature_fields])
        return SideRows(
            pa.Table.from_arrays(
                [*payload_columns, *(self.table.column(field.name) for field in feature_fields)], schema=schema
            )
        )

    def _numbers(self, name: str) -> Ints:
        return np.asarray(self._column(name))

    def _column(self, name: str) -> pa.Array:
        return one_chunk(self.table.column(name))


def _with_worth_of(schema: pa.Schema, table: pa.Table) -> pa.Table:
    """Give rows the columns for the weight of results that a schema has, null where they lack them."""
    names = [name for name in table.column_names if not name.startswith(WORTH)]
    wanted = [field for field in schema if field.name.startswith(WORTH)]
    if len(names) == table.num_columns and not wanted:
        return table
    widened = table.select(names)
    for field in wanted:
        is_known = field.name in table.column_names
        column = table.column(field.name) if is_known else pa.nulls(table.num_rows, field.type)
        widened = widened.append_column(field, column)
    return widened.select(schema.names)


def _starts(lists: pa.Array) -> Ints:
    offsets = np.asarray(lists.offsets, np.int64)
    return offsets - offsets[0] if len(offsets) else np.zeros(1, np.int64)
