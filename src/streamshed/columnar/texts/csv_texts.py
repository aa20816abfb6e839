"""Lines of CSV as Arrow columns, where these are surely what Spark's `from_csv` gives.

A line is sure that has as many values as there are columns, and of each a plain one: what a value of its type looks
like to everybody. Quotation marks stand around whole values only. A line is cut where its separators are; all else is
left to Spark. Arrow's reader of CSV takes 0.19 µs for a line of seven values, this 0.22; but Arrow's takes " 1" and
"0x1" for numbers, and does not say of which lines it does.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Self

import numpy as np
import pyarrow as pa

from streamshed.columnar.texts.csv_form import QUOTE, CsvForm
from streamshed.columnar.texts.json_values import offset_of, spark_values, type_to_read
from streamshed.columnar.texts.letters import Letters, Mask, Places, Stretches, letters_of
from streamshed.columnar.texts.parsed_texts import ParsedTexts, in_pieces
from streamshed.columnar.texts.plain_numbers import are_literal
from streamshed.columnar.texts.plain_values import null_unless, plain_values
from streamshed.columnar.texts.valid_texts import are_valid
from streamshed.columnar.untranslatable import Untranslatable

_MOST_BYTES = 1 << 30
_FIRST_PRINTED = 0x20


@dataclass(frozen=True, slots=True)
class CsvTexts:
    """Reads lines of one schema. Made by `CsvTexts.of`, once per task."""

    _schema: pa.Schema
    _read_as: tuple[pa.DataType, ...]
    _form: CsvForm
    _offset: int | None

    @classmethod
    def of(cls, schema: pa.Schema, options: Mapping[str, str], time_zone: str) -> Self:
        """Prepare to read lines of a schema.

        Args:
            schema: The columns as `from_csv` would be given them; types as `JsonTexts.of` takes them. The corrupt
                record's is not among them.
            options: Spark's options of `from_csv`.
            time_zone: The session's, in which times without a zone are; see `JsonTexts.of`.

        Raises:
            Untranslatable: A type or an option is read by Spark in its own way. Its text says which.

        Example:
            >>> schema = pa.schema([("host", pa.string()), ("size", pa.int32())])
            >>> texts = pa.array(["a,40", "b,", '"c, d",1', "e,0x1", "f", None])
            >>> parsed = CsvTexts.of(schema, {}, "UTC").read(texts)
            >>> parsed.columns.to_pylist()[:2], parsed.is_sure.astype(int).tolist()
            ([{'host': 'a', 'size': 40}, {'host': 'b', 'size': None}], [1, 1, 0, 0, 0, 0])
        """
        form = CsvForm.of(options)
        if len(set(schema.names)) < len(schema):
            raise Untranslatable("a schema of lines of CSV names a column twice")
        read_as = tuple(type_to_read(column) for column in schema)
        return cls(schema, read_as, form, offset_of(form.time_zone or time_zone))

    def read(self, texts: pa.Array) -> ParsedTexts:
        """Read lines.

        Args:
            texts: Binary or string, some null.
        """
        return in_pieces(self._read, texts)

    def _read(self, texts: pa.Array) -> ParsedTexts:
        if texts.nbytes > _MOST_BYTES:
            nothing = pa.RecordBatch.from_pylist([], schema=self._schema)
            return ParsedTexts.at_places(nothing, np.zeros(0, np.int64), np.zeros(0, np.bool_), len(texts))
        letters = Letters.of(*letters_of(texts))
        lines, values = self._values(letters, np.flatnonzero(self._are_candidates(letters, texts)))
        values, are_sure = self._unquoted(letters, lines, values)
        columns = []
        for column, read_as, stretches in zip(self._schema, self._read_as, values, strict=True):
            of_column, are_plain = self._column(letters, stretches, read_as, column.type)
            columns.append(of_column)
            are_sure &= are_plain
        rows = pa.RecordBatch.from_arrays(columns, schema=self._schema)
        return ParsedTexts.at_places(rows, lines, are_sure, len(texts))

    def _are_candidates(self, letters: Letters, texts: pa.Array) -> Mask:
        """Which lines are UTF-8, not empty, no comments, and without letters that may change what others mean."""
        firsts = letters.padded[letters.starts]
        are_candidates: Mask = texts.is_valid().to_numpy(zero_copy_only=False) & (letters.starts < letters.stops)
        if self._form.comment is not None:
            are_candidates &= (firsts != ord(self._form.comment)) & (firsts > _FIRST_PRINTED)
        within = letters.padded[letters.starts[0] : letters.stops[-1]] if len(texts) else letters.padded[:0]
        strange = within < _FIRST_PRINTED
        if self._form.separator == "\t":
            strange &= within != ord("\t")
        strange |= within == ord("\\")
        if strange.any():
            places = np.flatnonzero(strange) + letters.starts[0]
            are_candidates[np.searchsorted(letters.starts, places, side="right") - 1] = False
        if len(within) and within.max() >= 0x80:
            are_candidates &= are_valid(texts.view(pa.string()))
        if len(self._schema) == 1:
            are_candidates &= firsts > _FIRST_PRINTED
        return are_candidates

    def _values(self, letters: Letters, lines: Places) -> tuple[Places, list[Stretches]]:
        """Those of some lines that have as many values as there are columns, and per column where they are."""
        separators, firsts = letters.marks(self._form.separator)
        between = len(self._schema) - 1
        counts = firsts[lines + 1] - firsts[lines]
        if not (counts == between).all():
            lines = lines[counts == between]
        begins, ends, first = letters.starts[lines], letters.stops[lines], firsts[lines]
        at = [separators[first + number] for number in range(between)]
        stretches = zip([begins, *(place + 1 for place in at)], [*at, ends], strict=True)
        return lines, [Stretches(start, stop) for start, stop in stretches]

    def _unquoted(self, letters: Letters, lines: Places, values: Sequence[Stretches]) -> tuple[list[Stretches], Mask]:
        """Values without the quotation marks around them, and in which lines there are no other ones."""
        marks = letters.first_quotes[lines + 1] - letters.first_quotes[lines]
        are_sure = np.ones(len(lines), np.bool_)
        if self._form.trims:
            for value in values:
                first, last = letters.padded[value.starts], letters.padded[value.stops - 1]
                are_sure &= (value.starts == value.stops) | ((first > _FIRST_PRINTED) & (last > _FIRST_PRINTED))
        if not marks.any():
            return list(values), are_sure
        unquoted = []
        for value in values:
            has_two = (letters.padded[value.starts] == ord(QUOTE)) & (letters.padded[value.stops - 1] == ord(QUOTE))
            # Of two marks with nothing between them Spark makes what its option `emptyValue` says.
            has_two &= value.stops - value.starts > 2
            marks = marks - 2 * has_two
            unquoted.append(Stretches(value.starts + has_two, value.stops - has_two))
        return unquoted, are_sure & (marks == 0)

    def _column(
        self, letters: Letters, stretches: Stretches, read_as: pa.DataType, wanted: pa.DataType
    ) -> tuple[pa.Array, Mask]:
        """Values of a column, and which of them, nulls among them, are plain ones."""
        are_null = stretches.starts == stretches.stops
        if self._form.null:
            are_null |= are_literal(letters, stretches, self._form.null.encode())
        if pa.types.is_string(read_as):
            values, are_plain = letters.strings(stretches), np.ones(len(stretches), np.bool_)
        else:
            values, are_plain = plain_values(letters, stretches, read_as)
        values = null_unless(are_plain & ~are_null, values)
        values, are_as_spark = spark_values(values, wanted, self._offset)
        return values, (are_plain & are_as_spark) | are_null
