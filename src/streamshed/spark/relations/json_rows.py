"""Lines of JSON objects as columns; numbers stay the text that stands in the file until their type is known."""

from __future__ import annotations

import base64
import binascii
import json
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import pyarrow as pa


class _Number(str):
    """A number as it is written."""

    __slots__ = ()


_DECODER = json.JSONDecoder(parse_int=_Number, parse_float=_Number, parse_constant=_Number)


def json_rows(lines: Iterable[str]) -> list[Mapping[str, Any]]:
    """Read lines with an object each; empty ones do not count. Names are in lower case.

    Raises:
        ValueError: A line is no JSON object.
    """
    return [_object(number, line) for number, line in enumerate(lines, start=1) if line.strip()]


def json_column(rows: Sequence[Mapping[str, Any]], field: pa.Field) -> pa.Array:
    """Take a column out of objects, null where there is none: as text where the field's type is not nested.

    Raises:
        ValueError: A value cannot be of a type that is nested, or `binary`.

    Example:
        >>> rows = json_rows(['{"Zip": "00123"}', '{"zip": 1.50}', '{"zip": true}', '{}'])
        >>> json_column(rows, pa.field("zip", pa.string())).to_pylist()
        ['00123', '1.50', 'true', None]
    """
    values = [row.get(field.name.lower()) for row in rows]
    try:
        if pa.types.is_nested(field.type):
            return pa.array([_plain(value) for value in values], field.type)
        if pa.types.is_binary(field.type) or pa.types.is_large_binary(field.type):
            return pa.array([None if value is None else base64.b64decode(value, validate=True) for value in values])
    except (pa.ArrowException, TypeError, binascii.Error) as error:
        raise ValueError(f'the column "{field.name}" cannot be read as {field.type}: {error}') from error
    return pa.array([_text(value) for value in values], pa.string())


def _object(number: int, line: str) -> Mapping[str, Any]:
    try:
        match _DECODER.decode(line):
            case dict() as fields:
                return {name.lower(): value for name, value in fields.items()}
            case _:
                reason = "of another kind"
    except json.JSONDecodeError as error:
        reason = str(error)
    raise ValueError(f"line {number} is no JSON object ({reason}), got {line.strip()[:60]!r}")


def _text(value: Any) -> str | None:
    if value is None or isinstance(value, str):
        return None if value is None else str(value)
    return json.dumps(_plain(value), ensure_ascii=False)


def _plain(value: Any) -> Any:
    match value:
        case _Number():
            return int(value) if value.lstrip("-").isdigit() else float(value)
        case dict():
            return {name: _plain(inside) for name, inside in value.items()}
        case list():
            return [_plain(inside) for inside in value]
        case _:
            return value
