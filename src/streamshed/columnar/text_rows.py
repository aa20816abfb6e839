"""Lines of text files as Spark's text reader cuts them, of which only those are copied that are asked for."""

from __future__ import annotations

import bz2
import gzip
import zlib
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from io import BufferedIOBase, BytesIO, RawIOBase
from pathlib import Path
from typing import Self

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from streamshed.columnar.row_file import FileBlock, FileStretches, RowPart
from streamshed.errors import SourceMismatchError
from streamshed.joins.model.arrays import Ints

CHUNK_BYTES = 1 << 24
"""So much of a file is looked at at once, at most."""
BEYOND_BYTES = 1 << 14
"""So much behind a stretch is looked at with it: there its last line ends, as a rule."""
BLOCK_BYTES = 1 << 16
"""So much of a file is a block: the lines that begin in it."""
MOST_BYTES = 1 << 30
"""A line has no more."""
_NEWLINE, _RETURN = ord("\n"), ord("\r")
_BYTE_ORDER_MARK = b"\xef\xbb\xbf"


@dataclass(frozen=True, eq=False)
class LineRun:
    """Neighboring lines of a file.

    Attributes:
        numbers: The place of the first byte of each in the file, which is its number.
        starts: The same in `letters`.
        stops: Where each ends there, without what parts it from the next.
        letters: Bytes of the file.
    """

    numbers: Ints
    starts: Ints
    stops: Ints
    letters: bytearray

    def texts(self, rows: Ints | None) -> pa.Array:
        """Return lines as strings, whose bytes may be anything; None: all."""
        starts, stops = (self.starts, self.stops) if rows is None else (self.starts[rows], self.stops[rows])
        # Of twice as many strings each second is what lies between.
        offsets = np.zeros(2 * len(starts) + 1, np.int32)
        offsets[:-1:2], offsets[1::2], offsets[-1] = starts, stops, stops[-1] if len(stops) else 0
        buffers = [None, pa.py_buffer(offsets), pa.py_buffer(self.letters)]
        with_between = pa.Array.from_buffers(pa.string(), 2 * len(starts), buffers)
        return with_between.take(pa.array(np.arange(0, 2 * len(starts), 2)))


