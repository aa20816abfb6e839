"""Answers in Parquet, moved from the folders of micro-batches to few files elsewhere: docs/decisions/0025.

No file is ever changed, and no two have the same answers: whoever reads the target sees each answer once.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from urllib.parse import unquote

import pyarrow as pa
from pyarrow import parquet

from streamshed.answering.table.answer_schema import arrow_schema
from streamshed.errors import SinkUnavailableError, SourceUnavailableError
from streamshed.spark.checkpoint.hold import FolderHold
from streamshed.spark.checkpoint.storage import Storage

_QUERY, _MICRO_BATCH = "query_id=", "micro_batch_id="
_NAME = re.compile(r"\d{12}-(\d{12})\.parquet")
_NO_VALUE = "__HIVE_DEFAULT_PARTITION__"
_SCHEMA = arrow_schema().append(pa.field("micro_batch_id", pa.int64()))
_SORTED_BY = [(name, "ascending") for name in ("query", "kind", "aggregate", "window_start", "window_from")]
"""Readers of one query, or of some windows, pass over most of a file."""

_ROW_GROUP = 100_000
_MOST_BYTES = 256 * 2**20
"""A file has no more in memory, unless one micro-batch has."""
_SMALL_TABLES = 256


@dataclass(frozen=True)
class Merged:
    """What was done.

    Attributes:
        micro_batches: Whose answers were merged.
        answers: How many rows these are.
        files: Into how many files.
        deleted: Folders of micro-batches that were deleted, as an earlier merge has their answers.
    """

    micro_batches: int = 0
    answers: int = 0
    files: int = 0
    deleted: int = 0

    def __add__(self, other: Merged) -> Merged:
        return Merged(*(mine + theirs for mine, theirs in zip(vars(self).values(), vars(other).values(), strict=True)))


def merge_answers(source: str, target: str, *, is_over: bool = False, most_bytes: int = _MOST_BYTES) -> Merged:
    """Move answers of finished micro-batches into few files; a run may go on meanwhile.

    The folders of micro-batches are left to the next call, which deletes them: somebody may be about to read them.
    Where a call is killed, the next one goes on.

    Args:
        source: Path or URI of a Parquet sink's folder.
        target: Path or URI of the folder of merged answers; made if need be.
        is_over: Whether nothing writes answers any more, so that the latest micro-batch has finished, too.
        most_bytes: How much a file may have, in memory.

    Raises:
        SourceUnavailableError: There are no answers, or they cannot be read.
        SinkUnavailableError: Merged answers cannot be written there, or another call writes there.
    """
    rows, into = _answers_at(source), Storage.at(target)
    if rows.is_within(into) or into.is_within(rows):
        raise SinkUnavailableError(
            f"merged answers {target}: are not to lie with the answers, {source}, or would be read as some of them;"
            " choose another folder"
        )
    with FolderHold(into, SinkUnavailableError(f"merged answers {target}: others are being merged there right now")):
        into.discard_drafts()
        queries = [name for name in rows.folders() if name.startswith(_QUERY)]
        merged = [
            _merged(rows.below(name), into.below(name), is_over=is_over, most_bytes=most_bytes) for name in queries
        ]
        return sum(merged, start=Merged())


def _answers_at(source: str) -> Storage:
    try:
        rows = Storage.reached(source)
        is_of_run = any(name.startswith(_QUERY) for name in rows.folders())
    except (OSError, pa.ArrowException) as error:
        raise SourceUnavailableError(f"answers {source}: cannot be read: {error}") from error
    if not is_of_run:
        raise SourceUnavailableError(
            f"answers {source}: there is no folder {_QUERY}... in it (has the network run with the sink"
            f" parquet:{source}?)"
        )
    return rows


def _merged(rows: Storage, into: Storage, *, is_over: bool, most_bytes: int) -> Merged:
    """Merge the answers of one query of Spark's."""
    into.discard_drafts()
    last = max((int(match[1]) for match in map(_NAME.fullmatch, into.names()) if match), default=-1)
    numbers = sorted(int(text) for name in rows.folders() if (text := name.removeprefix(_MICRO_BATCH)).isdecimal())
    gone = [number for number in numbers if number <= last]
    for number in gone:
        _delete(_folder(rows, number))
    ready = numbers[len(gone) :]
    merged = Merged(deleted=len(gone))
    for piece in _pieces(rows, ready if is_over else ready[:-1], most_bytes):
        merged += _written(piece, into)
    return merged


