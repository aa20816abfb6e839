"""Rows that a task reads itself: Spark tells it which, by one row of each span of a file.

Of Parquet files Spark's source finds, splits and counts the rows, and hands on those whose number is a multiple of
`SPAN_ROWS`. Of text files it finds the files, and each is cut by `SPAN_BYTES`. Each row stands for the span that it
begins, so every row of a file is in the span of exactly one task, wherever splits end. Of what is in a file Spark
reads nothing.
"""

from __future__ import annotations

import urllib.parse
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa

from streamshed.columnar.file_rows import FileRows
from streamshed.columnar.row_file import AnySpan, RowFile, RowPart, part_of_rows
from streamshed.columnar.spark_hash import block_draws, hash_of_row
from streamshed.columnar.text_rows import TextRows
from streamshed.columnar.texts.dictionaries import plain
from streamshed.joins.model.arrays import Ints
from streamshed.planning.place.block_cut import UNREAD, BlockCut
from streamshed.spark.columns.row_admission import Admitted, RowPlaces, RowPlan, Words, admitted
from streamshed.spark.columns.taking import Taking
from streamshed.spark.common.internal_names import (
    COHORT,
    FILE_PATH,
    FILE_ROW,
    NOW,
    PARTITION_VALUES,
    PASSES,
    SAMPLING_CODES,
)

SPAN_ROWS = 1 << 16
"""A power of two: so many rows of a Parquet file are a span."""
MOST_BLOCKS = 64
"""So many blocks are read at once, at most."""
SPAN_BYTES = 1 << 22
"""So many bytes of a text file are a span: the lines that begin in them."""


@dataclass(frozen=True)
class Stretch:
    """Neighboring spans of a file.

    Attributes:
        path: Of the file, a URI as Spark writes it.
        start: The number of the first row, or of the first byte.
        stop: The number behind the last one; the file may end before.
        constants: The columns whose value is in the name of a folder, with it.
    """

    path: str
    start: int
    stop: int
    constants: Mapping[str, pa.Scalar]


