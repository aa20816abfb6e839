"""A schema of Avro with the definitions of names that other schemas bring."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from typing import Any

from streamshed.errors import InvalidNetworkError, Problem

_DEFINED_BY_NAME = frozenset({"record", "error", "enum", "fixed"})


def whole_schema(text: str, others: Iterable[str]) -> str:
    """Return a schema with what its names mean in place of their first use.

    Args:
        text: The schema.
        others: The schemas of those names.

    Raises:
        InvalidNetworkError: One of them is no JSON.

    Example:
        >>> host = '{"type": "enum", "name": "Host", "symbols": ["a"]}'
        >>> whole_schema('{"type": "record", "name": "P", "fields": [{"name": "h", "type": "Host"}]}', [host])
        '{"type": "record", "name": "P", "fields": [{"name": "h", "type": {"namespace": "", ...
    """
    try:
        schema, *schemas = (json.loads(each) for each in (text, *others))
        definitions = {
            full_name(str(each.get("name")), each.get("namespace", "")): each
            for each in schemas
            if isinstance(each, dict)
        }
        return json.dumps(_whole(schema, "", definitions, set()))
    except (ValueError, RecursionError) as error:
        raise InvalidNetworkError(
            Problem(f"it is no JSON, or what it refers to is none ({error})", "schema")
        ) from error


def full_name(name: str, space: object) -> str:
    """Return a name with its namespace.

    Example:
        >>> full_name("Host", "net"), full_name("net.Host", "other"), full_name("Host", None)
        ('net.Host', 'net.Host', 'Host')
    """
    return name if "." in name or not space else f"{space}.{name}"


def _whole(schema: Any, space: str, definitions: Mapping[str, Any], defined: set[str]) -> Any:
    if isinstance(schema, list):
        return [_whole(each, space, definitions, defined) for each in schema]
    if isinstance(schema, str):
        full = next((each for each in (full_name(schema, space), schema) if each in definitions), None)
        if full is None or full in defined:
            return schema
        # Not that of where it stands now.
        return _whole({"namespace": "", **definitions[full]}, "", definitions, defined)
    if not isinstance(schema, dict):
        return schema
    if isinstance(kind := schema.get("type"), str) and kind in _DEFINED_BY_NAME:
        full = full_name(str(schema.get("name")), schema.get("namespace", space))
        defined.add(full)
        space = full.rpartition(".")[0]
    fields = schema.get("fields")
    whole = {
        key: _whole(schema[key], space, definitions, defined) for key in ("type", "items", "values") if key in schema
    }
    if isinstance(fields, list):
        whole["fields"] = [_whole(each, space, definitions, defined) for each in fields]
    return schema | whole
