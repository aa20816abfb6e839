"""JSON texts as Arrow columns against Python's reader of JSON, which refuses what is no JSON here."""

from __future__ import annotations

import json
import random
from collections import Counter
from collections.abc import Mapping, Sequence
from datetime import UTC, date, datetime, timedelta
from typing import Any

import numpy as np
import pyarrow as pa
from hypothesis import given
from hypothesis import strategies as st

from streamshed.columnar.texts.json_texts import JsonTexts
from tests.json_samples import ORDINARY, alike_texts, odd_text, ordinary_text, schema_of

SMALLEST = {"tinyint": -(2**7), "smallint": -(2**15), "int": -(2**31), "bigint": -(2**63)}
NAMES = st.text("abcäN .{}[]:,'\"\\/", min_size=1, max_size=6)
SCHEMAS = st.dictionaries(NAMES, st.sampled_from([*ORDINARY]), min_size=1, max_size=6)


class NotJsonError(Exception):
    """Raised for what Python reads, and the standard does not."""


def refused(text: str) -> float:
    raise NotJsonError(text)


def value_of(kind: str, value: Any) -> Any:
    """A value as Spark has it; an exception where the text has another type."""
    match kind, value:
        case _, None:
            return None
        case (("tinyint" | "smallint" | "int" | "bigint"), int()) if not isinstance(value, bool):
            if not SMALLEST[kind] <= value < -SMALLEST[kind]:
                raise NotJsonError(value)
            return value
        case "double", int() | float() if not isinstance(value, bool):
            return float(value)
        case "float", int() | float() if not isinstance(value, bool):
            return float(np.float32(value))
        case "string", str():
            return value
        case "boolean", bool():
            return value
        case "date", str():
            return date.fromisoformat(value)
        case "timestamp", str():
            at = datetime.fromisoformat(value)
            return at.replace(tzinfo=UTC) if at.tzinfo is None else at
    raise NotJsonError(value)


def expected_row(text: bytes, columns: Mapping[str, str]) -> dict[str, Any]:
    """What a text says by Python's reader: every column once at most, and of its type."""

    def members(pairs: list[tuple[str, Any]]) -> list[tuple[str, Any]]:
        return pairs

    pairs = json.loads(text.decode(), object_pairs_hook=members, parse_constant=refused)
    if max(Counter(name for name, _ in pairs if name in columns).values(), default=0) > 1:
        raise NotJsonError(text)
    row = dict(pairs)
    return {name: value_of(kind, row.get(name)) for name, kind in columns.items()}


def instants(row: Mapping[str, Any]) -> dict[str, Any]:
    """A row with times as microseconds, for Python cannot compare those whose zones lead out of its years."""
    epoch = datetime(1970, 1, 1, tzinfo=UTC)
    return {
        name: (value.replace(tzinfo=UTC) - epoch - (value.utcoffset() or timedelta())) // timedelta(microseconds=1)
        if isinstance(value, datetime)
        else value
        for name, value in row.items()
    }


def rows_of(columns: pa.RecordBatch) -> list[dict[str, Any]]:
    """Rows with times as microseconds."""
    plain = [column.cast(pa.int64()) if pa.types.is_timestamp(column.type) else column for column in columns.columns]
    rows: list[dict[str, Any]] = pa.RecordBatch.from_arrays(plain, names=columns.schema.names).to_pylist()
    return rows


@given(SCHEMAS, st.integers(0, 2**32))
def test_ordinary_texts_are_sure(columns: dict[str, str], seed: int) -> None:
    rng = random.Random(seed)
    texts = [ordinary_text(columns, rng).encode() for _ in range(20)]
    parsed = JsonTexts.of(schema_of(columns), {}, "UTC").read(pa.array(texts))
    assert parsed.is_sure.all()
    assert rows_of(parsed.columns) == [instants(expected_row(text, columns)) for text in texts]


def assert_as_python(texts: Sequence[bytes | None], columns: Mapping[str, str], reader: JsonTexts) -> None:
    """Where rows are sure, Python reads the text, and the same values; all others are null."""
    parsed = reader.read(pa.array(texts, pa.binary()))
    for text, row, sure in zip(texts, rows_of(parsed.columns), parsed.is_sure, strict=True):
        assert row == (instants(expected_row(text or b"", columns)) if sure else dict.fromkeys(columns)), text


@given(SCHEMAS, st.integers(0, 2**32))
def test_what_is_sure_is_what_the_text_says(columns: dict[str, str], seed: int) -> None:
    rng = random.Random(seed)
    texts = [odd_text(columns, rng) for _ in range(10)]
    texts += [ordinary_text(columns, rng).encode() for _ in range(10)]
    rng.shuffle(texts)
    for some in (texts, *([text] for text in texts)):
        assert_as_python(some, columns, JsonTexts.of(schema_of(columns), {}, "UTC"))


@given(SCHEMAS, st.integers(0, 2**32))
def test_so_it_is_of_texts_of_few_layouts(columns: dict[str, str], seed: int) -> None:
    """Those learned from the first texts among them."""
    rng = random.Random(seed)
    reader = JsonTexts.of(schema_of(columns), {}, "UTC")
    texts = alike_texts(columns, rng, 80)
    assert_as_python(texts[:40], columns, reader)
    assert_as_python([*texts[40:], *(odd_text(columns, rng) for _ in range(10))], columns, reader)
