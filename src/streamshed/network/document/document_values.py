"""Values of a document that several of its parts hold: texts, lengths, paths, options."""

import os.path
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from streamshed.network.words.document_problem import Place
from streamshed.network.words.duration import format_duration
from streamshed.network.words.local_path import local_path
from streamshed.network.words.numbering import MICROSECONDS_PER_NUMBER, parse_window_length
from streamshed.network.words.schema_forms import Schema


def mapping_at(body: Mapping[str, object], key: str) -> Mapping[str, object]:
    """The mapping under a key; empty where there is none."""
    value = body.get(key)
    return value if isinstance(value, dict) else {}


def text_at(body: Mapping[str, object], key: str) -> str | None:
    """The text under a key; None where there is none."""
    value = body.get(key)
    return value if isinstance(value, str) else None


def indexed_texts(items: object) -> dict[int, str]:
    """The texts of a list, by index; empty where it is none."""
    return {index: item for index, item in enumerate(items if isinstance(items, list) else []) if isinstance(item, str)}


def is_given(place: Place, body: Mapping[str, object], key: str) -> bool:
    """Whether the document says something under a key, be it right or wrong."""
    return key in body or place.at(key).is_unusable


@dataclass(frozen=True, slots=True)
class LengthUnit:
    """What lengths are in.

    Attributes:
        is_numbered: Whether they are of a stream that has numbers; None: not known, so that they may be either.
        is_by_count: Whether they are in rows.
    """

    is_numbered: bool | None
    is_by_count: bool = False


def read_length(place: Place, length: object, unit: LengthUnit) -> int | None:
    """The microseconds of a length, as `parse_window_length` takes it; None where it cannot be read."""
    is_numbered = isinstance(length, int) if unit.is_numbered is None else unit.is_numbered
    return place.attempt(
        length, lambda: parse_window_length(length, is_numbered=is_numbered, is_by_count=unit.is_by_count)
    )


def written_length(microseconds: int, *, is_numbered: bool) -> str | int:
    """Write a length, the inverse of `read_length`, but for rows."""
    return microseconds // MICROSECONDS_PER_NUMBER if is_numbered else format_duration(microseconds)


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
