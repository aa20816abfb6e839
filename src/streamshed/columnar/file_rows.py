"""Rows of Parquet files in columns, with the values that Spark reads.

What is taken is decided for a file as a whole, by the types in its footer. A type that Spark would read in a way of its
own is refused, as Spark itself refuses most: nothing is read that might be another value there.
"""

from __future__ import annotations

import bisect
import itertools
import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import accumulate
from pathlib import Path
from typing import Any, Self

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from streamshed.columnar.row_file import FileBlock, FileStretches, RowPart, RowReader, part_of_rows, rows_within
from streamshed.columnar.scattered_rows import scattered_rows
from streamshed.errors import SourceMismatchError
from streamshed.joins.model.arrays import Ints

MOST_ROWS = 1 << 17
"""So many rows are read at once."""
BLOCK_ROWS = 1 << 13
"""So many rows of a row group are a block: those of about a page of a column of texts."""
MOST_SCATTERED = 1 / 4
"""Of row groups of which a larger share is asked for, Arrow unpacks all, in half the time of DuckDB or as much."""
_LENGTH_BYTES = 4
"""Of each text that a file has as such."""
_YEAR_1900 = pa.scalar(-2_208_988_800_000_000, pa.timestamp("us"))
"""From here on the calendar of Spark 2 is that of today, in all time zones."""


@dataclass(frozen=True)
class RowRun:
    """Rows of a file that lie in neighboring row groups.

    Attributes:
        row_groups: Which.
        offset: The number of the first row in these.
        start: The number of the first row of the run.
        stop: The number behind its last row.
    """

    row_groups: range
    offset: int
    start: int
    stop: int

    @property
    def numbers(self) -> Ints:
        """The numbers of its rows."""
        return np.arange(self.start, self.stop)


