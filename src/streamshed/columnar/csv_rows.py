"""Lines of CSV files as Spark's reader of CSV takes them for rows: no header, no blank lines, no comments."""

from __future__ import annotations

import csv
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from itertools import count
from pathlib import Path
from typing import Self

import numpy as np

from streamshed.columnar.text_rows import BLOCK_BYTES, LineRun, TextRows
from streamshed.columnar.texts.csv_form import QUOTE, CsvForm
from streamshed.columnar.untranslatable import Untranslatable
from streamshed.errors import SourceMismatchError
from streamshed.joins.model.arrays import Booleans
from streamshed.network.model.csv_lines import OF_FILES

_BLANKS = bytes(range(0x21))
"""What Java takes for blank."""


@dataclass(frozen=True, slots=True)
class CsvFiles:
    """What is in CSV files beside rows.

    Attributes:
        form: How lines are written.
        has_header: Whether the first line that is neither blank nor a comment tells the names of columns.
        names: What it has to tell, in any case; None: anything.
    """

    form: CsvForm
    has_header: bool = False
    names: tuple[str, ...] | None = None

    @classmethod
    def of(cls, options: Mapping[str, str], names: tuple[str, ...]) -> Self:
        """Read options of Spark's reader that say what is in a file beside rows.

        Args:
            options: Those of a folder, but those that say which files are read.
            names: Of the columns.

        Raises:
            Untranslatable: One of them lets Spark read files in its own way.

        Example:
            >>> CsvFiles.of({"header": "true", "sep": ";"}, ("a", "b")).names
            ('a', 'b')
        """
        said = {name.lower(): value.lower() for name, value in options.items() if name.lower() in OF_FILES}
        for name, value in said.items():
            if value not in {"true", "false"}:
                raise Untranslatable(f'the option "{name}" of CSV files is for Spark')
        form = CsvForm.of({name: value for name, value in options.items() if name.lower() not in OF_FILES})
        is_checked = said.get("enforceschema") != "true"
        return cls(form, said.get("header") == "true", names if is_checked else None)


class CsvRows(TextRows):
    r"""A CSV file whose lines are rows of one column.

    Raises:
        SourceMismatchError: Its header names other columns; see `TextRows`, too.

    Example:
        >>> import tempfile
        >>> path = tempfile.mkdtemp() + "/rows.csv"
        >>> _ = Path(path).write_text("a,b\n1,2\n\n3,4")
        >>> file = CsvRows(path, "value", CsvFiles(CsvForm(), has_header=True, names=("a", "b")))
        >>> for run in file.runs(0, 100):
        ...     print(run.numbers.tolist(), run.texts(None).to_pylist())
        [4, 9] ['1,2', '3,4']
    """

    def __init__(self, path: str, column: str, files: CsvFiles) -> None:
        super().__init__(path, column)
        comment = files.form.comment
        self._comment = None if comment is None else ord(comment)
        self._header = self._header_place(files) if files.has_header else -1

    def runs(self, start: int, stop: int) -> Iterator[LineRun]:
        """Yield the rows that begin in a stretch of the file; see `TextRows.runs`."""
        for run in super().runs(start, stop):
            are_rows = self._are_rows(run)
            if are_rows.all():
                yield run
            elif are_rows.any():
                yield LineRun(run.numbers[are_rows], run.starts[are_rows], run.stops[are_rows], run.letters)

    def _are_rows(self, run: LineRun) -> Booleans:
        letters, are_empty = np.frombuffer(run.letters, np.uint8), run.starts == run.stops
        firsts = letters[np.minimum(run.starts, len(letters) - 1)]
        are_rows: Booleans = ~are_empty & (run.numbers > self._header)
        may_be_blank = np.flatnonzero(are_rows & (firsts <= max(_BLANKS)))
        for place, start, stop in zip(
            may_be_blank.tolist(), run.starts[may_be_blank].tolist(), run.stops[may_be_blank].tolist(), strict=True
        ):
            are_rows[place] = bool(run.letters[start:stop].strip(_BLANKS))
        if self._comment is not None:
            are_rows &= firsts != self._comment
        return are_rows

    def _header_place(self, files: CsvFiles) -> int:
        """Where the header begins, once it names the columns; of a file without one, before its first byte."""
        for number, line in self._first_lines():
            if line.strip(_BLANKS) and line[0] != self._comment:
                self._check(line.decode("utf-8", "replace"), files)
                return number
        return -1

    def _first_lines(self) -> Iterator[tuple[int, bytes]]:
        """Lines from the first on, as few as are asked for: of a file that is not packed, block by block."""
        size = 1 if self.is_packed else Path(self.path).stat().st_size
        for start in count(0, BLOCK_BYTES):
            if start >= size:
                return
            for run in super().runs(start, start + BLOCK_BYTES):
                for number, begin, end in zip(
                    run.numbers.tolist(), run.starts.tolist(), run.stops.tolist(), strict=True
                ):
                    yield number, bytes(run.letters[begin:end])

    def _check(self, header: str, files: CsvFiles) -> None:
        if files.names is None:
            return
        form = files.form
        is_doubled = form.escape == QUOTE
        reader = csv.reader(
            [header], delimiter=form.separator, doublequote=is_doubled, escapechar=None if is_doubled else form.escape
        )
        columns = [name.strip() if form.trims else name for name in next(reader)]
        if [name.lower() for name in columns] != [name.lower() for name in files.names]:
            raise SourceMismatchError(
                f'CSV header does not conform to the schema: "{self.path}" has {", ".join(columns)}, and the stream'
                f" {', '.join(files.names)}"
            )
