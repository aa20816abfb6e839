"""The forms that values of the network document have, as JSON Schema.

A title is what people call the form, where the type does not say it. Where there is no default that is a value, the
description ends with "By default ...".
"""

from collections.abc import Mapping
from typing import Any, TypeAlias

Schema: TypeAlias = dict[str, Any]


def text(description: str, **more: object) -> Schema:
    """Text that is not empty."""
    return {"type": "string", "minLength": 1, "description": description, **more}


def sql(description: str, example: str) -> Schema:
    """An SQL expression or call."""
    return text(description, title="SQL", examples=[example])


def path(description: str, example: str) -> Schema:
    """A path or a URI."""
    return text(description, title="path", examples=[example])


def duration(description: str, example: str, **more: object) -> Schema:
    """A duration."""
    return text(description, title="duration", examples=[example], **more)


def length(description: str, example: str, **more: object) -> Schema:
    """A duration, or how many numbers."""
    return duration(description, example, **more) | {"type": ["string", "integer"], "title": "duration or whole number"}


def flag(description: str) -> Schema:
    """Yes or no, by default no."""
    return {"type": "boolean", "default": False, "description": description}


def choice(description: str, choices: list[str], **more: object) -> Schema:
    """One of some words."""
    return {"type": "string", "enum": choices, "description": description, **more}


def whole_number(description: str, **more: object) -> Schema:
    """A whole number."""
    return {"type": "integer", "description": description, **more}


def number(description: str, **more: object) -> Schema:
    """A number."""
    return {"type": "number", "description": description, **more}


def names(description: str, example: list[str]) -> Schema:
    """A list of names, each once."""
    items = {"type": "string", "minLength": 1}
    return {
        "type": "array",
        "items": items,
        "minItems": 1,
        "uniqueItems": True,
        "description": description,
        "examples": [example],
    }


def mapping(description: str, properties: Mapping[str, Schema], *required: str, **more: object) -> Schema:
    """A mapping with these keys and no others."""
    return {
        "type": "object",
        "description": description,
        "properties": dict(properties),
        "required": list(required),
        "additionalProperties": False,
        **more,
    }


def by_name(description: str, each: Schema, **more: object) -> Schema:
    """A mapping from names to values of one form."""
    return {"type": "object", "description": description, "additionalProperties": each, **more}


def reference(definition: str) -> Schema:
    """What is defined under a name in `$defs`."""
    return {"$ref": f"#/$defs/{definition}"}
