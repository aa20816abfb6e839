"""Rows that a task reads itself: Spark's source finds the files, and tells the task which spans of them are its own.

Each row of a file is in one of its spans. Of what is in a file Spark reads nothing.
"""

from __future__ import annotations

import urllib.parse
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pyarrow as pa
from pyspark.accumulators import Accumulator

from streamshed.columnar.csv_rows import CsvFiles, CsvRows
from streamshed.columnar.file_rows import FileRows
from streamshed.columnar.row_file import AnySpan, FileBlock, FileStretches, RowFile, RowPart, RowReader, part_of_rows
from streamshed.columnar.spark_hash import block_draws, hash_of_row
from streamshed.columnar.text_rows import TextRows
from streamshed.columnar.texts.dictionaries import concatenated
from streamshed.errors import SourceMismatchError
from streamshed.joins.model.arrays import Ints
from streamshed.planning.place.block_cut import UNREAD, BlockCut
from streamshed.spark.columns.row_admission import Admitted, RowPlaces, RowPlan, Words, admitted
from streamshed.spark.columns.sampled_blocks import SampledBlocks
from streamshed.spark.columns.taking import Taking
from streamshed.spark.columns.task_clock import TaskClock
from streamshed.spark.common.internal_names import (
    BLOCK,
    COHORT,
    FILE_PATH,
    FILE_ROW,
    FOLDERS,
    NOW,
    PARTITION_VALUES,
    PASSES,
    SAMPLING_CODES,
    SPAN_START,
    SPAN_STOP,
    SUMS,
)
from streamshed.spark.plan.plan_client import PlanClient
from streamshed.statistics.task_report import TaskReport, TaskReports

MOST_BLOCKS = 64
"""So many blocks are read at once, at most."""


@dataclass(frozen=True)
class Stretch:
    """A span of a file: the lines or row groups that begin with some of its bytes.

    Attributes:
        path: Of the file, a URI as Spark writes it.
        start: The number of the first byte.
        stop: The number behind the last one.
        constants: The columns whose value is in the name of a folder, with it.
    """

    path: str
    start: int
    stop: int
    constants: Mapping[str, pa.Scalar]


@dataclass(frozen=True)
class Seen:
    """What a task has come to.

    Attributes:
        counts: How many rows it has read, part by part.
        blocks: Those that it looks at.
    """

    counts: list[int] = field(default_factory=list)
    blocks: SampledBlocks = field(default_factory=SampledBlocks)


@dataclass(frozen=True, eq=False)
class BlockCohorts:
    """The cohorts of the blocks of a file that are read.

    Attributes:
        firsts: The number of the first row of each block, in order.
        cohorts: Of each.
    """

    firsts: Ints
    cohorts: Ints

    def of_rows(self, rows: Ints) -> Ints:
        """Return per row the cohort of its block.

        Args:
            rows: The numbers of the rows, each in one of the blocks.

        Example:
            >>> blocks = BlockCohorts(np.array([0, 40, 60]), np.array([3, 7, 3]))
            >>> blocks.of_rows(np.array([0, 9, 41, 60])).tolist()
            [3, 3, 7, 3]
        """
        return self.cohorts[np.searchsorted(self.firsts, rows, side="right") - 1]


