"""Answers beside expectations: exact for integers, decimals, times and text, 1e-9 relative for floating point."""

from __future__ import annotations

import base64
import json
import math
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from decimal import Context, Decimal
from typing import Any

from tests.spark.exactness.oracle import Expected, Place
from tests.spark.exactness.specification import Kind, QuerySpec

RELATIVE = 1e-9
CANCELED = 1e-13
"""What floating-point cancellation may leave of the magnitude of the values, where the exact result is about 0."""


@dataclass(frozen=True)
class Answer:
    """What streamshed answered: the texts of the key, the value as a double and as text, rows used."""

    window_start: int
    key: tuple[str | None, ...]
    aggregate: str
    value: float | None
    text: str | None
    rows: int


def first_difference(query: QuerySpec, answers: Sequence[Answer], expected: Mapping[Place, Expected]) -> str | None:
    """Describe the first answer that is wrong, missing, given twice or not asked for; None: all agree."""
    functions = {call.name: call.function for call in query.aggregates}
    wanted = {
        (place.window_start, key_expected(query, place.key), place.aggregate): found
        for place, found in expected.items()
    }
    seen: set[tuple[Any, ...]] = set()
    for answer in sorted(answers, key=lambda one: (one.window_start, one.aggregate, repr(one.key))):
        place = (answer.window_start, key_given(query, answer.key), answer.aggregate)
        if place in seen:
            return f"{place}: answered twice"
        seen.add(place)
        if place not in wanted:
            return f"{place}: answered {answer.text} from {answer.rows} rows, expected nothing"
        if (problem := _difference(answer, wanted[place], functions[answer.aggregate])) is not None:
            return f"{place}: {problem}"
    missing = [place for place in wanted if place not in seen]
    return f"{min(missing, key=repr)}: no answer" if missing else None


def key_expected(query: QuerySpec, key: Sequence[Any]) -> tuple[str | None, ...]:
    """Write the key of an expected answer as `key_given` does."""
    return tuple(_key_text(part, sql.kind) for part, (_, sql) in zip(key, query.keys, strict=True))


def key_given(query: QuerySpec, key: Sequence[str | None]) -> tuple[str | None, ...]:
    """Write the key of an answer so that equal keys have equal texts."""
    return tuple(_normal_key(part, sql.kind) for part, (_, sql) in zip(key, query.keys, strict=True))


def _difference(answer: Answer, expected: Expected, function: str) -> str | None:
    got = f"got value {answer.value}, text {answer.text}, rows {answer.rows}; expected {expected}"
    if answer.rows != expected.rows:
        return f"other rows: {got}"
    if expected.value is None:
        return None if answer.text is None and answer.value is None else got
    if expected.kind is Kind.DOUBLE:
        allowed = _allowance(expected, function)
        texts = answer.text is not None and _close(float(answer.text), expected.value, allowed)
        return None if texts and answer.value is not None and _close(answer.value, expected.value, allowed) else got
    if answer.text != _value_text(expected.value, expected.kind):
        return got
    number = _number(expected.value, expected.kind)
    if number is None:
        return None if answer.value is None else got
    return None if answer.value is not None and _close(answer.value, number, 0.0) else got


def _allowance(expected: Expected, function: str) -> float:
    magnitude = expected.magnitude if math.isfinite(expected.magnitude) else 0.0
    match function:
        case "variance" | "var_pop":
            return CANCELED * magnitude * magnitude
        case "stddev" | "stddev_pop":
            return math.sqrt(CANCELED) * magnitude
        case _:
            return CANCELED * magnitude * expected.rows


def _close(got: float, expected: float, allowed: float) -> bool:
    if math.isnan(expected) or math.isinf(expected):
        return repr(got) == repr(float(expected))
    return math.isclose(got, float(expected), rel_tol=RELATIVE, abs_tol=allowed)


def _number(value: Any, kind: Kind) -> float | None:
    """The double that stands beside the text."""
    match kind:
        case Kind.TEXT | Kind.BINARY:
            return None
        case Kind.TIMESTAMP | Kind.LOCAL:
            return _epoch_seconds(value)
        case Kind.DATE:
            return _epoch_seconds(datetime(value.year, value.month, value.day))  # noqa: DTZ001 - UTC by convention
        case _:
            return float(value)


def _epoch_seconds(value: datetime) -> float:
    return (value - datetime(1970, 1, 1)).total_seconds()  # noqa: DTZ001 - UTC by convention


def _value_text(value: Any, kind: Kind) -> str:
    match kind:
        case Kind.TIMESTAMP:
            return f"{value.isoformat(timespec='microseconds')}Z"
        case Kind.LOCAL:
            return str(value.isoformat(timespec="microseconds"))
        case Kind.DATE:
            return str(value.isoformat())
        case Kind.BOOLEAN:
            return "true" if value else "false"
        case Kind.BINARY:
            return str(value.hex().upper())
        case Kind.DECIMAL:
            return f"{value:f}"
        case _:
            return str(value)


def _key_text(value: Any, kind: Kind) -> str | None:
    if value is None:
        return None
    return repr(value + 0.0) if kind is Kind.DOUBLE else _value_text(value, kind)


def _normal_key(text: str | None, kind: Kind) -> str | None:
    return repr(float(text)) if kind is Kind.DOUBLE and text is not None else text


_EVERY_DIGIT = Context(prec=60)


def rows_difference(query: QuerySpec, found: Iterable[str], expected: Sequence[Mapping[str, Any]]) -> str | None:
    """Describe the first row that a set-valued query has too many or too few; None: all agree."""
    kinds: dict[str, Kind] = {"ts": Kind.TIMESTAMP, **dict(query.columns)}
    got = Counter(_canonical(json.loads(text, parse_float=Decimal), kinds) for text in found)
    wanted = Counter(_canonical({name: _json(row[name], kinds[name]) for name in row}, kinds) for row in expected)
    surplus, lack = got - wanted, wanted - got
    if surplus or lack:
        return f"too many: {min(surplus, default=None)}, missing: {min(lack, default=None)}"
    return None


def _canonical(row: Mapping[str, Any], kinds: Mapping[str, Kind]) -> str:
    values = {name: value for name, value in row.items() if value is not None}
    return repr(sorted((name, _normal_json(value, kinds[name])) for name, value in values.items()))


def _normal_json(value: Any, kind: Kind) -> str:
    match kind:
        case Kind.DOUBLE:
            return repr(float(value) + 0.0)
        case Kind.DECIMAL:
            return str(Decimal(value).normalize(_EVERY_DIGIT))
        case _:
            return str(value)


def _json(value: Any, kind: Kind) -> Any:
    """What a value of Python looks like in JSON."""
    if value is None:
        return None
    match kind:
        case Kind.BINARY:
            return base64.b64encode(value).decode()
        case Kind.TIMESTAMP | Kind.LOCAL | Kind.DATE:
            return _value_text(value, kind)
        case _:
            return value
