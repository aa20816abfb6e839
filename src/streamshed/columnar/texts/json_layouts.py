"""Texts of JSON by their layouts: values are cut out where they stand, and each text is right or wrong alone."""

from collections import Counter
from dataclasses import dataclass, field

import numpy as np
import pyarrow as pa

from streamshed.columnar.texts.layout import Layout
from streamshed.columnar.texts.letters import Letters, Mask, Places, Stretches, letters_of
from streamshed.columnar.texts.plain_numbers import are_literal, are_numbers
from streamshed.columnar.texts.plain_values import are_booleans, null_unless, plain_values

_MOST_LAYOUTS = 4
_SPECIMENS = 24
_LEAST_SHARE = 1 / 8
"""A layout that fewer specimens have is not worth looking for."""
_TEXTS_BETWEEN_LESSONS = 50_000
"""A lesson takes as long as Arrow takes for a thousand texts."""


@dataclass(frozen=True, slots=True)
class LayoutRows:
    """Rows that were read, and the numbers of their texts."""

    columns: pa.RecordBatch
    texts: Places


@dataclass(slots=True)
class JsonLayouts:
    """Reads the texts of a few layouts, which it learns from the first texts, and anew where many have none of them.

    What it takes of a text are strings without backslashes, numbers of at most 18 digits or, with a fraction, 24
    letters, without exponents, `true`, `false` and `null`. Members that are no columns are such, too. All other texts
    are left to others.

    Attributes:
        schema: Booleans, integers of 64 bits, doubles, and strings.
        layouts: Those that it looks for, the most frequent first.
    """

    schema: pa.Schema
    layouts: tuple[Layout, ...] = field(default=(), init=False)
    _texts_until_lesson: int = field(default=0, init=False)

    def read(self, texts: pa.Array, are_plain: Mask) -> list[LayoutRows]:
        """Read the texts that have a layout.

        Args:
            texts: Binary, some null; at most a gigabyte, for speed a few megabytes.
            are_plain: Which to look at: such that `are_plain` says so.

        Returns:
            Per layout rows, their texts ascending; no text twice.

        Example:
            >>> layouts = JsonLayouts(pa.schema([("a", pa.int64()), ("b", pa.string())]))
            >>> texts = pa.array([b'{"a":1,"b":"x"}', b'{"a":[],"b":""}', b'{"a":-20,"b":"y"}'])
            >>> [rows] = layouts.read(texts, np.ones(3, np.bool_))
            >>> rows.columns.to_pylist(), rows.texts.tolist()
            ([{'a': 1, 'b': 'x'}, {'a': -20, 'b': 'y'}], [0, 2])
        """
        remaining, parts = are_plain.copy(), []
        if self._texts_until_lesson <= 0 and remaining.any():
            self.layouts = self._lesson(texts, np.flatnonzero(remaining))
            self._texts_until_lesson = _TEXTS_BETWEEN_LESSONS
        if self.layouts:
            places, bytes_ = letters_of(texts)
            letters = Letters.of(places, bytes_)
            # A mark behind a backslash ends no string.
            with_backslash = np.searchsorted(places, np.flatnonzero(bytes_ == ord("\\")), side="right") - 1
            is_candidate = remaining.copy()
            is_candidate[with_backslash] = False
            for layout in self.layouts:
                rows = self._rows(layout, letters, np.flatnonzero(is_candidate))
                is_candidate[rows.texts] = remaining[rows.texts] = False
                parts.append(rows)
        self._texts_until_lesson -= int(np.count_nonzero(remaining))
        return [rows for rows in parts if len(rows.texts)]

    def _lesson(self, texts: pa.Array, places: Places) -> tuple[Layout, ...]:
        """The layouts by which many of the texts at some places can be read, the most frequent first."""
        specimens = texts.take(pa.array(places[:: -(-len(places) // _SPECIMENS)]))
        least, numbers = _LEAST_SHARE * len(specimens), np.arange(len(specimens))
        letters = Letters.of(*letters_of(specimens))
        layouts = Counter(Layout.of(specimen) for specimen in specimens.to_pylist())
        return tuple(
            layout
            for layout, count in layouts.most_common(_MOST_LAYOUTS)
            if layout is not None and count >= least and self._has_types(layout)
            if len(self._rows(layout, letters, numbers).texts) >= least
        )

    def _has_types(self, layout: Layout) -> bool:
        """Whether no value between quotation marks is to be a number or a Boolean."""
        names = {slot.name for slot in layout.slots if slot.is_quoted}
        return all(column.type == pa.string() for column in self.schema if column.name in names)

    def _rows(self, layout: Layout, letters: Letters, texts: Places) -> LayoutRows:
        """Read those of some texts that have a layout, and values of the columns' types."""
        texts, values = layout.stretches(letters, texts)
        are_right = np.ones(len(texts), np.bool_)
        columns = {column.name: pa.nulls(len(texts), column.type) for column in self.schema}
        for slot, stretches in zip(layout.slots, values, strict=True):
            column = columns.get(slot.name)
            if not slot.is_quoted:
                column, are_of_type = _bare(letters, stretches, None if column is None else column.type)
                are_right &= are_of_type
            elif column is not None:
                column = letters.strings(stretches)
            columns[slot.name] = column
        rows = pa.RecordBatch.from_arrays([columns[name] for name in self.schema.names], schema=self.schema)
        return (
            LayoutRows(rows, texts)
            if are_right.all()
            else LayoutRows(rows.filter(pa.array(are_right)), texts[are_right])
        )


def _bare(letters: Letters, stretches: Stretches, wanted: pa.DataType | None) -> tuple[pa.Array, Mask]:
    """Values without quotation marks as those of a column, or of none, and which are such."""
    if wanted is None:
        are_numbers_or_booleans = are_numbers(letters, stretches) | are_booleans(letters, stretches)
        values, are_right = pa.nulls(len(stretches)), are_numbers_or_booleans
    else:
        values, are_right = plain_values(letters, stretches, wanted)
    if are_right.all():
        return values, are_right
    return null_unless(are_right, values), are_right | are_literal(letters, stretches, b"null")