@dataclass(frozen=True, kw_only=True)
class SpanRows:
    """Reads the rows of spans, and takes them by columns.

    Attributes:
        taking: Takes them.
        is_text: Whether the rows are lines of text files, or records, which are counted as they are read; if not,
            those of Parquet files.
        csv: What is in text files beside rows; None: nothing.
        schema: Of the rows, as `taking` expects them.
        types: Of the columns that the source delivers, by name.
        instant_columns: Those of them that tell when a row is.
        cohort_columns: Those that tell to which groups it belongs whose windows may be dropped by group.
        identity: Those that identify a row; empty: its file and number do.
        salt: Of its hash.
        whole_words: What a row passes while nothing is shed, where windows may be dropped.
        client: Asked which blocks are read; None: all are.
        reports: Told what the task has seen of the stream; None: nobody asks.
    """

    taking: Taking
    is_text: bool = False
    csv: CsvFiles | None = None
    schema: pa.Schema
    types: Mapping[str, pa.DataType]
    instant_columns: tuple[str, ...] = ()
    cohort_columns: tuple[str, ...] = ()
    identity: tuple[str, ...] = ()
    salt: str
    whole_words: tuple[int, ...] = ()
    client: PlanClient | None = None
    reports: Accumulator[TaskReports] | None = None

    def rows(self, record_batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        """Yield what Spark has to go on with; see `Taking.rows`. Nobody else has counted the rows.

        Args:
            record_batches: Spans: `FILE_PATH`, `SPAN_START`, `SPAN_STOP`, `PARTITION_VALUES`, and what all rows are
                told in the micro-batch.
        """
        seen, reading, all_of_it = Seen(), TaskClock(), TaskClock()
        admitted_rows = reading.timed(self._admitted(record_batches, seen))
        left_rows = 0
        for rows in all_of_it.timed(self.taking.rows(admitted_rows, seen.blocks)):
            left_rows += rows.num_rows if _stand_for_themselves(rows) else 0
            yield rows
        if seen.counts:
            yield self.taking.read_rows(sum(seen.counts))
        if self.reports is not None:
            report = TaskReport(seen.blocks.spread, reading.seconds, all_of_it.seconds - reading.seconds, left_rows)
            self.reports.add({self.salt: report})

    def _admitted(self, record_batches: Iterable[pa.RecordBatch], seen: Seen) -> Iterator[pa.RecordBatch]:
        plan: RowPlan | None = None
        for spans in record_batches:
            if not spans.num_rows:
                continue
            if plan is None:
                plan_values = {
                    name: spans.column(name)[0].as_py() for name in spans.schema.names if name != PARTITION_VALUES
                }
                cut = None if self.client is None else self.client.current().streams[self.salt].blocks
                plan = RowPlan.of(plan_values, self.whole_words, cut)
            for stretch in self._stretches(spans):
                yield from self._of_stretch(stretch, plan, seen)

    def _stretches(self, spans: pa.RecordBatch) -> Iterator[Stretch]:
        return stretches(spans)

    def _of_stretch(self, stretch: Stretch, plan: RowPlan, seen: Seen) -> Iterator[pa.RecordBatch]:
        file = self._file(stretch)
        within = file.rows_between(stretch.start, stretch.stop)
        if not self.is_text:
            seen.counts.append(len(within))
        for rows, cohorts in self._read(file, local_path(stretch.path), within, plan, seen.blocks):
            for run in rows.runs():
                if self.is_text:
                    seen.counts.append(len(run.numbers))
                yield from self._of_run(rows, run, stretch, plan, seen.blocks, cohorts)

    def _file(self, stretch: Stretch) -> RowFile[Any]:
        types = {name: kind for name, kind in self.types.items() if name not in stretch.constants}
        path = local_path(stretch.path)
        if self.csv is None:
            return TextRows.of(path, types) if self.is_text else FileRows.of(path, types)
        folders = stretch.constants[FOLDERS].as_py()
        if folders is not None and "=" in folders:
            raise SourceMismatchError(f'lines of CSV below a folder that tells a column: "{folders}"')
        [column] = types
        return CsvRows(path, column, self.csv)

    def _read(
        self, file: RowFile[Any], path: str, within: range, plan: RowPlan, sampled: SampledBlocks
    ) -> Iterator[tuple[RowReader[Any], BlockCohorts | None]]:
        """What reads rows, and the cohorts of their blocks if not all of these are read."""
        # Where windows are dropped, rows are kept by their times, at rates of their own.
        looks = BLOCK in self.schema.names and not sampled.is_done and plan.retention is None
        if plan.cut is None:
            if looks:
                sampled.begin(plan, file.blocks(within.start, within.stop))
            yield FileStretches(file, [within]), None
            return
        blocks = file.blocks(within.start, within.stop)
        cohorts = cohorts_of_blocks(plan.cut, path, blocks)
        read = [block for block, cohort in zip(blocks, cohorts.tolist(), strict=True) if cohort != UNREAD]
        of_read = BlockCohorts(np.array([block.start for block in read], np.int64), cohorts[cohorts != UNREAD])
        if looks:
            sampled.begin(plan, read)
        for first in range(0, len(read), MOST_BLOCKS):
            yield file.only(read[first : first + MOST_BLOCKS]), of_read

    def _of_run(
        self,
        file: RowReader[AnySpan],
        run: AnySpan,
        stretch: Stretch,
        plan: RowPlan,
        sampled: SampledBlocks,
        cohorts: BlockCohorts | None,
    ) -> Iterator[pa.RecordBatch]:
        """The rows of a run that are admitted. Where none is, the columns that do not decide it are not read."""
        numbers = run.numbers
        of_run, deciding = self._decided(file, run, stretch, plan)
        if of_run.rows is not None and not len(of_run.rows):
            return
        others = [name for name in self.types if name not in {*deciding, *stretch.constants}]
        for part in file.parts(run, others, of_run.rows):
            among, chosen = of_run.among(part.start, part.stop), of_run.within(part.start, part.stop)
            of_rows = numbers[part.start : part.stop]
            of_rows = of_rows if chosen.rows is None else of_rows[chosen.rows]
            columns = {
                **part.columns,
                **{name: column[among] for name, column in deciding.items()},
                **{name: pa.repeat(value, len(of_rows)) for name, value in stretch.constants.items()},
                FILE_PATH: pa.repeat(stretch.path, len(of_rows)),
                FILE_ROW: pa.array(of_rows),
                COHORT: pa.nulls(len(of_rows), pa.int64()) if cohorts is None else pa.array(cohorts.of_rows(of_rows)),
                BLOCK: sampled.numbers(of_rows),
                **self._plan_columns(plan, chosen.words, len(of_rows)),
            }
            yield pa.RecordBatch.from_arrays([columns[name] for name in self.schema.names], self.schema.names)

    def _decided(
        self, file: RowReader[AnySpan], run: AnySpan, stretch: Stretch, plan: RowPlan
    ) -> tuple[Admitted, Mapping[str, pa.Array]]:
        """What becomes of the rows of a run; and of those that are admitted, the columns that decide it."""
        names = self._deciding(plan)
        read = [name for name in names if name not in stretch.constants]
        numbers, decided, columns = run.numbers, [], []
        for part in file.parts(run, read):
            of_part = numbers[part.start : part.stop]
            constants = {name: pa.repeat(stretch.constants[name], len(of_part)) for name in names if name not in read}
            deciding = {**part.columns, **constants}
            hashes = self._hashes(deciding, of_part, stretch, plan) if plan.is_drawn else None
            places = None if plan.retention is None else self._places(deciding, len(of_part))
            of_rows = admitted(plan, hashes, places)
            decided.append((part.start, of_rows))
            columns.append(part_of_rows(RowPart(0, len(of_part), part.columns), of_rows.rows).columns)
        return Admitted.joined(decided), {name: concatenated([of_part[name] for of_part in columns]) for name in read}

    def _deciding(self, plan: RowPlan) -> Sequence[str]:
        drawn = self.identity if plan.is_drawn and plan.cut is None else ()
        placed = (*self.instant_columns, *self.cohort_columns) if plan.retention is not None else ()
        return tuple(dict.fromkeys([*drawn, *placed]))

    def _places(self, deciding: Mapping[str, pa.Array], rows: int) -> RowPlaces:
        kernel = self.taking.kernel
        instants, are_known = kernel.instants(deciding, rows)
        cohorts = []
        for keys in kernel.cohort_keys:
            of_set, are_sure = keys.cohorts(deciding, rows)
            cohorts.append(of_set)
            are_known = are_known & are_sure
        return RowPlaces(instants, are_known, tuple(cohorts))

    def _hashes(self, deciding: Mapping[str, pa.Array], numbers: Ints, stretch: Stretch, plan: RowPlan) -> Ints:
        """Of what identifies rows, as `row_hash` says it. Of blocks the file and the number are enough."""
        identity = [deciding[name] for name in self.identity] if plan.cut is None else []
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


def cohorts_of_blocks(cut: BlockCut, path: str, blocks: Sequence[FileBlock]) -> Ints:
    """Return the cohort of each block of a file, or `UNREAD`.

    Args:
        cut: Which are read.
        path: Of the file, as the plan has it.
        blocks: Some of its blocks.

    Raises:
        IncompatibleCheckpointError: See `BlockCut.bundles`.
        SourceUnavailableError: Likewise.
    """
    return cut.cohorts(block_draws(cut.first_draw, cut.bundles(path, [block.number for block in blocks])))


def stretches(spans: pa.RecordBatch) -> Iterator[Stretch]:
    """Yield where the rows are that a task reads.

    Args:
        spans: `FILE_PATH`, `SPAN_START`, `SPAN_STOP`, and `PARTITION_VALUES`: per column a struct of `is_told` and
            `value`.

    Example:
        >>> rows = [{FILE_PATH: "file:///a", SPAN_START: 0, SPAN_STOP: 9}]
        >>> told = pa.array([{"day": {"is_told": True, "value": 3}}])
        >>> list(stretches(pa.RecordBatch.from_pylist(rows).append_column(PARTITION_VALUES, told)))
        [Stretch(path='file:///a', start=0, stop=9, constants={'day': <pyarrow.Int64Scalar: 3>})]
    """
    ends = (spans.column(name).to_pylist() for name in (FILE_PATH, SPAN_START, SPAN_STOP))
    for index, (path, start, stop) in enumerate(zip(*ends, strict=True)):
        yield Stretch(path, start, stop, _constants(spans.column(PARTITION_VALUES), index))


def _constants(partition_values: pa.StructArray, index: int) -> dict[str, pa.Scalar]:
    of_row = {field.name: partition_values.field(field.name) for field in partition_values.type}
    return {name: one.field("value")[index] for name, one in of_row.items() if one.field("is_told")[index].as_py()}


def _stand_for_themselves(rows: pa.RecordBatch) -> bool:
    return SUMS not in rows.schema.names or rows.column(SUMS).null_count > 0


def local_path(uri: str) -> str:
    """Return the path of a file on this machine.

    >>> local_path("file:///in/100%25.parquet")
    '/in/100%.parquet'
    """
    return urllib.parse.unquote(uri.removeprefix("file://"))
