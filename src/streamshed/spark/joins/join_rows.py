"""Rows of a join on their way to its partitions and back: many at once, as Arrow streams, so that no type is lost."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence

import numpy as np
import pyarrow as pa

from streamshed.joins.match.fragments import WHOLE, Fragments, dealt, fragments_for
from streamshed.joins.match.key_codes import key_codes, scattered
from streamshed.joins.model.arrays import Ints, one_chunk
from streamshed.joins.model.conditions import Condition, Equality, InnerProduct, Overlap, Predicate
from streamshed.joins.model.join_windows import JoinWindows
from streamshed.joins.model.side import Side
from streamshed.network.model.join_source import JoinSource
from streamshed.network.terms.join_condition import CommonItems, EqualColumns, PairFunction, WeightedItems
from streamshed.spark.common.internal_names import IDENTITY, TIME

PACKED_DDL = "label int, side int, rows binary"
"""Rows of one side that go to one label; of a carrier, none."""

_MOST_PACKED = 100_000


def join_condition_of(join: JoinSource) -> Condition:
    """Return a join's condition over the columns of its results."""
    left, right = (tuple(f"{prefix}{name}" for name in names) for prefix, names in _columns(join))
    match join.condition:
        case EqualColumns():
            return Equality(left, right)
        case CommonItems() as items:
            return Overlap(left[0], right[0], items.at_least)
        case WeightedItems() as items:
            return InnerProduct(left[0], right[0], items.at_least)
        case PairFunction(function):
            return Predicate(function.resolve())


def _columns(join: JoinSource) -> Iterable[tuple[str, tuple[str, ...]]]:
    return zip(join.prefixes, (join.condition.left, join.condition.right), strict=True)


def fragments_of(join: JoinSource, partitions: int) -> Fragments:
    """Return how the rows of a join are spread over partitions; those that join by keys go by these.

    Args:
        join: The join.
        partitions: How many there are.
    """
    return WHOLE if isinstance(join.condition, EqualColumns) else fragments_for(windows_of(join), partitions)


def windows_of(join: JoinSource) -> JoinWindows:
    """Return the windows of a join, cut into cells."""
    return JoinWindows(join.left_microseconds, join.right_microseconds, join.basic_microseconds)


def packing(
    condition: Condition, side: Side, labels: Sequence[int], fragments: Fragments = WHOLE
) -> Callable[[Iterable[pa.RecordBatch]], Iterator[pa.RecordBatch]]:
    """Return what packs rows of a side by label.

    Rows of equal keys go to the same label. Without keys they are dealt by their `IDENTITY`, which is left out then,
    and go to all labels where they meet a fragment of the other side.

    A row without time is a carrier's: it goes to every label, with no rows, so that each is asked in every micro-batch.

    Args:
        condition: Over the columns of the rows.
        side: Whose rows they are.
        labels: What there is; without keys, one per partition of `fragments`.
        fragments: How rows without keys are spread.
    """

    def packed(record_batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        for record_batch in record_batches:
            rows = pa.Table.from_batches([record_batch])
            is_row = np.asarray(one_chunk(rows.column(TIME)).is_valid())
            if not is_row.all():
                yield _packed(labels, side, [None] * len(labels))
                rows = rows.filter(pa.array(is_row))
            if isinstance(condition, Equality):
                places = _places(rows, condition.left if side is Side.LEFT else condition.right, len(labels))
            else:
                places = dealt(np.asarray(one_chunk(rows.column(IDENTITY))), fragments.of(side))
                rows = rows.drop_columns([IDENTITY])
            for place in np.unique(places).tolist():
                rows_of_place = rows.filter(pa.array(places == place)).combine_chunks()
                of_place = [place] if isinstance(condition, Equality) else fragments.partitions_of(side, place)
                yield _packed(
                    [labels[partition] for partition in of_place], side, [to_blob(rows_of_place)] * len(of_place)
                )

    return packed


def _places(rows: pa.Table, keys: Sequence[str], labels: int) -> Ints:
    """The place of each row's label; rows with a null in the key join nothing, wherever they are."""
    places: Ints = np.zeros(rows.num_rows, np.int64)
    if not rows.num_rows:
        return places
    columns = [one_chunk(rows.column(name)) for name in keys]
    complete = np.logical_and.reduce([np.asarray(column.is_valid()) for column in columns])
    codes = key_codes([column.filter(pa.array(complete)) for column in columns])
    places[complete] = (scattered(codes).view(np.uint64) % np.uint64(labels)).astype(np.int64)
    return places


def _packed(labels: Sequence[int], side: Side, blobs: Sequence[bytes | None]) -> pa.RecordBatch:
    sides = pa.array([int(side)] * len(labels), pa.int32())
    arrays = [pa.array(labels, pa.int32()), sides, pa.array(blobs, pa.binary())]
    return pa.RecordBatch.from_arrays(arrays, ["label", "side", "rows"])


def to_blob(rows: pa.Table) -> bytes:
    """Return rows as one piece: an Arrow stream."""
    sink = pa.BufferOutputStream()
    with pa.ipc.new_stream(sink, rows.schema) as writer:
        writer.write_table(rows)
    return bytes(sink.getvalue())


def unpacked_side(blobs: Iterable[bytes | None], schema: pa.Schema) -> pa.Table:
    """Return the rows of a side in its own schema, whatever Spark says of nulls in a micro-batch."""
    tables = [pa.ipc.open_stream(pa.py_buffer(blob)).read_all() for blob in blobs if blob is not None]
    return pa.concat_tables(
        [schema.empty_table(), *(pa.Table.from_arrays(table.columns, schema=schema) for table in tables)]
    )


def slices_of(rows: pa.Table) -> Iterator[pa.Table]:
    """Return rows in pieces that Spark can hand on."""
    for start in range(0, rows.num_rows, _MOST_PACKED):
        yield rows.slice(start, _MOST_PACKED).combine_chunks()
