"""From the pieces that come out of a join to rows: results, and among them what others were summed up to."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator

import numpy as np
import pyarrow as pa

from streamshed.spark.columns.taking import SUMS_STRUCT
from streamshed.spark.common.internal_names import IS_SUMMED, PAIR_CODES, SUMS
from streamshed.spark.joins.join_work import PieceKind


def with_sums(results: pa.Schema) -> pa.Schema:
    """Return the schema of results among which there are sums.

    These have the time of their slice, their rate and cohort where the join is sampled, and nothing else.
    """
    return results.append(pa.field(IS_SUMMED, pa.bool_())).append(pa.field(SUMS, SUMS_STRUCT))


def unpacking(results: pa.Schema, *, sums: bool) -> Callable[[Iterable[pa.RecordBatch]], Iterator[pa.RecordBatch]]:
    """Return what unpacks pieces.

    Args:
        results: The columns of results, their time first.
        sums: Whether some may be summed up: then the columns are those of `with_sums`.
    """

    def unpacked(record_batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        for record_batch in record_batches:
            for kind, blob in zip(record_batch.column("kind").to_pylist(), record_batch.column("rows"), strict=True):
                table = pa.ipc.open_stream(blob.as_buffer()).read_all()
                yield from _rows(table, PieceKind(kind), results, sums=sums).to_batches()

    return unpacked


def _rows(table: pa.Table, kind: PieceKind, results: pa.Schema, *, sums: bool) -> pa.Table:
    if not sums:
        return pa.Table.from_arrays(table.columns, schema=results)
    count, schema = table.num_rows, with_sums(results)
    if kind is not PieceKind.SUMS:
        is_summed = pa.array(np.full(count, kind is PieceKind.SUMMED_RESULTS))
        return pa.Table.from_arrays([*table.columns, is_summed, pa.nulls(count, SUMS_STRUCT)], schema=schema)
    sum_rows = table.combine_chunks()
    sums_column = pa.StructArray.from_arrays(
        [
            sum_rows.column(field.name).combine_chunks()
            if field.name in sum_rows.column_names
            else pa.nulls(count, field.type)
            for field in SUMS_STRUCT
        ],
        fields=list(SUMS_STRUCT),
    )
    time = sum_rows.column("instant").cast(results.field(0).type)
    rest = [
        sum_rows.column("sampling_codes") if field.name == PAIR_CODES else pa.nulls(count, field.type)
        for field in list(results)[1:]
    ]
    return pa.Table.from_arrays([time, *rest, pa.nulls(count, pa.bool_()), sums_column], schema=schema)
