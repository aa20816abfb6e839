"""Aggregates of the user's own, F(init, incr, final), over the rows of a window in order ([T06] §2)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from streamshed.answering.table.user_methods import FLOATS, WHOLE, UserAggregateError, UserMethods, UserShape
from streamshed.answering.table.window_partials import WindowPartials
from streamshed.answering.table.written import doubles_written
from streamshed.answering.user.collected_rows import in_order
from streamshed.answering.user.user_windows import window_answer


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
    """Aggregate the values of windows in order of time; values of the same time in order of their texts.

    The states of folded slices are merged, see `user_folding`.

    Args:
        shape: The aggregate.
        partials: Of the windows; one without rows has no answer.

    Raises:
        UserAggregateError: A method failed, or `final` returned what is not of the type that was declared.
    """
    if shape is None:
        raise TypeError("an aggregate of the user's own has a shape")
    key = f"answers of {shape}"
    if key not in partials.memo:
        partials.memo[key] = _answers(shape, partials.array("collected"))
    answers: UserAnswers = partials.memo[key]
    return answers


def _answers(shape: UserShape, collected: pa.Array) -> UserAnswers:
    user = UserMethods(shape)
    lists = in_order(collected)
    answers = [window_answer(shape, user, lists.rows(own)) if own.stop > own.start else None for own in lists]
    return _written(shape, answers)


def _written(shape: UserShape, answers: Sequence[object]) -> UserAnswers:
    kind = shape.returns
    none = pa.nulls(len(answers), pa.float64())
    try:
        if kind in FLOATS:
            numbers = pa.array([None if one is None else float(one) for one in answers], pa.float64())  # type: ignore[arg-type]
            return UserAnswers(numbers, doubles_written(numbers))
        if kind in WHOLE:
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