class TextRows:
    """A text file whose lines are rows of one column; made by `TextRows.of`.

    A line ends with a newline, a carriage return, or both, and the last one with the file. What a file begins with to
    say that it is UTF-8 is no part of its first line. A file is unpacked whose name ends as Hadoop names packed files;
    of such a file all lines belong to the stretch that begins with it.
    """

    def __init__(self, path: str, column: str) -> None:
        self.path, self._column = path, column
        self._unpacked = next((unpack for ending, unpack in _UNPACKED.items() if path.endswith(ending)), None)
        if self._unpacked is None and path.endswith(PACKED):
            raise SourceMismatchError(
                f'"{path}" is packed in a way that is not read here: pack it with gzip or bzip2, or give the folder the'
                ' option lineSep="\\n", then Spark reads its files'
            )

    @property
    def is_packed(self) -> bool:
        """Whether all its lines belong to the stretch that begins with it."""
        return self._unpacked is not None

    @classmethod
    def of(cls, path: str, types: Mapping[str, pa.DataType]) -> Self:
        r"""Name a file.

        Args:
            path: On this machine.
            types: The one column, a string.

        Raises:
            SourceMismatchError: It is packed, but neither by gzip, bzip2 nor zlib.

        Example:
            >>> import tempfile
            >>> path = tempfile.mkdtemp() + "/rows.json"
            >>> _ = Path(path).write_text("ab\ncd\n\nef")
            >>> file = TextRows.of(path, {"value": pa.string()})
            >>> for run in file.runs(1, 100):
            ...     for part in file.parts(run, ["value"]):
            ...         print(run.numbers.tolist(), part.columns["value"].to_pylist())
            [3, 6, 7] ['cd', '', 'ef']
        """
        [column] = types
        return cls(path, column)

    def rows_between(self, start: int, stop: int) -> range:
        """Return the same numbers: a line's is the place of its first byte."""
        return range(start, stop)

    def blocks(self, start: int, stop: int) -> Sequence[FileBlock]:
        """Return the blocks of a stretch; a file that is packed is one."""
        if self._unpacked is not None:
            return [FileBlock(0, 0, stop)] if start == 0 else []
        end = min(stop, Path(self.path).stat().st_size)
        firsts = range(start - start % BLOCK_BYTES, end, BLOCK_BYTES)
        return [FileBlock(first // BLOCK_BYTES, max(first, start), min(first + BLOCK_BYTES, stop)) for first in firsts]

    def only(self, blocks: Sequence[FileBlock]) -> FileStretches[LineRun]:
        """Return what reads these blocks: of a stretch nothing else is read."""
        return FileStretches(self, [block.rows for block in blocks])

    def runs(self, start: int, stop: int) -> Iterator[LineRun]:
        """Yield the lines that begin in a stretch of the file.

        Args:
            start: The place of its first byte.
            stop: The place behind its last; the file may end before.

        Raises:
            OSError: The file cannot be read.
            SourceMismatchError: A line has more than a gibibyte.
        """
        try:
            with Path(self.path).open("rb", buffering=0) as file:
                if self._unpacked is None:
                    file.seek(max(start - 1, 0))
                    yield from _runs(file, start, stop)
                elif start == 0:
                    with self._unpacked(file) as unpacked:
                        yield from _runs(unpacked, 0, None)
        except OverflowError as error:
            raise SourceMismatchError(f'"{self.path}": {error}') from error

    def parts(self, run: LineRun, names: Sequence[str], rows: Ints | None = None) -> Iterator[RowPart]:
        """Yield the lines of a run, in one part.

        Args:
            run: Of this file.
            names: The one column, or none.
            rows: Which lines, counted within the run, in order; None: all.
        """
        columns = {self._column: run.texts(rows)} if names else {}
        yield RowPart(0, len(run.numbers), columns)


def _runs(file: RawIOBase | BufferedIOBase, start: int, stop: int | None) -> Iterator[LineRun]:
    """The lines of a file that begin from `start` on, and before `stop`; it stands one byte before `start`, or at 0."""
    base, carried, is_behind_start = max(start - 1, 0), bytearray(), start == 0
    while True:
        left = CHUNK_BYTES if stop is None else max(stop - base - len(carried), 0) + BEYOND_BYTES
        letters, is_last = _chunk(file, carried, min(left, CHUNK_BYTES))
        starts, stops, end = _lines(letters, is_last=is_last)
        numbers = starts + base
        if start == base == 0 and letters.startswith(_BYTE_ORDER_MARK) and len(starts):
            starts[0] = len(_BYTE_ORDER_MARK)
        if not is_behind_start and len(starts):
            # The byte before the stretch belongs to a line of the stretch before.
            numbers, starts, stops, is_behind_start = numbers[1:], starts[1:], stops[1:], True
        within = len(numbers) if stop is None else int(np.searchsorted(numbers, stop))
        if within:
            yield LineRun(numbers[:within], starts[:within], stops[:within], letters)
        if is_last or within < len(numbers) or (stop is not None and base + end >= stop):
            return
        base, carried = base + end, letters[end:]


def _chunk(file: RawIOBase | BufferedIOBase, carried: bytearray, more: int) -> tuple[bytearray, bool]:
    """What was carried over and so many bytes more of a file, and whether that is all there is."""
    if len(carried) > MOST_BYTES:
        raise OverflowError(f"a line has more than {MOST_BYTES:,} bytes: does a newline end each?")
    letters = bytearray(len(carried) + max(more, len(carried)))
    letters[: len(carried)] = carried
    filled = len(carried)
    with memoryview(letters) as free:
        while filled < len(letters) and (count := file.readinto(free[filled:])):
            filled += count
    is_last = filled < len(letters)
    del letters[filled:]
    return letters, is_last


def _lines(letters: bytearray, *, is_last: bool) -> tuple[Ints, Ints, int]:
    """Where lines begin and end, and where the first line begins that goes on behind these bytes."""
    there = np.frombuffer(letters, np.uint8)
    ends = _ends(there, is_last=is_last) if letters.find(b"\r") >= 0 else np.flatnonzero(there == _NEWLINE)
    begins = ends + 1
    end = int(begins[-1]) if len(begins) else 0
    starts = np.concatenate([[0], begins[:-1]]) if len(begins) else np.zeros(0, np.int64)
    stops = ends - ((ends > 0) & (there[ends - 1] == _RETURN) & (there[ends] == _NEWLINE)) if len(ends) else ends
    if is_last and end < len(there):
        starts, stops, end = np.append(starts, end), np.append(stops, len(there)), len(there)
    return starts, stops, end


def _ends(there: NDArray[np.uint8], *, is_last: bool) -> Ints:
    """The last byte of what parts lines; a carriage return at the very end may be followed by a newline."""
    behind = np.append(there[1:], 0)
    is_end = (there == _NEWLINE) | ((there == _RETURN) & (behind != _NEWLINE))
    if not is_last:
        is_end[-1] = there[-1] == _NEWLINE
    return np.flatnonzero(is_end)


def _inflated(file: RawIOBase) -> BufferedIOBase:
    return BytesIO(zlib.decompress(file.readall() or b""))


def _unzipped(file: RawIOBase) -> BufferedIOBase:
    return gzip.GzipFile(fileobj=file)


def _unpacked_by_bzip2(file: RawIOBase) -> BufferedIOBase:
    return bz2.BZ2File(file)


_UNPACKED: Mapping[str, Callable[[RawIOBase], BufferedIOBase]] = {
    ".gz": _unzipped,
    ".bz2": _unpacked_by_bzip2,
    ".deflate": _inflated,
}
"""By the end of a name, how a file is unpacked: that is how Hadoop tells."""
PACKED = (*_UNPACKED, ".lz4", ".snappy", ".zst")
"""Ends of names that tell Hadoop that a file is packed."""


def block_sizes(path: str, size: int) -> tuple[int, ...]:
    """Return how many bytes each block of a text file has, in order.

    Args:
        path: Of the file.
        size: How many bytes it has.

    Example:
        >>> block_sizes("a.json", 2 * BLOCK_BYTES + 5), block_sizes("a.json.gz", 10**9)
        ((65536, 65536, 5), (1000000000,))
    """
    if path.endswith(PACKED):
        return (size,)
    whole, rest = divmod(size, BLOCK_BYTES)
    return (*[BLOCK_BYTES] * whole, *[rest] * (rest > 0))
