"""Types of columns, as Spark names them and as Arrow holds them."""

from __future__ import annotations

from collections.abc import Mapping

import pyarrow as pa

from streamshed.columnar.untranslatable import Untranslatable

TYPES: Mapping[str, pa.DataType] = {
    "tinyint": pa.int8(),
    "smallint": pa.int16(),
    "int": pa.int32(),
    "bigint": pa.int64(),
    "float": pa.float32(),
    "double": pa.float64(),
    "boolean": pa.bool_(),
    "string": pa.string(),
    "binary": pa.binary(),
    "date": pa.date32(),
    "timestamp": pa.timestamp("us", tz="UTC"),
    "timestamp_ntz": pa.timestamp("us"),
}
"""By Spark's name for it, the type as which Arrow holds a column."""


def arrow_types(columns: Mapping[str, str | None]) -> dict[str, pa.DataType]:
    """Return the Arrow type of each column whose type is held in the same way; others are left out.

    >>> arrow_types({"size": "int", "price": "decimal(9,2)"})
    {'size': DataType(int32)}
    """
    return {name: TYPES[kind] for name, kind in columns.items() if kind and kind in TYPES}


def arrow_type(column: str, kind: str | None) -> pa.DataType:
    """Return the Arrow type of a column.

    Raises:
        Untranslatable: Arrow holds no such type as Spark does.
    """
    if kind is None or kind not in TYPES:
        raise Untranslatable(f'the column "{column}" is {kind or "of a type that only Spark knows"}')
    return TYPES[kind]
