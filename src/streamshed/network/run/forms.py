"""The forms that values of settings have: what is wrong with a value in Python, and its schema in a document."""

from __future__ import annotations

import operator
import os
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import partial
from typing import Any

from streamshed.errors import InvalidNetworkError, Problem, closest_name, unknown_name
from streamshed.network.words.given import given_names, is_a, is_filled_text, is_finite, is_number, is_whole_number
from streamshed.network.words.schema_forms import Schema

_BOUNDS: Mapping[str, tuple[str, Callable[[Any, Any], bool]]] = {
    "exclusiveMinimum": ("more than", operator.gt),
    "minimum": ("at least", operator.ge),
    "exclusiveMaximum": ("less than", operator.lt),
    "maximum": ("at most", operator.le),
}


@dataclass(frozen=True, slots=True)
class Form:
    """The form of a setting's values.

    Attributes:
        schema: As JSON Schema.
        problems: Tells what is wrong with a value of the setting of a name; nothing where nothing is.
        is_path: Whether it leads to a file or folder.
    """

    schema: Schema
    problems: Callable[[str, object], Iterable[Problem]]
    is_path: bool = False


def flag() -> Form:
    """Yes or no."""

    def problems(name: str, value: object) -> Iterator[Problem]:
        if not is_a(value, bool):
            yield Problem(f"the {name} must be True or False", name, got=repr(value))

    return Form({"type": "boolean"}, problems)


def number(**bounds: float) -> Form:
    """A number within bounds, named as JSON Schema does."""
    return Form({"type": "number", **bounds}, partial(_number_problems, "a number", is_number, bounds))


def whole_number(**bounds: int) -> Form:
    """A whole number, likewise."""
    return Form({"type": "integer", **bounds}, partial(_number_problems, "a whole number", is_whole_number, bounds))


def _number_problems(
    kind: str, is_kind: Callable[[object], bool], bounds: Mapping[str, float], name: str, value: Any
) -> Iterator[Problem]:
    if not is_kind(value):
        yield Problem(f"the {name} must be {kind}", name, got=repr(value))
    elif not (is_finite(value) and all(_BOUNDS[key][1](value, bound) for key, bound in bounds.items())):
        yield Problem(
            f"the {name} must be {_limits(bounds, is_whole=is_kind is is_whole_number)}", name, got=repr(value)
        )


def _limits(bounds: Mapping[str, float], *, is_whole: bool) -> str:
    if bounds.keys() == {"exclusiveMinimum", "exclusiveMaximum"}:
        return "between {exclusiveMinimum} and {exclusiveMaximum}".format(**bounds)
    limits = [f"{_BOUNDS[key][0]} {bound}" for key, bound in bounds.items()]
    return " and ".join(limits if len(limits) > 1 or is_whole else ["finite", *limits])


def choice(*choices: str) -> Form:
    """One of some words."""

    def problems(name: str, value: object) -> Iterator[Problem]:
        if value not in choices:
            near_miss = closest_name(str(value), choices)
            yield Problem(f"the {name} must be one of {', '.join(choices)}", name, got=repr(value), near_miss=near_miss)

    return Form({"type": "string", "enum": list(choices)}, problems)


def text(example: str, **title: str) -> Form:
    """Text that is not empty."""

    def problems(name: str, value: object) -> Iterator[Problem]:
        if not is_filled_text(value):
            yield Problem(f'the {name} must be text such as "{example}"', name, got=repr(value))

    return Form({"type": "string", **title, "minLength": 1, "examples": [example]}, problems)


def measure(title: str, example: str, parse: Callable[[str], int], *, least: str) -> Form:
    """Text that stands for a number above 0.

    Args:
        title: What people call it.
        example: Such a text.
        parse: Reads it.
        least: What it must be, such as "longer than nothing".
    """

    def problems(name: str, value: Any) -> Iterator[Problem]:
        try:
            if parse(value) <= 0:
                yield Problem(f"the {name} must be {least}", name, got=repr(value))
        except InvalidNetworkError as error:
            yield from (Problem.of(problem, name, subject=f"the {name}") for problem in error.problems)

    return Form(text(example, title=title).schema, problems)


def path(example: str) -> Form:
    """A path or a URI."""

    def problems(name: str, value: object) -> Iterator[Problem]:
        if not is_a(value, str, os.PathLike):
            yield Problem(f'the {name} must be a path or URI, such as "{example}"', name, got=repr(value))

    return Form(text(example, title="path").schema, problems, is_path=True)


def names(kind: str, *choices: str) -> Form:
    """A list of some words, each of which is called a kind."""

    def problems(name: str, value: object) -> Iterator[Problem]:
        try:
            given = given_names(name, value)
        except InvalidNetworkError as error:
            yield from (Problem.of(problem, name) for problem in error.problems)
            return
        yield from (Problem.of(unknown_name(kind, word, choices), name) for word in given if word not in choices)

    items = {"type": "string", "enum": list(choices)}
    return Form({"type": "array", "items": items, "uniqueItems": True}, problems)


def instance(kind: type, schema: Schema) -> Form:
    """A value of a class, which a document writes by a schema of its own."""

    def problems(name: str, value: object) -> Iterator[Problem]:
        if not is_a(value, kind):
            yield Problem(f"the {name} must be {kind.__name__}(...)", name, got=repr(value))

    return Form(schema, problems)


def instances(kind: type, schema: Schema) -> Form:
    """A list of such values."""

    def problems(name: str, value: Any) -> Iterator[Problem]:
        if not (is_a(value, list, tuple) and all(is_a(item, kind) for item in value)):
            yield Problem(f"the {name} must be a list of {kind.__name__}(...)", name, got=repr(value))

    return Form(schema, problems)
