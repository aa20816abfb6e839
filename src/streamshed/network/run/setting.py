"""What a setting is: its default, what it means, and the form of its values."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, fields
from typing import Any

from streamshed.errors import Problem
from streamshed.network.run.forms import Form
from streamshed.network.words.schema_forms import Schema

_SETTING = "setting"


@dataclass(frozen=True, slots=True)
class Setting:
    """One setting, as all who name it say it.

    Attributes:
        name: The field, the keyword, the key of a document; the option with hyphens.
        description: What it does, a sentence.
        form: What its values are.
        default: Its value where nothing is said.
        unless: What holds where nothing is said, if the default does not tell.
    """

    name: str
    description: str
    form: Form
    default: object
    unless: str | None

    @property
    def schema(self) -> Schema:
        """Its JSON Schema."""
        description = self.description if self.unless is None else f"{self.description} By default {self.unless}."
        default = {"default": self.default} if isinstance(self.default, bool | int | float | str) else {}
        return {"description": description, **default, **self.form.schema}


def setting(default: Any, description: str, form: Form, *, unless: str | None = None) -> Any:
    """Make a field of a class of settings."""
    return field(default=default, metadata=meaning(description, form, unless=unless))


def meaning(description: str, form: Form, *, unless: str | None = None) -> Mapping[str, Any]:
    """Return the metadata of a field that is a setting; `setting` is the field of one that may be left out."""
    return {_SETTING: (description, form, unless)}


def shared(kind: type, name: str) -> Any:
    """Make a field that is the setting of a name of another class: its default, its meaning, its form."""
    [column] = (column for column in fields(kind) if column.name == name)
    return field(default=column.default, metadata=column.metadata)


def settings_of(kind: type) -> dict[str, Setting]:
    """Return the table of the settings that a class has, by name."""
    return {
        column.name: Setting(column.name, description, form, column.default, unless)
        for column in fields(kind)
        if _SETTING in column.metadata
        for description, form, unless in [column.metadata[_SETTING]]
    }


def value_problems(settings: object) -> Iterator[Problem]:
    """Tell what is wrong with each value of an object of settings by itself."""
    for name, row in settings_of(type(settings)).items():
        value = getattr(settings, name)
        if value is not None or row.default is not None:
            yield from row.form.problems(name, value)
