"""Values of a document that several of its parts hold: texts, durations, paths, options."""

import os.path
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from streamshed.network.words.document_problem import Place
from streamshed.network.words.duration import parse_duration
from streamshed.network.words.local_path import local_path
from streamshed.network.words.numbering import parse_window_length
from streamshed.network.words.schema_forms import Schema


def mapping_at(body: Mapping[str, object], key: str) -> Mapping[str, object]:
    """The mapping under a key; empty where there is none."""
    value = body.get(key)
    return value if isinstance(value, dict) else {}


def text_at(body: Mapping[str, object], key: str) -> str | None:
    """The text under a key; None where there is none."""
    value = body.get(key)
    return value if isinstance(value, str) else None


def texts_at(body: Mapping[str, object], key: str) -> dict[int, str]:
    """The texts of a list under a key, by index; empty where there is none."""
    value = body.get(key)
    items = value if isinstance(value, list) else []
    return {index: item for index, item in enumerate(items) if isinstance(item, str)}


def is_given(place: Place, body: Mapping[str, object], key: str) -> bool:
    """Whether the document says something under a key, be it right or wrong."""
    return key in body or place.at(key).is_unusable


def duration_at(place: Place, body: Mapping[str, object], key: str) -> int | None:
    """The microseconds of the duration under a key; None where there is none, or none that can be read."""
    text = text_at(body, key)
    return None if text is None else place.at(key).attempt(text, lambda: parse_duration(text))


def length_at(
    place: Place, body: Mapping[str, object], key: str, *, is_numbered: bool | None, is_by_count: bool = False
) -> int | None:
    """The microseconds of the length under a key, as `parse_window_length` takes it.

    Args:
        place: Where it stands.
        body: What holds it.
        key: Under which key.
        is_numbered: Whether it is of a stream that has numbers; None: not known, so that it may be either.
        is_by_count: Whether it is in rows.
    """
    length = body.get(key)
    if not isinstance(length, int | str):
        return None
    kind = isinstance(length, int) if is_numbered is None else is_numbered
    return place.at(key).attempt(length, lambda: parse_window_length(length, is_numbered=kind, is_by_count=is_by_count))


def said(values: Mapping[str, Any], schema: Schema, **defaults: object) -> dict[str, Any]:
    """Leave out what a document need not say: values that are None, or what holds where nothing is said.

    Args:
        values: By key.
        schema: That of the mapping, which tells defaults.
        **defaults: Those that depend on other values.

    Example:
        >>> said({"size": 5, "slide": 5, "options": {}, "limit": None}, {"properties": {}}, slide=5, options={})
        {'size': 5}
    """
    defaults_told = {key: value["default"] for key, value in schema["properties"].items() if "default" in value}
    return {key: value for key, value in values.items() if value != (defaults_told | defaults).get(key)}


def path_in(folder: Path, path: str) -> str:
    """Make a path absolute that is relative to the document's folder; URIs stay as they are.

    Example:
        >>> path_in(Path("/flows"), "../data/packets"), path_in(Path("/flows"), "s3a://flows/packets")
        ('/data/packets', 's3a://flows/packets')
    """
    local = local_path(path)
    return path if local is None else os.path.normpath(folder.absolute() / local)
