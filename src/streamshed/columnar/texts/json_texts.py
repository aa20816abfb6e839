"""JSON texts as Arrow columns, where these are surely what Spark's `from_json` gives.

Texts that readers of JSON take in different ways are left out before (`are_plain`), values that Spark and Arrow read in
different ways afterwards (`spark_values`). Texts that differ in nothing but plain values, as most do, are cut
(`JsonLayouts`). Arrow's reader of JSON takes the others. It reads a file of lines and fails as a whole, so they are
joined by newlines. What either takes is JSON by the letter (RFC 8259), each column once and of its type: Spark has no
corrupt record there.
"""

import re
from collections.abc import Collection, Mapping
from dataclasses import dataclass, field
from typing import Self

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.json as pj
from numpy.typing import NDArray

from streamshed.columnar.texts.json_layouts import JsonLayouts, LayoutRows
from streamshed.columnar.texts.json_values import offset_of, spark_values, type_to_read
from streamshed.columnar.texts.parsed_texts import ParsedTexts, in_pieces
from streamshed.columnar.texts.parts import in_parts
from streamshed.columnar.texts.plain_json import are_plain
from streamshed.columnar.untranslatable import Untranslatable

Mask = NDArray[np.bool_]

_PARTS = (1024, 128)
"""A call of Arrow's reader costs as much as 250 rows."""
_BLOCK_BYTES = 1 << 20
_MOST_BYTES = 1 << 30
_TEXTS_OF_A_TRIAL = 10_000
_LEAST_SURE_SHARE = 1 / 3
"""Spark takes 3.6 µs for a text of 141 bytes; texts that nobody is sure of in the end have cost up to 1.5 before."""
_TAKES_MORE_TEXTS = frozenset(
    {
        "allowbackslashescapinganycharacter",
        "allowcomments",
        "allownonnumericnumbers",
        "allownumericleadingzeros",
        "allowsinglequotes",
        "allowunquotedcontrolchars",
        "allowunquotedfieldnames",
    }
)
"""Options of Spark's that let texts be read which are no JSON: of those, nobody is sure here."""