@dataclass(frozen=True, kw_only=True)
class SpanRows:
    """Reads the rows of spans, and takes them by columns.

    Attributes:
        taking: Takes them.
        is_text: Whether the rows are lines of text files; if not, those of Parquet files.
        span: How long a span is, in bytes or rows.
        schema: Of the rows, as `taking` expects them.
        types: Of the columns that the source delivers, by name.
        instant_columns: Those of them that tell when a row is.
        cohort_columns: Those that tell to which groups it belongs whose windows may be dropped by group.
        identity: Those that identify a row; empty: its file and number do.
        salt: Of its hash.
        whole_words: What a row passes while nothing is shed, where windows may be dropped.
    """

    taking: Taking
    is_text: bool = False
    span: int = SPAN_ROWS
    schema: pa.Schema
    types: Mapping[str, pa.DataType]
    instant_columns: tuple[str, ...] = ()
    cohort_columns: tuple[str, ...] = ()
    identity: tuple[str, ...] = ()
    salt: str
    whole_words: tuple[int, ...] = ()

    def rows(self, record_batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        """Yield what Spark has to go on with; see `Taking.rows`. Of text files nobody else has counted the rows.

        Args:
            record_batches: The first rows of spans: `FILE_PATH`, `FILE_ROW`, `PARTITION_VALUES`, and what all rows
                are told in the micro-batch.
        """
        counts: list[int] = []
        yield from self.taking.rows(self._admitted(record_batches, counts))
        if self.is_text and counts:
            yield self.taking.read_rows(sum(counts))

    def _admitted(self, record_batches: Iterable[pa.RecordBatch], counts: list[int]) -> Iterator[pa.RecordBatch]:
        plan: RowPlan | None = None
        for firsts in record_batches:
            if not firsts.num_rows:
                continue
            if plan is None:
                plan_values = {
                    name: firsts.column(name)[0].as_py() for name in firsts.schema.names if name != PARTITION_VALUES
                }
                plan = RowPlan.of(plan_values, self.whole_words)
            for stretch in stretches(firsts, self.span):
                yield from self._of_stretch(stretch, plan, counts)

    def _of_stretch(self, stretch: Stretch, plan: RowPlan, counts: list[int]) -> Iterator[pa.RecordBatch]:
        types = {name: kind for name, kind in self.types.items() if name not in stretch.constants}
        path = local_path(stretch.path)
        file: RowFile[Any] = TextRows.of(path, types) if self.is_text else FileRows.of(path, types)
        for start, stop, cohort, rows in self._read(file, path, stretch, plan.cut):
            for run in rows.runs(start, stop):
                counts.append(len(run.numbers))
                yield from self._of_run(rows, run, stretch, plan, cohort)

    def _read(
        self, file: RowFile[Any], path: str, stretch: Stretch, cut: BlockCut | None
    ) -> Iterator[tuple[int, int, str | None, RowFile[Any]]]:
        """From where to where a stretch is read, the cohort there if not all blocks are, and what reads it."""
        if cut is None:
            yield stretch.start, stretch.stop, None, file
            return
        blocks = file.blocks(stretch.start, stretch.stop)
        cohorts = cut.cohorts(block_draws(self.salt, path, [block.number for block in blocks])).tolist()
        read = [(block, f"{cohort:x}") for block, cohort in zip(blocks, cohorts, strict=True) if cohort != UNREAD]
        for first in range(0, len(read), MOST_BLOCKS):
            at_once = read[first : first + MOST_BLOCKS]
            rows = file.only([block for block, _ in at_once])
            yield from ((block.start, block.stop, cohort, rows) for block, cohort in at_once)

    def _of_run(
        self, file: RowFile[AnySpan], run: AnySpan, stretch: Stretch, plan: RowPlan, cohort: str | None = None
    ) -> Iterator[pa.RecordBatch]:
        """The rows of a run that are admitted. Where none is, the columns that do not decide it are not read."""
        numbers = run.numbers
        deciding = _columns(file, run, self._deciding(plan), stretch)
        decided = self._decided(deciding, numbers, stretch, plan)
        if decided.rows is not None and not len(decided.rows):
            return
        others = [name for name in self.types if name not in {*deciding, *stretch.constants}]
        for part in file.parts(run, others, decided.rows):
            chosen = decided.within(part.start, part.stop)
            of_part = RowPart(
                part.start,
                part.stop,
                {name: column.slice(part.start, part.stop - part.start) for name, column in deciding.items()},
            )
            of_rows = numbers[part.start : part.stop]
            of_rows = of_rows if chosen.rows is None else of_rows[chosen.rows]
            columns = {
                **part.columns,
                **part_of_rows(of_part, decided.rows).columns,
                **{name: pa.repeat(value, len(of_rows)) for name, value in stretch.constants.items()},
                FILE_PATH: pa.repeat(stretch.path, len(of_rows)),
                FILE_ROW: pa.array(of_rows),
                COHORT: pa.repeat(pa.scalar(cohort, pa.string()), len(of_rows)),
                **self._plan_columns(plan, chosen.words, len(of_rows)),
            }
            yield pa.RecordBatch.from_arrays([columns[name] for name in self.schema.names], self.schema.names)

    def _deciding(self, plan: RowPlan) -> Sequence[str]:
        drawn = self.identity if plan.is_drawn else ()
        placed = (*self.instant_columns, *self.cohort_columns) if plan.retention is not None else ()
        return tuple(dict.fromkeys([*drawn, *placed]))

    def _decided(self, deciding: Mapping[str, pa.Array], numbers: Ints, stretch: Stretch, plan: RowPlan) -> Admitted:
        hashes = self._hashes(deciding, numbers, stretch) if plan.is_drawn else None
        return admitted(plan, hashes, None if plan.retention is None else self._places(deciding, len(numbers)))

    def _places(self, deciding: Mapping[str, pa.Array], rows: int) -> RowPlaces:
        kernel = self.taking.kernel
        instants, are_known = kernel.instants(deciding, rows)
        cohorts = []
        for keys in kernel.cohort_keys:
            of_set, are_sure = keys.cohorts(deciding, rows)
            cohorts.append(of_set)
            are_known = are_known & are_sure
        return RowPlaces(instants, are_known, tuple(cohorts))

    def _hashes(self, deciding: Mapping[str, pa.Array], numbers: Ints, stretch: Stretch) -> Ints:
        """Of what identifies rows, as `row_hash` says it."""
        identity = [deciding[name] for name in self.identity]
        identity = identity or [pa.scalar(stretch.path), pa.array(numbers)]
        return hash_of_row([pa.scalar(self.salt), *identity], len(numbers))

    def _plan_columns(self, plan: RowPlan, words: Words | None, rows: int) -> dict[str, pa.Array]:
        """What rows are told, and what they pass."""
        plan_values: dict[str, Any] = {
            NOW: pa.scalar(plan.now, pa.int64()),
            SAMPLING_CODES: pa.scalar(plan.codes, pa.string()),
        }
        columns = {name: pa.repeat(value, rows) for name, value in plan_values.items()}
        if PASSES not in self.schema.names:
            return columns
        kind = self.schema.field(PASSES).type
        if words is None:
            return columns | {PASSES: pa.nulls(rows, kind)}
        arrays = [pa.array(word) for word in np.ascontiguousarray(words.T)]
        return columns | {PASSES: pa.StructArray.from_arrays(arrays, fields=list(kind))}


def stretches(firsts: pa.RecordBatch, span: int) -> Iterator[Stretch]:
    """Yield the spans that rows begin, neighboring ones together.

    Args:
        firsts: `FILE_PATH`, `FILE_ROW`, and `PARTITION_VALUES`: per column a struct of `is_told` and `value`.
        span: How long a span is.

    Example:
        >>> rows = [{FILE_PATH: "file:///a", FILE_ROW: 0}, {FILE_PATH: "file:///a", FILE_ROW: 65_536}]
        >>> told = pa.array([{"day": {"is_told": True, "value": 3}}] * 2)
        >>> firsts = pa.RecordBatch.from_pylist(rows).append_column(PARTITION_VALUES, told)
        >>> list(stretches(firsts, 65_536))
        [Stretch(path='file:///a', start=0, stop=131072, constants={'day': <pyarrow.Int64Scalar: 3>})]
    """
    waiting: Stretch | None = None
    paths, numbers = firsts.column(FILE_PATH).to_pylist(), firsts.column(FILE_ROW).to_pylist()
    for index, (path, number) in enumerate(zip(paths, numbers, strict=True)):
        if waiting is not None and (waiting.path, waiting.stop) == (path, number):
            waiting = Stretch(path, waiting.start, number + span, waiting.constants)
            continue
        if waiting is not None:
            yield waiting
        waiting = Stretch(path, number, number + span, _constants(firsts.column(PARTITION_VALUES), index))
    if waiting is not None:
        yield waiting


def _constants(partition_values: pa.StructArray, index: int) -> dict[str, pa.Scalar]:
    of_row = {field.name: partition_values.field(field.name) for field in partition_values.type}
    return {name: one.field("value")[index] for name, one in of_row.items() if one.field("is_told")[index].as_py()}


def local_path(uri: str) -> str:
    """Return the path of a file on this machine.

    >>> local_path("file:///in/100%25.parquet")
    '/in/100%.parquet'
    """
    return urllib.parse.unquote(uri.removeprefix("file://"))


def _columns(file: RowFile[AnySpan], run: AnySpan, names: Sequence[str], stretch: Stretch) -> dict[str, pa.Array]:
    """Some columns of a run, whole."""
    read = [name for name in names if name not in stretch.constants]
    parts = list(file.parts(run, read)) if read else []
    columns = {name: _joined([part.columns[name] for part in parts]) for name in read}
    constants = {name: pa.repeat(stretch.constants[name], len(run.numbers)) for name in names if name not in read}
    return columns | constants


def _joined(parts: Sequence[pa.Array]) -> pa.Array:
    return parts[0] if len(parts) == 1 else pa.concat_arrays([plain(part) for part in parts])
