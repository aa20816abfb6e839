"""Answers as rows of a table of Postgres: typed values, each row under an id of its own."""

from __future__ import annotations

import json
import re
import uuid
from collections import Counter
from collections.abc import Iterator, Mapping
from datetime import UTC, datetime
from decimal import Decimal
from hashlib import blake2b
from typing import Any

import pyarrow as pa

from streamshed.answering.table.answer_schema import ANSWER, ANSWER_SCHEMA, GAP, IDENTITY_COLUMNS

_TYPES = {
    "string": "text",
    "timestamp": "timestamptz",
    "array<string>": "jsonb",
    "double": "double precision",
    "bigint": "bigint",
    "boolean": "boolean",
}
ID = "answer_id"
COLUMNS: Mapping[str, str] = {
    ID: "uuid",
    **{name: _TYPES[kind] for name, kind in ANSWER_SCHEMA},
    "value_numeric": "numeric",
    "query_id": "text",
    "micro_batch_id": "bigint",
}
"""Name and type of each column: those of answers, and four more."""

JSON_COLUMNS = frozenset(name for name, kind in COLUMNS.items() if kind == "jsonb")
"""Those whose values are given as Python's lists."""

_DIGITS = re.compile(r"-?\d+(?:\.\d+)?(?:[eE][+-]?\d+)?")
_NUL, _REPLACEMENT = "\0", "\N{REPLACEMENT CHARACTER}"


def rows_of(answers: pa.Table, query_id: str, micro_batch_id: int) -> Iterator[tuple[Any, ...]]:
    """Return answers as rows of the table: their values, in the order of `COLUMNS`.

    The id of an answer, and of a gap, is that of its query, window, key and aggregate, whoever computes it. Rows of
    queries without aggregates and counts of late rows are told apart by the micro-batch, too, and from those that are
    alike by their number. Postgres has no character 0; U+FFFD takes its place.

    Args:
        answers: Rows of the answer schema.
        query_id: Spark's.
        micro_batch_id: Of the micro-batch that they come of.

    Example:
        >>> schema = pa.schema([(name, pa.string()) for name, _ in ANSWER_SCHEMA])
        >>> answer = {"kind": "answer", "query": "q", "aggregate": "n", "value_text": "12.50"}
        >>> first, again = rows_of(pa.Table.from_pylist([answer], schema), "a", 7), rows_of(
        ...     pa.Table.from_pylist([answer], schema), "b", 8)
        >>> first, again = dict(zip(COLUMNS, next(first))), dict(zip(COLUMNS, next(again)))
        >>> first["answer_id"] == again["answer_id"], first["micro_batch_id"]
        (True, 7)
    """
    number_alike: Counter[tuple[Any, ...]] = Counter()
    for answer in answers.to_pylist():
        identity: tuple[Any, ...] = tuple(_hashable(answer[name]) for name in IDENTITY_COLUMNS)
        if answer["kind"] == GAP:
            identity += (answer["value_text"],)
        elif answer["kind"] != ANSWER:
            identity += (answer["value_text"], query_id, micro_batch_id)
            number_alike[identity] += 1
            identity += (number_alike[identity],)
        values = [_storable(answer[name]) for name, _ in ANSWER_SCHEMA]
        yield (_id(identity), *values, _numeric(answer), query_id, micro_batch_id)


def _id(identity: tuple[Any, ...]) -> uuid.UUID:
    return uuid.UUID(bytes=blake2b(json.dumps(identity).encode(), digest_size=16).digest())


def _hashable(value: Any) -> Any:
    match value:
        case datetime():
            return value.astimezone(UTC).isoformat()
        case list():
            return tuple(value)
    return value


def _storable(value: Any) -> Any:
    match value:
        case str():
            return value.replace(_NUL, _REPLACEMENT)
        case list():
            return [_storable(element) for element in value]
    return value


def _numeric(answer: Mapping[str, Any]) -> Decimal | None:
    """The number that an exact answer has in all its digits; a text of digits is none."""
    text = answer["value_text"]
    is_number = answer["kind"] == ANSWER and answer["value"] is not None and text is not None
    return Decimal(text) if is_number and _DIGITS.fullmatch(text) else None