@dataclass(slots=True)
class JsonTexts:
    """Reads texts of one schema, each a JSON object. Made by `JsonTexts.of`, once per task.

    After 10,000 texts of which fewer than a third were sure it reads no more: then all that follow are not sure. So it
    never costs more than it brings for longer than that.
    """

    _layouts: JsonLayouts
    _read_as: pa.Schema
    _schema: pa.Schema
    _needed: tuple[str, ...]
    _offset: int | None
    _misfits: str
    _texts_seen: int = field(default=0, init=False)
    _texts_sure: int = field(default=0, init=False)

    @classmethod
    def of(
        cls,
        schema: pa.Schema,
        options: Mapping[str, str],
        time_zone: str,
        *,
        needed: Collection[str] | None = None,
    ) -> Self:
        """Prepare to read texts of a schema.

        Args:
            schema: The columns as `from_json` would be given them: Booleans, integers, floats, doubles, strings, dates,
                timestamps in microseconds with a time zone. The corrupt record's is not among them.
            options: Spark's options of `from_json`.
            time_zone: The session's, in which times without a zone are. Where its offset from UTC is not always the
                same, nobody is sure of such times: Java's rules may not be the machine's.
            needed: The columns to make; None: all. Others are read nevertheless, for where one has not its type, Spark
                takes the whole text for corrupt; but those of strings, which Spark makes of anything.

        Raises:
            Untranslatable: A type or an option is read by Spark in its own way. Its text says which.

        Example:
            >>> schema = pa.schema([("host", pa.string()), ("size", pa.int32())])
            >>> texts = pa.array(['{"size": 40, "host": "a"}', '{"size": "40"}', '{"x": []}', None])
            >>> parsed = JsonTexts.of(schema, {}, "UTC").read(texts)
            >>> parsed.columns.to_pylist()[0], parsed.is_sure.tolist()
            ({'host': 'a', 'size': 40}, [True, False, True, False])
        """
        names = frozenset(schema.names) if needed is None else frozenset(needed)
        types = {column.name: type_to_read(column) for column in schema}
        if len(types) < len(schema):
            raise Untranslatable("a schema of JSON texts names a column twice")
        read = [column for column in schema if column.name in names or column.type != pa.string()] or list(schema)
        read_as = pa.schema([(column.name, types[column.name]) for column in read])
        return cls(
            _layouts=JsonLayouts(read_as),
            _read_as=read_as,
            _schema=pa.schema(read),
            _needed=tuple(name for name in schema.names if name in names),
            _offset=offset_of(_zone(schema, options, time_zone)),
            _misfits="|".join(_misfit(column) for column in read),
        )

    def read(self, texts: pa.Array) -> ParsedTexts:
        """Read texts.

        Args:
            texts: Binary or string, some null.
        """
        return in_pieces(self._read, texts)

    def _read(self, texts: pa.Array) -> ParsedTexts:
        is_plain = are_plain(texts) if self._is_worthwhile else np.zeros(len(texts), np.bool_)
        rows, places = self._rows(texts, is_plain)
        values, is_exact = [], np.ones(len(places), np.bool_)
        for column, wanted in zip(rows.columns, self._schema, strict=True):
            column_values, is_as_spark = spark_values(column, wanted.type, self._offset)
            values.append(column_values)
            is_exact &= is_as_spark
        columns = pa.RecordBatch.from_arrays(values, schema=self._schema).select(list(self._needed))
        self._texts_seen += len(texts)
        self._texts_sure += int(np.count_nonzero(is_exact))
        return ParsedTexts.at_places(columns, places, is_exact, len(texts))

    @property
    def _is_worthwhile(self) -> bool:
        return self._texts_seen < _TEXTS_OF_A_TRIAL or self._texts_sure >= _LEAST_SURE_SHARE * self._texts_seen

    def _rows(self, texts: pa.Array, is_plain: Mask) -> tuple[pa.RecordBatch, NDArray[np.int64]]:
        """Read plain texts: rows, and the places of those that could be read."""
        parts = self._layouts.read(texts, is_plain) if texts.nbytes <= _MOST_BYTES else []
        for part in parts:
            is_plain[part.texts] = False
        parts += self._rows_of_no_layout(texts, np.flatnonzero(is_plain))
        if len(parts) == 1:
            return parts[0].columns, parts[0].texts
        nothing = pa.RecordBatch.from_pylist([], schema=self._read_as)
        columns = pa.concat_batches([nothing, *(part.columns for part in parts)])
        return columns, np.concatenate([np.zeros(0, np.int64), *(part.texts for part in parts)])

    def _rows_of_no_layout(self, texts: pa.Array, places: NDArray[np.int64]) -> list[LayoutRows]:
        """Read the texts at some places by Arrow's reader of JSON."""
        if len(places) == 0:
            return []
        rows = self._attempt(_taken(texts, places))
        if rows is not None:
            return [LayoutRows(rows, places)]
        misfits = pc.match_substring_regex(_taken(texts, places), self._misfits).to_numpy(zero_copy_only=False)
        places = places[~misfits]
        return [
            LayoutRows(part.result, places[part.start : part.stop])
            for part in in_parts(self._attempt, _taken(texts, places), sizes=_PARTS)
            if part.result is not None
        ]

    def _attempt(self, texts: pa.Array) -> pa.RecordBatch | None:
        """Read all texts; None: one of them cannot be read, or is more than one object."""
        if len(texts) == 0:
            return pa.RecordBatch.from_pylist([], schema=self._read_as)
        if texts.nbytes > _MOST_BYTES:
            return None
        lines = pc.binary_join(pa.ListArray.from_arrays(pa.array([0, len(texts)], pa.int32()), texts), b"\n")[0]
        try:
            table = pj.read_json(
                pa.BufferReader(lines.as_buffer()),
                pj.ReadOptions(use_threads=False, block_size=min(len(lines.as_buffer()), _BLOCK_BYTES)),
                pj.ParseOptions(explicit_schema=self._read_as, unexpected_field_behavior="ignore"),
            )
        except pa.ArrowInvalid:
            return None
        if table.num_rows != len(texts):
            return None
        [rows] = table.combine_chunks().to_batches()
        return rows


def _zone(schema: pa.Schema, options: Mapping[str, str], time_zone: str) -> str:
    """The time zone of times without one, as options say it; others must not change what is read."""
    for name, value in options.items():
        match name.lower():
            case "timezone":
                time_zone = value
            case "columnnameofcorruptrecord" if value not in schema.names:
                pass
            case "mode" if value.upper() == "PERMISSIVE":
                pass
            case other if other not in _TAKES_MORE_TEXTS:
                raise Untranslatable(f'the option "{name}" of JSON texts is for Spark')
    return time_zone


def _misfit(column: pa.Field) -> str:
    """What is in texts in which a column surely has another type; it saves trying them, and need not be complete."""
    if pa.types.is_integer(column.type):
        values = "(?:[^-0-9 n]|-?[0-9]+[.Ee]|-?[0-9]{20})"
    elif pa.types.is_floating(column.type):
        values = "[^-0-9 n]"
    else:
        values = "[^ tfn]" if pa.types.is_boolean(column.type) else '[^" n]'
    return f'"{re.escape(column.name)}" *: *{values}'


def _taken(texts: pa.Array, places: NDArray[np.int64]) -> pa.Array:
    return texts if len(places) == len(texts) else texts.take(pa.array(places))
