"""Aggregates of the user's own, F(init, incr, final), over the rows of a window in order ([T06] §2)."""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import UTC, date, datetime, timedelta
from decimal import Decimal
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from streamshed.answering.group_key import parts
from streamshed.answering.window_partials import WindowPartials
from streamshed.answering.written import doubles_written
from streamshed.errors import StreamshedError
from streamshed.network.function import FunctionReference

METHODS = ("init", "incr", "final")
"""What an aggregate of the user's own can do."""

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_FLOATS = frozenset({"float", "double"})
_WHOLE = frozenset({"tinyint", "smallint", "int", "bigint"})


class UserAggregateError(StreamshedError, ValueError):
    """A user's aggregate failed, or returned what cannot be an answer."""


@dataclass(frozen=True)
class UserShape:
    """How an aggregate of the user's own is computed.

    Attributes:
        function: Makes an object with the `METHODS`.
        argument_types: Types of the values that `incr` is given, Spark's names.
        returns: Type of what `final` returns, likewise.
    """

    function: FunctionReference
    argument_types: tuple[str, ...]
    returns: str


@dataclass(frozen=True)
class UserAnswers:
    """What aggregates of windows are.

    Attributes:
        numbers: As doubles; null for none, and of types that are no numbers.
        texts: As texts, with all digits; null for none.
    """

    numbers: pa.Array
    texts: pa.Array


def user_answers(shape: UserShape | None, partials: WindowPartials) -> UserAnswers:
    """Aggregate the values of windows, in order of their time, and of their texts where that is the same.

    Args:
        shape: How.
        partials: Of the windows; one without rows has no answer.

    Raises:
        UserAggregateError: A method failed, or `final` returned what is not of the type that was declared.
    """
    if shape is None:
        raise TypeError("an aggregate of the user's own has a shape")
    key = f"answers of {shape}"
    if key not in partials.memo:
        partials.memo[key] = _answers(shape, partials.array("collected"))
    found: UserAnswers = partials.memo[key]
    return found


def _answers(shape: UserShape, collected: pa.Array) -> UserAnswers:
    made = shape.function.resolve()()
    windows = pc.list_parent_indices(collected).to_numpy(zero_copy_only=False)
    rows = pc.list_flatten(collected)
    instants, texts = rows.field("instant"), rows.field("text")
    order = pc.sort_indices(
        pa.table({"window": windows, "instant": instants, "text": texts}),
        [("window", "ascending"), ("instant", "ascending"), ("text", "ascending")],
    )
    ordered = texts.take(order).to_pylist()
    counts = np.bincount(windows, minlength=len(collected))
    ends = np.cumsum(counts)
    readers = [_reader(kind) for kind in shape.argument_types]
    answers = [
        _answer(shape, made, readers, ordered[end - count : end]) if count else None
        for count, end in zip(counts.tolist(), ends.tolist(), strict=True)
    ]
    return _written(shape, answers)


def _answer(shape: UserShape, made: Any, readers: Sequence[Callable[[str], object]], texts: Sequence[str]) -> object:
    try:
        state = made.init()
        for text in texts:
            fields = zip(readers, parts(text), strict=True)
            state = made.incr(state, *[None if part is None else read(part) for read, part in fields])
        return made.final(state)
    except Exception as error:
        raise UserAggregateError(
            f"aggregate {shape.function.name}: {type(error).__name__}: {error} (in a window of {len(texts)} rows)"
        ) from error


def _written(shape: UserShape, answers: Sequence[object]) -> UserAnswers:
    kind = shape.returns
    none = pa.nulls(len(answers), pa.float64())
    try:
        if kind in _FLOATS:
            numbers = pa.array([None if one is None else float(one) for one in answers], pa.float64())  # type: ignore[arg-type]
            return UserAnswers(numbers, doubles_written(numbers))
        if kind in _WHOLE:
            whole = pa.array([_whole(one) for one in answers], pa.int64())
            return UserAnswers(pc.cast(whole, pa.float64(), safe=False), whole.cast(pa.string()))
        texts = pa.array([None if one is None else _text(one) for one in answers], pa.string())
        if kind.startswith("decimal"):
            return UserAnswers(pc.cast(texts, pa.float64()), texts)
    except (TypeError, ValueError, OverflowError, pa.ArrowException) as error:
        raise UserAggregateError(f"aggregate {shape.function.name}: it returned what is no {kind}: {error}") from error
    return UserAnswers(none, texts)


def _whole(answer: Any) -> int | None:
    if answer is None:
        return None
    whole = int(answer)
    if whole != answer:
        raise ValueError(f"{answer!r} is no whole number")
    return whole


def _text(answer: object) -> str:
    if isinstance(answer, bool):
        return "true" if answer else "false"
    if isinstance(answer, bytes):
        return answer.hex().upper()
    if isinstance(answer, datetime):
        return answer.astimezone(UTC).replace(tzinfo=None).isoformat(" ") if answer.tzinfo else answer.isoformat(" ")
    return str(answer)


@functools.cache
def _reader(kind: str) -> Callable[[str], object]:
    """How a value of a type is read from the text that it travels as."""
    if kind in _WHOLE:
        return int
    if kind in _FLOATS:
        return float
    if kind.startswith("decimal"):
        return Decimal
    known: dict[str, Callable[[str], object]] = {
        "boolean": lambda text: text == "1",
        "binary": bytes.fromhex,
        "date": lambda text: date(1970, 1, 1) + timedelta(days=int(text)),
        "timestamp": lambda text: _EPOCH + timedelta(microseconds=int(text)),
        "timestamp_ntz": lambda text: _EPOCH.replace(tzinfo=None) + timedelta(microseconds=int(text)),
    }
    return known.get(kind, str)
