"""Predicted values of windows that were dropped, each with an error that the past tells ([T06] §6).

A prediction is no answer: nothing of the window's rows is in it, but what other windows were answered. So its error is
not known; it is taken to be as large as it is where the answer is there, and hidden from the prediction along with as
many of its neighbors as are missing around the gap.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from streamshed.answering.window_partials import Doubles, Longs
from streamshed.errors import InvalidNetworkError, near_miss

JUDGED_BY = 100
"""So many answers, those before the gap that are nearest to it, tell how far off predictions are."""

FEWEST = 8
"""Where there are fewer before it, those after it tell as well."""

NEIGHBORS = (1, 2, 3, 5, 8)
"""So many answers on each side are tried by `local`."""


@dataclass(frozen=True, slots=True)
class Predicted:
    """Predictions, one per window.

    Attributes:
        values: The values; NaN where no window was answered.
        errors: How far off they are expected to be, a standard error; NaN where nothing tells.
    """

    values: Doubles
    errors: Doubles


def predict(numbers: Longs, values: Doubles, missing: Longs, *, method: str = "local") -> Predicted:
    """Predict the values of dropped windows of one query, group and aggregate.

    Args:
        numbers: Of the windows that were answered, ascending.
        values: Their values.
        missing: Numbers of those that were dropped, ascending.
        method: "linear": a line between the answers on both sides of the gap. "local": a line through several answers
            on each side, weighted by how near they are; as many as would have served best so far: the noise of single
            windows is averaged out.

    Raises:
        InvalidNetworkError: There is no such method.

    Example:
        >>> told = predict(np.array([0, 1, 2, 5, 6]), np.array([0.0, 1, 2, 5, 6]), np.array([3, 4]), method="linear")
        >>> told.values.tolist()
        [3.0, 4.0]
    """
    check_method(method)
    if not len(numbers) or not len(missing):
        nothing = np.full(len(missing), np.nan)
        return Predicted(nothing, nothing)
    found, errors = np.empty(len(missing)), np.empty(len(missing))
    judged: dict[tuple[tuple[int, int], int], tuple[float, int]] = {}
    for place, number in enumerate(missing.tolist()):
        hidden = _hidden_around(numbers, number)
        before = int(np.searchsorted(numbers, number)) // _JUDGED_ANEW * _JUDGED_ANEW
        if (hidden, before) not in judged:
            judged[hidden, before] = _best(numbers, values, before, hidden, _METHODS[method])
        errors[place], count = judged[hidden, before]
        found[place] = _lines_at(numbers, values, missing[place : place + 1], hidden, count)[0]
    return Predicted(found, errors)


def check_method(method: str) -> None:
    """Refuse a method that there is not.

    Raises:
        InvalidNetworkError: There is no such method.
    """
    if method not in _METHODS:
        raise InvalidNetworkError(
            f'unknown method "{method}", known are: {", ".join(_METHODS)}{near_miss(method, _METHODS)}'
        )


_METHODS = {"linear": (1,), "local": NEIGHBORS}

_JUDGED_ANEW = 10
"""After so many more answers, how far off predictions are is found out anew."""

_NONE = 2**40
"""So far away is what is not there."""


def _hidden_around(numbers: Longs, number: int) -> tuple[int, int]:
    """How far the answers next to a missing window are, before and after it."""
    after = int(np.searchsorted(numbers, number))
    before = number - int(numbers[after - 1]) if after > 0 else _NONE
    return before, int(numbers[after]) - number if after < len(numbers) else _NONE


def _best(
    numbers: Longs, values: Doubles, before: int, hidden: tuple[int, int], counts: tuple[int, ...]
) -> tuple[float, int]:
    """The standard error of the best of some numbers of neighbors, judged by the answers before a gap, and which."""
    last = before if before >= FEWEST else min(len(numbers), before + FEWEST)
    judged = np.arange(max(0, last - JUDGED_BY), last)
    errors = [(_rms(numbers, values, judged, hidden, count), count) for count in counts]
    known = [one for one in errors if np.isfinite(one[0])]
    return min(known) if known else (float("nan"), counts[0])


def _rms(numbers: Longs, values: Doubles, judged: Longs, hidden: tuple[int, int], count: int) -> float:
    """How far off predictions of known answers are, hidden with what would be missing around them."""
    off = _lines_at(numbers, values, numbers[judged], hidden, count) - values[judged]
    known = off[np.isfinite(off)]
    return float(np.sqrt(np.mean(known**2))) if known.size else float("nan")


def _lines_at(numbers: Longs, values: Doubles, at: Longs, hidden: tuple[int, int], count: int) -> Doubles:
    """The values at some windows of lines through `count` answers on each side that are no nearer than those hidden."""
    until = np.searchsorted(numbers, at - hidden[0], side="right")[:, None]
    since = np.searchsorted(numbers, at + hidden[1], side="left")[:, None]
    steps = np.arange(count)
    places = np.concatenate((until - 1 - steps, since + steps), axis=1)
    is_there = (places >= 0) & (places < len(numbers))
    places = np.clip(places, 0, len(numbers) - 1)
    distances = np.where(is_there, numbers[places] - at[:, None], 0).astype(np.float64)
    chosen = np.where(is_there, values[places], 0.0)
    is_between = (until[:, 0] > 0) & (since[:, 0] < len(numbers))
    furthest = np.abs(distances).max(axis=1, keepdims=True) + 1.0
    # On one side of them all, a line would run away: there it is their mean.
    weights = np.where(is_between[:, None], (1 - (np.abs(distances) / furthest) ** 3) ** 3, 1.0) * is_there
    with np.errstate(invalid="ignore", divide="ignore"):
        total = weights.sum(axis=1)
        mean, level = ((weights * one).sum(axis=1) / total for one in (distances, chosen))
        spread = (weights * (distances - mean[:, None]) ** 2).sum(axis=1)
        slope = (weights * (distances - mean[:, None]) * (chosen - level[:, None])).sum(axis=1) / spread
    found: Doubles = level - np.where(is_between & (spread > 0), slope * mean, 0.0)
    return found
