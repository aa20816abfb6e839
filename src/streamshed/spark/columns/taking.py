"""What a task does with the rows of a stream by columns: sums of those it is sure of, all others as they are."""

from __future__ import annotations

import pickle
from collections.abc import Iterable, Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass
from functools import lru_cache

import numpy as np
import pyarrow as pa

from streamshed.columnar.block_sums import BLOCK_SUMS
from streamshed.columnar.column_kernel import ColumnKernel
from streamshed.columnar.column_types import TYPES
from streamshed.columnar.column_work import ColumnWork
from streamshed.columnar.key_index import KeyIndex
from streamshed.columnar.texts.dictionaries import concatenated, plain
from streamshed.columnar.texts.valid_texts import are_valid
from streamshed.columnar.untranslatable import Unsure
from streamshed.joins.model.arrays import Booleans, Ints, one_chunk
from streamshed.joins.sums.pair_sums import SUMS as SUMS_SCHEMA
from streamshed.spark.columns.sampled_blocks import SampledBlocks
from streamshed.spark.common.internal_names import (
    COHORT,
    FILE_PATH,
    FOLDERS,
    IS_CARRIER,
    NOW,
    PASSES,
    READ_ROWS,
    SAMPLING_CODES,
    SUMS,
    TAKEN_ROWS,
    TAKEN_TIME,
)
from streamshed.spark.common.set_apart import CARRIER_CLASS, NO_TIME_YET
from streamshed.spark.relations.relation_reader import RelationReader

SUMS_STRUCT = pa.struct(
    [*[one for one in SUMS_SCHEMA if one.name not in {"instant", "sampling_codes"}], ("block_sums", BLOCK_SUMS)]
)
"""What a row tells that is in the place of many: its class, mask and key, and what these sum up to."""

MOST_ROWS = 1 << 17
"""So many rows are summed up at once: with more, columns no longer lie near the processor."""
ENOUGH_ROWS = MOST_ROWS // 2
"""As many are summed up by themselves: it would take longer to put them and others together."""
_OURS = frozenset({FOLDERS, FILE_PATH, SAMPLING_CODES})
"""Texts that are not of the stream."""
_MOST_UNSURE = 0.5
"""A task that was not sure of a larger share of its rows tries no further."""


@dataclass(frozen=True)
class LookupFiles:
    """Where a lookup finds its relation.

    Attributes:
        reader: Reads it.
        schema: In this schema.
        key: The column that is looked up.
        outputs: The columns that are asked for.
    """

    reader: RelationReader
    schema: pa.Schema
    key: str
    outputs: tuple[str, ...]


@dataclass(frozen=True)
class Taking:
    """Takes the rows of a stream by columns.

    Attributes:
        work: A pickled `ColumnWork`: a worker unpacks it once.
        lookups: By lookup (`Match.matched`), where it finds its relation.
        schema: Of the rows that it returns.
        furthest_ahead: How far ahead of the wall clock event times are believed, microseconds; None: any are.
    """

    work: bytes
    lookups: Mapping[str, LookupFiles]
    schema: pa.Schema
    furthest_ahead: int | None

    @property
    def kernel(self) -> ColumnKernel:
        """What computes sums, the same for all tasks of a worker."""
        return _unpacked(self.work)[1]

    def rows(
        self, record_batches: Iterable[pa.RecordBatch], blocks: SampledBlocks | None = None
    ) -> Iterator[pa.RecordBatch]:
        """Yield what Spark has to go on with: rows as they are, and what all others sum up to.

        Args:
            record_batches: The rows.
            blocks: Is told how much the blocks differ that they come from; None: nobody asks.
        """
        task = _Task(self, *_unpacked(self.work), blocks)
        for chunk in _chunks(record_batches):
            yield from task.taken(chunk)

    def read_rows(self, count: int) -> pa.RecordBatch:
        """Return a row that tells how many rows were read, taken or not, and stands for none of them."""
        return self._row({"mask": 0, "rows": 0}, {READ_ROWS: count})

    def carrier_row(self, stream: str, instant: int, until: int | None) -> pa.RecordBatch:
        """Return the row of a carrier, see `with_carrier`.

        Args:
            stream: Whose.
            instant: Its event time, microseconds.
            until: Up to when it brings empty answers, likewise; None: no time is known.
        """
        until = NO_TIME_YET if until is None else until
        sums = {"class_id": CARRIER_CLASS, "mask": 1, "key_long": until, "key_text": stream}
        return self._row(sums, {TAKEN_TIME: instant, READ_ROWS: 0, IS_CARRIER: True})

    def _row(self, sums: Mapping[str, object], columns: Mapping[str, object]) -> pa.RecordBatch:
        """A row that stands for no others."""
        every = {**columns, SUMS: {field.name: sums.get(field.name) for field in SUMS_STRUCT}}
        arrays = [pa.array([every.get(field.name)], field.type) for field in self.schema]
        return pa.RecordBatch.from_arrays(arrays, schema=self.schema)


