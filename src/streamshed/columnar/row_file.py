"""A file whose rows a task reads: run by run, and of a run the columns and rows that it asks for."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Generic, Protocol, TypeVar

import numpy as np
import pyarrow as pa

from streamshed.columnar.texts.dictionaries import short
from streamshed.joins.model.arrays import Ints


class RowSpan(Protocol):
    """Rows of a file that are read together."""

    @property
    def numbers(self) -> Ints:
        """The number of each row, in order: it identifies the row in its file."""


AnySpan = TypeVar("AnySpan", bound=RowSpan)


@dataclass(frozen=True)
class RowPart:
    """Some of the rows between two places of a run, in some of their columns.

    Attributes:
        start: The place of the first row.
        stop: The place behind the last one.
        columns: Those of the rows that were asked for, by the names of the stream. Texts of which the file has each but
            once are numbers of entries.
    """

    start: int
    stop: int
    columns: Mapping[str, pa.Array]


@dataclass(frozen=True)
class FileBlock:
    """Rows that are near each other in a file, which are read together or not at all.

    Attributes:
        number: Its place among the blocks of the file, from 0.
        start: The number of the first of its rows that are asked for.
        stop: The number behind the last of these.
    """

    number: int
    start: int
    stop: int

    @property
    def rows(self) -> range:
        """The numbers of its rows."""
        return range(self.start, self.stop)


class RowReader(Protocol[AnySpan]):
    """Reads some rows of a file."""

    def runs(self) -> Iterator[AnySpan]:
        """Yield the runs in which the rows lie, in order."""

    def parts(self, run: AnySpan, names: Sequence[str], rows: Ints | None = None) -> Iterator[RowPart]:
        """Yield columns of rows of a run, in order, in parts that follow one another; rows None: all."""


class RowFile(Protocol[AnySpan]):
    """Reads any rows of a file, and tells where they are."""

    def runs(self, start: int, stop: int) -> Iterator[AnySpan]:
        """Yield the runs in which the rows lie whose numbers are from `start` on and before `stop`."""

    def parts(self, run: AnySpan, names: Sequence[str], rows: Ints | None = None) -> Iterator[RowPart]:
        """Yield columns of rows of a run; see `RowReader.parts`."""

    def rows_between(self, start: int, stop: int) -> range:
        """Return the numbers of the rows that are read with the bytes from `start` on and before `stop`.

        Wherever a file is cut, each of its rows is read with one piece.
        """

    def blocks(self, start: int, stop: int) -> Sequence[FileBlock]:
        """Return the blocks in which the rows lie whose numbers are from `start` on and before `stop`."""

    def only(self, blocks: Sequence[FileBlock]) -> RowReader[Any]:
        """Return what reads rows of these blocks alone, with as little of the others as it can."""


@dataclass(frozen=True)
class FileStretches(Generic[AnySpan]):
    """Reads stretches of a file as the file reads all its rows.

    Attributes:
        file: The file.
        stretches: The numbers of the rows, ascending; what follows one another is read together.
    """

    file: RowFile[AnySpan]
    stretches: Sequence[range]

    def runs(self) -> Iterator[AnySpan]:
        """Yield the runs of each stretch."""
        for stretch in joined(self.stretches):
            yield from self.file.runs(stretch.start, stretch.stop)

    def parts(self, run: AnySpan, names: Sequence[str], rows: Ints | None = None) -> Iterator[RowPart]:
        """Yield columns of rows of a run; see `RowReader.parts`."""
        return self.file.parts(run, names, rows)


def joined(stretches: Sequence[range]) -> list[range]:
    """Return the same rows in as few stretches as there can be.

    Args:
        stretches: The numbers of rows, ascending.

    >>> joined([range(0, 10), range(10, 20), range(40, 50)])
    [range(0, 20), range(40, 50)]
    """
    together: list[range] = []
    for stretch in stretches:
        if together and together[-1].stop == stretch.start:
            together[-1] = range(together[-1].start, stretch.stop)
        else:
            together.append(stretch)
    return together


def rows_within(rows: Ints, start: int, stop: int) -> Ints:
    """Return those of some rows that are between two places, counted from the first place.

    >>> rows_within(np.array([1, 4, 6, 9]), 4, 9).tolist()
    [0, 2]
    """
    first, last = np.searchsorted(rows, [start, stop])
    return rows[first:last] - start


def part_of_rows(part: RowPart, rows: Ints | None) -> RowPart:
    """Return a part that has all its rows with some of them.

    Args:
        part: The part.
        rows: Which rows of its run, in order; None: all.
    """
    if rows is None:
        return part
    taken = pa.array(rows_within(rows, part.start, part.stop))
    columns = {name: short(column.take(taken)) for name, column in part.columns.items()}
    return RowPart(part.start, part.stop, columns)
