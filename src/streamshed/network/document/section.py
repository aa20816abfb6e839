"""Sections of a document: of each key what may stand there, and how it is read and written."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from enum import StrEnum
from functools import partial
from pathlib import Path
from typing import Any

from streamshed.network.document.document_values import path_in, said
from streamshed.network.words.document_problem import Place
from streamshed.network.words.schema_forms import Schema, mapping


def _unchanged(value: Any) -> Any:
    return value


def _plain(value: Any) -> Any:
    return str(value) if isinstance(value, StrEnum) else value


def elsewhere(*_: object) -> None:
    """Reader of a key that is read apart from its section."""


@dataclass(frozen=True, slots=True)
class Field:
    """One key of a section.

    Attributes:
        schema: What may stand there, with its sentence and its default.
        name: The attribute of the value that the section describes; empty: it is named like the key.
        read: Makes the attribute of what stands there, or raises `InvalidNetworkError`.
        write: Makes what stands there of the attribute; None: nothing.
        is_path: Whether it leads to a file or folder, from the document's folder on.
        reader: In the place of `read`: given the place, what stands there and the section's context, it reports
            problems itself, and returns None where there are any.
        part: What is written, made of the whole value that the section describes; None: its attribute.
    """

    schema: Schema
    name: str = ""
    read: Callable[[Any], Any] = _unchanged
    write: Callable[[Any], Any] = _plain
    is_path: bool = False
    reader: Callable[[Place, Any, Any], Any] | None = None
    part: Callable[[Any], Any] | None = None


@dataclass(frozen=True, slots=True)
class Section:
    """A mapping that describes one value.

    Attributes:
        description: What it is, a sentence.
        fields: Its keys, by a schema alone where an attribute of that name has what stands there.
        required: Those that must be there.

    Example:
        >>> from streamshed.network.run.load_prior import LoadPrior
        >>> from streamshed.network.words.document_problem import Findings
        >>> prior = Section("Costs.", {"fixed": Field({"default": 1.0}, "fixed_seconds", float)})
        >>> values = prior.values(Place(Findings()), {"fixed": 2})
        >>> values, prior.written(LoadPrior(**values)), prior.said(LoadPrior(fixed_seconds=1.0))
        ({'fixed_seconds': 2.0}, {'fixed': 2.0}, {})
    """

    description: str
    fields: Mapping[str, Field | Schema]
    required: tuple[str, ...] = ()

    @property
    def schema(self) -> Schema:
        """Its JSON Schema, where it has no other keys."""
        return mapping(self.description, self.properties, *self.required)

    @property
    def properties(self) -> dict[str, Schema]:
        """The schema of each key."""
        return {key: field.schema for key, field in self._fields.items()}

    def values(
        self, place: Place, body: Mapping[str, Any], folder: Path = Path(), *, context: Any = None
    ) -> dict[str, Any]:
        """Read what is there and can be read, by attribute; what cannot be is reported.

        Args:
            place: Where it stands.
            body: What the document says, as far as its shape is right.
            folder: Where relative paths begin.
            context: What its fields need to be read; of one type per section.
        """
        values: dict[str, Any] = {}
        for key, field in self._fields.items():
            if key in body:
                here, text = place.at(key), path_in(folder, body[key]) if field.is_path else body[key]
                if field.reader is None:
                    value = here.attempt(body[key], partial(field.read, text))
                else:
                    value = field.reader(here, text, context)
                values |= {} if value is None else {field.name or key: value}
        return values

    def read(
        self, place: Place, body: Mapping[str, Any], folder: Path = Path(), *, context: Any = None
    ) -> dict[str, Any] | None:
        """Read all of it, likewise; None where a key that is required is missing, or one cannot be read."""
        values = self.values(place, body, folder, context=context)
        needed = (field.name or key for key, field in self._fields.items() if key in {*self.required, *body})
        return values if values.keys() >= {*needed} else None

    def written(self, value: object) -> dict[str, Any]:
        """Write a value, but for attributes that are None."""
        written: dict[str, Any] = {}
        for key, field in self._fields.items():
            part = getattr(value, field.name or key) if field.part is None else field.part(value)
            written[key] = None if part is None else field.write(part)
        return {key: each for key, each in written.items() if each is not None}

    def said(self, value: object) -> dict[str, Any]:
        """Write a value, but for defaults."""
        return said(self.written(value), self.schema)

    @property
    def _fields(self) -> Mapping[str, Field]:
        return {key: field if isinstance(field, Field) else Field(field) for key, field in self.fields.items()}


def checked(parse: Callable[[str], object]) -> Callable[[str], str]:
    """Return a reader of texts that stay as they are, once they can be parsed."""

    def read(text: str) -> str:
        parse(text)
        return text

    return read