@lru_cache(maxsize=32)
def _unpacked(work: bytes) -> tuple[ColumnWork, ColumnKernel]:
    column_work: ColumnWork = pickle.loads(work)  # noqa: S301 - our own, from the driver
    return column_work, ColumnKernel(column_work)


def _chunks(record_batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    """The rows in batches of about `MOST_ROWS`."""
    waiting: list[pa.RecordBatch] = []
    rows = 0
    for record_batch in record_batches:
        if not record_batch.num_rows:
            continue
        if record_batch.num_rows >= ENOUGH_ROWS:
            yield record_batch
            continue
        waiting.append(record_batch)
        rows += record_batch.num_rows
        if rows >= MOST_ROWS:
            yield _together(waiting)
            waiting, rows = [], 0
    if waiting:
        yield _together(waiting)


def _together(record_batches: list[pa.RecordBatch]) -> pa.RecordBatch:
    if len(record_batches) == 1:
        return record_batches[0]
    columns = zip(*(record_batch.columns for record_batch in record_batches), strict=True)
    return pa.RecordBatch.from_arrays([*map(concatenated, columns)], record_batches[0].schema.names)


def _cohorts(columns: Mapping[str, pa.Array]) -> Ints | None:
    """Per row, that of its block; None: all blocks are read in this micro-batch."""
    if COHORT not in columns or columns[COHORT].null_count:
        return None
    return np.asarray(columns[COHORT], np.int64)


def _is_text(column: pa.Array) -> bool:
    kind = column.type.value_type if pa.types.is_dictionary(column.type) else column.type
    return bool(pa.types.is_string(kind))


def _in_utc(column: pa.Array) -> pa.Array:
    """Times as all columns have them: Spark sends them with the name that its session has for UTC."""
    is_instant = pa.types.is_timestamp(column.type) and column.type.tz is not None
    return column.cast(TYPES["timestamp"]) if is_instant else column


class _Task:
    """Takes the rows of one task."""

    def __init__(self, taking: Taking, work: ColumnWork, kernel: ColumnKernel, blocks: SampledBlocks | None) -> None:
        self._taking, self._work, self._kernel, self._blocks = taking, work, kernel, blocks
        self._texts = work.texts()
        self._lookups: dict[str, KeyIndex] | None = None
        self._rows = self._left = 0

    def taken(self, rows: pa.RecordBatch) -> Iterator[pa.RecordBatch]:
        """Yield what Spark has to go on with."""
        self._rows += rows.num_rows
        if self._left > _MOST_UNSURE * self._rows and self._rows > MOST_ROWS:
            yield self._as_they_are(rows)
            return
        columns, is_sure = self._columns(rows)
        if not is_sure.all():
            yield self._as_they_are(rows.filter(pa.array(~is_sure)))
            chosen = pa.array(is_sure)
            rows, columns = rows.filter(chosen), {name: column.filter(chosen) for name, column in columns.items()}
        yield from self._summed(rows, columns)

    def _columns(self, rows: pa.RecordBatch) -> tuple[dict[str, pa.Array], Booleans]:
        columns = {name: _in_utc(rows.column(name)) for name in rows.schema.names}
        is_sure = np.ones(rows.num_rows, np.bool_)
        if FOLDERS in columns:
            is_sure &= np.asarray(columns[FOLDERS].is_null())
        parsed: dict[str, pa.Array] = {}
        if self._texts is not None and self._work.text is not None:
            name = next(name for name in columns if name.lower() == self._work.text.column.lower())
            texts = self._texts.read(columns.pop(name))
            parsed = dict(zip(texts.columns.schema.names, texts.columns.columns, strict=True))
            is_sure &= texts.is_sure
        for name, column in columns.items():
            if _is_text(column) and name not in _OURS:
                is_sure &= are_valid(column)
        return columns | parsed, is_sure

    def _summed(self, rows: pa.RecordBatch, columns: Mapping[str, pa.Array]) -> Iterator[pa.RecordBatch]:
        """Sum rows up; those of which something is not sure are left."""
        while rows.num_rows:
            try:
                yield self._sums(rows, columns)
                return
            except Unsure as unsure:
                left, sure = pa.array(unsure.rows), pa.array(~unsure.rows)
            yield self._as_they_are(rows.filter(left))
            rows, columns = rows.filter(sure), {name: column.filter(sure) for name, column in columns.items()}

    def _sums(self, rows: pa.RecordBatch, columns: Mapping[str, pa.Array]) -> pa.RecordBatch:
        instants, has_time = self._kernel.instants(columns, rows.num_rows)
        is_sure = has_time & self._is_believed(instants, columns)
        if not is_sure.all():
            raise Unsure(~is_sure)
        line = self._kernel.line(columns, instants, self._relations())
        sums = self._kernel.sums(
            line, columns.get(PASSES), is_sampled=self._is_sampled(columns), cohorts=_cohorts(columns)
        )
        if self._blocks is not None:
            with suppress(Unsure):  # of values that no class needs
                self._blocks.look(self._kernel.totaled(line), columns)
        return self._standing_for(sums, instants)

    def _is_believed(self, instants: Ints, columns: Mapping[str, pa.Array]) -> Booleans:
        """Whether Spark would take event times for such: the others are set aside one by one."""
        if NOW not in columns:
            return np.ones(len(instants), np.bool_)
        believed, now, ahead = instants >= 0, columns[NOW], self._taking.furthest_ahead
        return believed if ahead is None or now.null_count else believed & (instants <= np.asarray(now) + ahead)

    def _is_sampled(self, columns: Mapping[str, pa.Array]) -> bool:
        return SAMPLING_CODES in columns and columns[SAMPLING_CODES].null_count < len(columns[SAMPLING_CODES])

    def _relations(self) -> Mapping[str, KeyIndex]:
        """The relations, read once per task: a file that has changed is read again in the next one."""
        if self._lookups is None:
            self._lookups = {
                matched: KeyIndex.of(
                    pa.Table.from_batches(files.reader.batches(files.schema), files.schema), files.key, files.outputs
                )
                for matched, files in self._taking.lookups.items()
            }
        return self._lookups

    def _as_they_are(self, rows: pa.RecordBatch) -> pa.RecordBatch:
        self._left += rows.num_rows
        columns = [
            plain(rows.column(field.name)) if field.name in rows.schema.names else pa.nulls(rows.num_rows, field.type)
            for field in self._taking.schema
        ]
        return pa.RecordBatch.from_arrays(columns, schema=self._taking.schema)

    def _standing_for(self, sums: pa.Table, instants: Ints) -> pa.RecordBatch:
        """What rows sum up to; and two rows more, for the first and last instant: the watermark looks at all rows."""
        first, last = int(instants.min()), int(instants.max())
        count = sums.num_rows + 2
        times = np.concatenate([np.maximum(np.asarray(sums.column("instant")), first), [first, last]])
        taken = np.zeros(count, np.int64)
        taken[-1] = len(instants)
        ends = pa.table({"mask": np.zeros(2, np.int64), "rows": np.zeros(2, np.int64)})
        every = pa.concat_tables([sums, ends], promote_options="default").combine_chunks()
        structs = pa.StructArray.from_arrays(
            [one_chunk(every.column(field.name)) for field in SUMS_STRUCT], fields=list(SUMS_STRUCT)
        )
        columns = {SUMS: structs, TAKEN_TIME: pa.array(times), TAKEN_ROWS: pa.array(taken)}
        arrays = [
            columns[field.name] if field.name in columns else pa.nulls(count, field.type)
            for field in self._taking.schema
        ]
        return pa.RecordBatch.from_arrays(arrays, schema=self._taking.schema)
