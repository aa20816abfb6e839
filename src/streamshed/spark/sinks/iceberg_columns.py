"""Answers as rows of a table of Iceberg: its columns, and what else a table there may have."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

import pyarrow as pa

from streamshed.answering.table.answer_schema import ANSWER_SCHEMA, arrow_schema

if TYPE_CHECKING:
    from pyiceberg.schema import Schema
    from pyiceberg.types import IcebergType

_TYPES = {
    "string": "string",
    "timestamp": "timestamptz",
    "array<string>": "list<string>",
    "double": "double",
    "bigint": "long",
    "boolean": "boolean",
}
COLUMNS = {
    **{name: _TYPES[kind] for name, kind in ANSWER_SCHEMA},
    "query_id": "string",
    "micro_batch_id": "long",
}
"""Name and type of each column, as Iceberg calls it: those of answers, and two more."""

_FILLED = frozenset({"kind", "query", "query_id", "micro_batch_id"})
"""Columns that are never null."""


def rows_in_arrow(answers: pa.Table, query_id: str, micro_batch_id: int) -> pa.Table:
    """Return answers with the two ids.

    Args:
        answers: Rows of the answer schema.
        query_id: Spark's.
        micro_batch_id: Of the micro-batch that they come of.

    Example:
        >>> answer = {"kind": "answer", "query": "q", "value": 3.0}
        >>> row, = rows_in_arrow(pa.Table.from_pylist([answer], arrow_schema()), "a", 7).to_pylist()
        >>> row["query"], row["query_id"], row["micro_batch_id"]
        ('q', 'a', 7)
    """
    ids = {"query_id": (query_id, pa.string()), "micro_batch_id": (micro_batch_id, pa.int64())}
    fields = [*arrow_schema(), *(pa.field(name, kind) for name, (_, kind) in ids.items())]
    columns = [answers[name] for name, _ in ANSWER_SCHEMA]
    columns += [pa.repeat(pa.scalar(value, kind), len(answers)) for value, kind in ids.values()]
    schema = pa.schema([field.with_nullable(field.name not in _FILLED) for field in fields])
    return pa.table(columns, names=schema.names).cast(schema)


def iceberg_schema() -> Schema:
    """Return the schema of a new table."""
    from pyiceberg.schema import Schema
    from pyiceberg.types import BooleanType, DoubleType, ListType, LongType, NestedField, StringType, TimestamptzType

    element_id = len(COLUMNS) + 1
    texts = ListType(element_id=element_id, element_type=StringType(), element_required=False)
    types: dict[str, IcebergType] = {
        str(kind): kind for kind in (StringType(), TimestamptzType(), texts, DoubleType(), LongType(), BooleanType())
    }
    return Schema(
        *(
            NestedField(number, name, types[kind], required=name in _FILLED)
            for number, (name, kind) in enumerate(COLUMNS.items(), start=1)
        )
    )


def misfits(schema: Schema) -> Iterator[str]:
    """Yield why the columns of a table do not take answers; it has those of answers.

    Args:
        schema: The table's.
    """
    from pyiceberg.types import ListType

    there = {field.name: field for field in schema.fields}
    for name, kind in COLUMNS.items():
        if name not in there:
            yield f"it lacks the column {name}, {kind}"
        elif str(there[name].field_type) != kind:
            yield f"its column {name} is {there[name].field_type}, it should be {kind}"
    for name, field in there.items():
        if field.required and name not in _FILLED:
            yield f"its column {name} may not be null"
        elif name in COLUMNS and isinstance(field.field_type, ListType) and field.field_type.element_required:
            yield f"elements of its column {name} may not be null"