class FileRows:
    """A Parquet file whose rows are read in the types that a stream declares; made by `FileRows.of`."""

    def __init__(
        self, path: str, file: pq.ParquetFile, columns: Mapping[str, str], types: Mapping[str, pa.DataType]
    ) -> None:
        self._path, self._file, self._columns, self._types = path, file, columns, types
        self._is_legacy = _is_legacy(file.metadata.metadata or {})
        sizes = (file.metadata.row_group(group).num_rows for group in range(file.metadata.num_row_groups))
        self._firsts = list(accumulate(sizes, initial=0))

    @classmethod
    def of(cls, path: str, types: Mapping[str, pa.DataType]) -> Self:
        """Open a file.

        Args:
            path: On this machine.
            types: By name, those of `column_types.TYPES` as which columns are read. Spark takes upper and lower case
                of names for the same; a column that the file does not have is null.

        Raises:
            SourceMismatchError: A column has a type that is not surely read as Spark reads it.
            OSError: The file cannot be read.

        Example:
            >>> import tempfile
            >>> path = tempfile.mkdtemp() + "/rows.parquet"
            >>> pq.write_table(pa.table({"Size": pa.array([40, 52, 60], pa.int32())}), path)
            >>> file = FileRows.of(path, {"size": pa.int64(), "host": pa.string()})
            >>> [run] = file.runs(1, 65_536)
            >>> [part] = file.parts(run, ["size", "host"])
            >>> run.numbers.tolist(), {name: column.to_pylist() for name, column in part.columns.items()}
            ([1, 2], {'size': [52, 60], 'host': [None, None]})
        """
        metadata = pq.read_metadata(path)
        encoded = _encoded(metadata, [name for name, kind in types.items() if kind in (pa.string(), pa.binary())])
        file = pq.ParquetFile(
            path, metadata=metadata, read_dictionary=encoded or None, coerce_int96_timestamp_unit="us"
        )
        columns = {}
        for name, declared in types.items():
            there = [index for index, column in enumerate(file.schema_arrow.names) if column.lower() == name.lower()]
            if len(there) > 1:
                raise SourceMismatchError(f'"{path}" has several columns "{name}"')
            if not there:
                continue
            kind = _type_in_file(file, there[0])
            if not _is_read_alike(kind, declared):
                raise SourceMismatchError(f'"{path}": its column "{name}" is {kind}, where the stream has {declared}')
            columns[name] = file.schema_arrow.names[there[0]]
        return cls(path, file, columns, types)

    def rows_between(self, start: int, stop: int) -> range:
        """Return the numbers of the rows in the row groups that begin with one of some bytes, if all rows are as long.

        Args:
            start: The number of the first byte.
            stop: The number behind the last one.

        Example:
            >>> import tempfile
            >>> path = tempfile.mkdtemp() + "/rows.parquet"
            >>> pq.write_table(pa.table({"size": pa.array(range(100))}), path, row_group_size=30)
            >>> file = FileRows.of(path, {"size": pa.int64()})
            >>> file.rows_between(0, 5), file.rows_between(5, 1 << 20)
            (range(0, 30), range(30, 100))
        """
        size, rows = Path(self._path).stat().st_size, self._firsts[-1]
        places = [number * size // rows for number in self._firsts[:-1]]
        first, behind = (bisect.bisect_left(places, byte) for byte in (start, stop))
        return range(self._firsts[first], self._firsts[behind])

    def blocks(self, start: int, stop: int) -> Sequence[FileBlock]:
        """Return the blocks in which some rows lie, see `block_rows`."""
        blocks = enumerate(itertools.pairwise(accumulate(block_rows(np.diff(self._firsts).tolist()), initial=0)))
        return [
            FileBlock(number, max(first, start), min(behind, stop))
            for number, (first, behind) in blocks
            if max(first, start) < min(behind, stop)
        ]

    def only(self, blocks: Sequence[FileBlock]) -> RowReader[Any]:
        """Return what reads rows of these blocks alone.

        Of row groups that have many others, these are not unpacked, if all types are read alike that way.
        """
        whole = set(itertools.pairwise(self._firsts))
        if not self._columns or all((block.start, block.stop) in whole for block in blocks):
            return FileStretches(self, [block.rows for block in blocks])
        rows, rows_there = None, sum(self._firsts[group + 1] - self._firsts[group] for group in self._groups(blocks))
        if sum(block.stop - block.start for block in blocks) <= MOST_SCATTERED * rows_there:
            kinds = {name: self._file.schema_arrow.field(name).type for name in self._columns.values()}
            rows = scattered_rows(self._path, kinds, [block.rows for block in blocks])
        return ScatteredRows(self, self._unpacked(blocks) if rows is None else rows, blocks)

    def _groups(self, blocks: Sequence[FileBlock]) -> dict[int, list[FileBlock]]:
        """Blocks by the number of their row group; each lies in one."""
        groups: dict[int, list[FileBlock]] = {}
        for block in blocks:
            groups.setdefault(bisect.bisect_right(self._firsts, block.start) - 1, []).append(block)
        return groups

    def _unpacked(self, blocks: Sequence[FileBlock]) -> pa.RecordBatch:
        """The rows of blocks; each row group that has some is unpacked once."""
        tables = []
        for group, of_group in self._groups(blocks).items():
            first = self._firsts[group]
            rows = self._file.read_row_group(group, list(self._columns.values()), use_threads=False)
            parts = [rows.slice(block.start - first, block.stop - block.start) for block in of_group]
            tables.append(pa.concat_tables(parts).combine_chunks())
        together = pa.concat_tables(tables).unify_dictionaries().combine_chunks()
        return together.to_batches(max_chunksize=together.num_rows)[0]

    def runs(self, start: int, stop: int) -> Iterator[RowRun]:
        """Yield the runs in which some rows lie; where row groups are small, several are in one run.

        Args:
            start: The number of the first row.
            stop: The number behind the last row; the file may end before.
        """
        groups = [
            group
            for group, first in enumerate(self._firsts[:-1])
            if max(first, start) < min(self._firsts[group + 1], stop)
        ]
        while groups:
            offset = self._firsts[groups[0]]
            count = next(
                (index + 1 for index, group in enumerate(groups) if self._firsts[group + 1] - offset >= MOST_ROWS),
                len(groups),
            )
            row_groups, groups = range(groups[0], groups[count - 1] + 1), groups[count:]
            yield RowRun(row_groups, offset, max(offset, start), min(self._firsts[row_groups.stop], stop))

    def parts(self, run: RowRun, names: Sequence[str], rows: Ints | None = None) -> Iterator[RowPart]:
        """Yield rows of a run in parts of at most `MOST_ROWS`, in order.

        Args:
            run: Of this file.
            names: The columns to read.
            rows: Which rows, counted within the run, in order; None: all.

        Raises:
            SourceMismatchError: A time is one of a calendar that was in use before 1900, or no time of Spark's.
        """
        there = {name: self._columns[name] for name in names if name in self._columns}
        if not there:
            for start in range(0, run.stop - run.start, MOST_ROWS):
                stop = min(start + MOST_ROWS, run.stop - run.start)
                count = stop - start if rows is None else len(rows_within(rows, start, stop))
                yield RowPart(start, stop, {name: pa.nulls(count, self._types[name]) for name in names})
            return
        first = run.offset
        for read in self._file.iter_batches(
            MOST_ROWS, row_groups=list(run.row_groups), columns=list(there.values()), use_threads=False
        ):
            start, stop = max(first, run.start), min(first + read.num_rows, run.stop)
            if start < stop:
                there_too = read.slice(start - first, stop - start)
                columns = {name: self.column(name, there_too) for name in names}
                yield part_of_rows(RowPart(start - run.start, stop - run.start, columns), rows)
            first += read.num_rows

    def column(self, name: str, rows: pa.RecordBatch) -> pa.Array:
        """Return a column in its declared type.

        Args:
            name: As the stream spells it.
            rows: Of the file, as Arrow or another reads them.

        Raises:
            SourceMismatchError: A time is one of a calendar that was in use before 1900, or no time of Spark's.
        """
        declared = self._types[name]
        if name not in self._columns:
            return pa.nulls(rows.num_rows, declared)
        column = rows.column(self._columns[name])
        if self._is_legacy and pa.types.is_temporal(declared):
            earliest = pc.min(column.cast(pa.timestamp("us")))
            if earliest.is_valid and earliest.as_py() < _YEAR_1900.as_py():
                raise SourceMismatchError(
                    f'"{self._path}": its column "{name}" has times before 1900 in the calendar of Spark 2'
                )
        is_encoded = pa.types.is_dictionary(column.type) and column.type.value_type == declared
        if column.type == declared or is_encoded:
            return column
        try:
            return _cast(column, declared)
        except pa.ArrowInvalid as error:
            raise SourceMismatchError(f'"{self._path}": its column "{name}" cannot be read: {error}') from error


@dataclass(frozen=True, eq=False)
class ScatteredRun:
    """Rows of blocks that are read together, wherever in the file these are.

    Attributes:
        numbers: The number of each row, in order.
        first: The place of the first one among all that are read.
    """

    numbers: Ints
    first: int


class ScatteredRows:
    """Rows of some blocks of a Parquet file, all read already; made by `FileRows.only`.

    Args:
        file: The file.
        rows: Of the blocks, in order, with the columns that the file has.
        blocks: Which.
    """

    def __init__(self, file: FileRows, rows: pa.RecordBatch, blocks: Sequence[FileBlock]) -> None:
        self._file, self._rows = file, rows
        self._numbers = np.concatenate([np.arange(block.start, block.stop) for block in blocks])

    def runs(self) -> Iterator[ScatteredRun]:
        """Yield the rows, `MOST_ROWS` at a time."""
        for first in range(0, len(self._numbers), MOST_ROWS):
            yield ScatteredRun(self._numbers[first : first + MOST_ROWS], first)

    def parts(self, run: ScatteredRun, names: Sequence[str], rows: Ints | None = None) -> Iterator[RowPart]:
        """Yield the rows of a run, in one part; see `FileRows.parts`."""
        count = len(run.numbers)
        of_run = self._rows.slice(run.first, count)
        yield part_of_rows(RowPart(0, count, {name: self._file.column(name, of_run) for name in names}), rows)


def block_rows(row_groups: Sequence[int]) -> tuple[int, ...]:
    """Return how many rows the blocks of a file have, in order: `BLOCK_ROWS`, or what is left of a row group.

    Args:
        row_groups: How many rows its row groups have.

    Example:
        >>> block_rows([20_000, 60])
        (8192, 8192, 3616, 60)
    """
    return tuple(min(BLOCK_ROWS, rows - start) for rows in row_groups for start in range(0, rows, BLOCK_ROWS))


def _encoded(metadata: pq.FileMetaData, names: Iterable[str]) -> list[str]:
    """Columns of texts in whose place a file has numbers of entries, as the file spells them.

    A text that it has as such takes four bytes and more.
    """
    wanted = {name.lower() for name in names}
    sizes: dict[str, list[tuple[float, int]]] = {}
    for group in range(metadata.num_row_groups):
        row_group = metadata.row_group(group)
        for chunk in (row_group.column(index) for index in range(row_group.num_columns)):
            if chunk.path_in_schema.lower() in wanted:
                taken = chunk.total_uncompressed_size if chunk.has_dictionary_page else math.inf
                sizes.setdefault(chunk.path_in_schema, []).append((taken, chunk.num_values))
    return [
        name
        for name, chunks in sizes.items()
        if sum(size for size, _ in chunks) < _LENGTH_BYTES * sum(rows for _, rows in chunks)
    ]


def _cast(column: pa.Array, declared: pa.DataType) -> pa.Array:
    """The same values in another type. Bytes that are no UTF-8 remain in texts as they are, as they do in Spark."""
    if isinstance(column, pa.ExtensionArray):
        column = column.storage
    if pa.types.is_dictionary(column.type):
        column = column.dictionary_decode()
    if declared in (pa.string(), pa.binary()):
        return column.cast(pa.binary()).view(declared)
    return column.cast(declared)


_WIDER: Mapping[pa.DataType, frozenset[pa.DataType]] = {
    pa.int8(): frozenset({pa.int16(), pa.int32(), pa.int64(), pa.float64()}),
    pa.int16(): frozenset({pa.int32(), pa.int64(), pa.float64()}),
    pa.int32(): frozenset({pa.int64(), pa.float64()}),
    pa.uint8(): frozenset({pa.int16(), pa.int32(), pa.int64(), pa.float64()}),
    pa.uint16(): frozenset({pa.int32(), pa.int64(), pa.float64()}),
    pa.uint32(): frozenset({pa.int64()}),
    pa.float32(): frozenset({pa.float64()}),
    pa.date32(): frozenset({pa.timestamp("us")}),
    pa.string(): frozenset({pa.binary()}),
    pa.binary(): frozenset({pa.string()}),
}
"""By the type in a file, the other types as which it is read, here and by Spark, with the same values."""


_ARROWS_ALONE: Mapping[pa.DataType, pa.DataType] = {
    pa.large_string(): pa.string(),
    pa.string_view(): pa.string(),
    pa.large_binary(): pa.binary(),
    pa.binary_view(): pa.binary(),
    **{pa.duration(unit): pa.int64() for unit in ("s", "ms", "us", "ns")},
}
"""Types that Arrow notes beside those of Parquet, which Spark reads: by each, what it is there."""


def _is_read_alike(kind: pa.DataType, declared: pa.DataType) -> bool:
    kind = _ARROWS_ALONE.get(kind, kind)
    if isinstance(kind, pa.BaseExtensionType):
        return _is_read_alike(kind.storage_type, declared)
    if pa.types.is_dictionary(kind):
        return _is_read_alike(kind.value_type, declared)
    if pa.types.is_timestamp(kind):
        # Of nanoseconds Spark reads nothing; a time without zone it takes for one of UTC.
        return kind.unit != "ns" and pa.types.is_timestamp(declared) and (kind.tz is None or declared.tz is not None)
    return kind == declared or declared in _WIDER.get(kind, frozenset())


def _type_in_file(file: pq.ParquetFile, place: int) -> pa.DataType:
    """The type of a column; one of 96 bits is an instant, though the file does not say so."""
    column = file.schema_arrow.field(place)
    leaves = (file.schema.column(index) for index in range(len(file.schema)))
    is_instant = any(leaf.path == column.name and leaf.physical_type == "INT96" for leaf in leaves)
    return pa.timestamp("us", "UTC") if is_instant else column.type


def _is_legacy(metadata: Mapping[bytes, Any]) -> bool:
    """Whether a file may have old times in the calendar that was in use then, as Spark 2 wrote them."""
    version = metadata.get(b"org.apache.spark.version")
    is_marked = b"org.apache.spark.legacyDateTime" in metadata or b"org.apache.spark.legacyINT96" in metadata
    return version is not None and (is_marked or version.startswith((b"1.", b"2.", b"3.0.")))