def _delete(folder: Storage) -> None:
    try:
        folder.delete_folder()
    except (OSError, pa.ArrowException) as error:
        raise SinkUnavailableError(f"answers {folder.root}: are merged, but cannot be deleted: {error}") from error


@dataclass
class _Piece:
    """What goes into one file."""

    numbers: list[int] = field(default_factory=list)
    size_bytes: int = 0
    _small: list[pa.Table] = field(default_factory=list)
    _large: list[pa.Table] = field(default_factory=list)

    def add(self, number: int, table: pa.Table) -> None:
        self.numbers.append(number)
        self.size_bytes += table.nbytes
        self._small.append(table)
        if len(self._small) == _SMALL_TABLES:
            # Buffers of a table of few rows take far more than these.
            self._large.append(pa.concat_tables(self._small).combine_chunks())
            self._small = []

    @property
    def answers(self) -> pa.Table:
        return pa.concat_tables([*self._large, *self._small])


def _pieces(rows: Storage, numbers: Sequence[int], most_bytes: int) -> Iterator[_Piece]:
    piece = _Piece()
    for number in numbers:
        table = _rows_of(_folder(rows, number), number)
        if piece.numbers and piece.size_bytes + table.nbytes > most_bytes:
            yield piece
            piece = _Piece()
        piece.add(number, table)
    if piece.numbers:
        yield piece


def _written(piece: _Piece, into: Storage) -> Merged:
    answers, numbers = piece.answers, piece.numbers
    if answers.num_rows:
        sink = pa.BufferOutputStream()
        parquet.write_table(answers.sort_by(_SORTED_BY), sink, row_group_size=_ROW_GROUP)
        into.write_bytes(f"{numbers[0]:012d}-{numbers[-1]:012d}.parquet", sink.getvalue().to_pybytes())
    return Merged(len(numbers), answers.num_rows, files=int(answers.num_rows > 0))


def _folder(rows: Storage, micro_batch_id: int) -> Storage:
    return rows.below(f"{_MICRO_BATCH}{micro_batch_id}")


def _rows_of(folder: Storage, micro_batch_id: int) -> pa.Table:
    """The answers of a micro-batch, in the columns of merged ones."""
    tables = [_SCHEMA.empty_table()]
    for name in sorted(folder.sizes()):
        *partitions, file = name.split("/")
        if file.endswith(".parquet") and not file.startswith((".", "_")):
            tables.append(_read(folder, name, partitions, micro_batch_id))
    return pa.concat_tables(tables)


def _read(folder: Storage, name: str, partitions: Sequence[str], micro_batch_id: int) -> pa.Table:
    try:
        with folder.file_system.open_input_file(f"{folder.root}/{name}") as file:
            # Spark may write instants as INT96, which PyArrow takes for nanoseconds: these end in the year 2262.
            table = parquet.ParquetFile(file, coerce_int96_timestamp_unit="us").read(use_threads=False)
        for column, value in (*map(_partition, partitions), ("micro_batch_id", pa.scalar(micro_batch_id))):
            table = table.append_column(column, pa.repeat(value, table.num_rows))
        return table.select(_SCHEMA.names).cast(_SCHEMA)
    except (OSError, pa.ArrowException, KeyError) as error:
        raise SourceUnavailableError(f"answers {folder.root}/{name}: cannot be read: {error}") from error


def _partition(folder: str) -> tuple[str, pa.Scalar]:
    """Name and value of a column that a folder is named by; instants are in UTC."""
    column, _, text = folder.partition("=")
    value = pa.scalar(None if text == _NO_VALUE else unquote(text), pa.string())
    return column, value.cast(pa.timestamp("us")) if pa.types.is_timestamp(_SCHEMA.field(column).type) else value
