"""Predicted values of windows that were dropped, each with an error that the past tells ([T06] §6).

A prediction is no answer: nothing of the window's rows is in it, but what other windows were answered. So its error is
not known; it is taken to be as large as it is where the answer is there, and hidden from the prediction along with as
many of its neighbors as are missing around the gap.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from streamshed.answering.table.window_partials import Doubles, Longs
from streamshed.network.run.prediction_settings import check_prediction_method

JUDGED_BY = 100
"""So many answers, those before the gap that are nearest to it, tell how far off predictions are."""

FEWEST = 8
"""Where there are fewer before it, those after it tell as well."""

NEIGHBORS = (1, 2, 3, 5, 8)
"""So many answers on each side are tried by `local`."""

LINE, CUBIC = 1, 3
"""Degrees of what is laid through them."""


@dataclass(frozen=True, slots=True)
class Predicted:
    """Predictions, one per group and window.

    Attributes:
        values: The values; NaN where no window was answered.
        errors: How far off they are expected to be, a standard error; NaN where nothing tells.
    """

    values: Doubles
    errors: Doubles


def predict_groups(numbers: Longs, values: Doubles, missing: Longs, *, method: str) -> Predicted:
    """Predict the values of dropped windows of one aggregate, for groups that were answered the same windows.

    Args:
        numbers: Of the windows that were answered, ascending.
        values: Groups × windows, finite.
        missing: Numbers of those that were dropped, ascending.
        method: "linear": a line between the answers on both sides of the gap. "local": a line or a cubic through
            several answers on each side, near ones with more weight. The degree and the number of answers are those
            that predicted best so far. So the noise of single windows is averaged out, and turns are followed.

    Returns:
        Groups × missing windows.

    Raises:
        InvalidNetworkError: There is no such method.

    Example:
        >>> values = np.array([[0.0, 1, 2, 5, 6]])
        >>> predicted = predict_groups(np.array([0, 1, 2, 5, 6]), values, np.array([3, 4]), method="linear")
        >>> predicted.values.round(9).tolist()
        [[3.0, 4.0]]
    """
    check_prediction_method(method)
    predictions = np.full((len(values), len(missing)), np.nan)
    errors = predictions.copy()
    if not len(numbers):
        return Predicted(predictions, errors)
    curves, groups = _METHODS[method], np.arange(len(values))
    judged: dict[tuple[_KnownAnswers, int], Doubles] = {}
    for place, number in enumerate(missing.tolist()):
        known_answers = _known_around(numbers, number)
        before = int(np.searchsorted(numbers, number)) // _JUDGED_ANEW * _JUDGED_ANEW
        if (known_answers, before) not in judged:
            judged[known_answers, before] = _errors_by_curve(numbers, values, before, known_answers, curves)
        by_curve = judged[known_answers, before]
        best = np.argmin(np.where(np.isnan(by_curve), np.inf, by_curve), axis=0)
        errors[:, place] = by_curve[best, groups]
        curve_values = [
            _curves_at(numbers, values, missing[place : place + 1], known_answers, curve)[:, 0] for curve in curves
        ]
        predictions[:, place] = np.array(curve_values)[best, groups]
    return Predicted(predictions, errors)


_Curve = tuple[int, int]
"""Through how many answers on each side, and of which degree."""

_LINES: tuple[_Curve, ...] = tuple((count, LINE) for count in NEIGHBORS)
_METHODS: dict[str, tuple[_Curve, ...]] = {
    "linear": _LINES[:1],
    "local": (*_LINES, *((count, CUBIC) for count in NEIGHBORS[1:])),
}

_JUDGED_ANEW = 10
"""After so many more answers, how far off predictions are is found out anew."""

_NONE = 2**40
"""So far away is what is not there."""


@dataclass(frozen=True, slots=True)
class _KnownAnswers:
    """What is known around a missing window.

    Attributes:
        before: How far the next answer before it is, in windows.
        after: How far the next one after it is.
        count_before: How many answers there are before it; so many as can be of use.
        count_after: Likewise after it: right behind a gap that has just ended there is one.
    """

    before: int
    after: int
    count_before: int
    count_after: int


def _known_around(numbers: Longs, number: int) -> _KnownAnswers:
    after = int(np.searchsorted(numbers, number))
    count = len(numbers) - after
    return _KnownAnswers(
        before=number - int(numbers[after - 1]) if after else _NONE,
        after=int(numbers[after]) - number if count else _NONE,
        count_before=min(after, NEIGHBORS[-1]),
        count_after=min(count, NEIGHBORS[-1]),
    )


def _errors_by_curve(
    numbers: Longs, values: Doubles, before: int, known_answers: _KnownAnswers, curves: tuple[_Curve, ...]
) -> Doubles:
    """How far off each curve is on answers before a gap: curves × groups."""
    last = before if before >= FEWEST else min(len(numbers), before + FEWEST)
    judged = np.arange(max(0, last - JUDGED_BY), last)
    return np.array([_rms(numbers, values, judged, known_answers, curve) for curve in curves])


def _rms(numbers: Longs, values: Doubles, judged: Longs, known_answers: _KnownAnswers, curve: _Curve) -> Doubles:
    """The root mean square error of a curve on given answers, each predicted as if it were missing."""
    off = _curves_at(numbers, values, numbers[judged], known_answers, curve) - values[:, judged]
    is_told = np.isfinite(off)
    with np.errstate(invalid="ignore"):
        deviations: Doubles = np.sqrt((np.where(is_told, off, 0.0) ** 2).sum(axis=1) / is_told.sum(axis=1))
    return deviations


def _curves_at(numbers: Longs, values: Doubles, at: Longs, known_answers: _KnownAnswers, curve: _Curve) -> Doubles:
    """The values that curves through neighboring answers have at some windows, whose own answers are not used.

    Returns:
        Groups × windows; NaN where there are no neighboring answers.
    """
    count, degree = curve
    until = np.searchsorted(numbers, at - known_answers.before, side="right")[:, None]
    since = np.searchsorted(numbers, at + known_answers.after, side="left")[:, None]
    before, after = (np.arange(min(count, there)) for there in (known_answers.count_before, known_answers.count_after))
    places = np.concatenate((until - 1 - before, since + after), axis=1)
    is_there = (places >= 0) & (places < len(numbers))
    places = np.clip(places, 0, len(numbers) - 1)
    distances = np.where(is_there, numbers[places] - at[:, None], 0).astype(np.float64)
    is_between = (until[:, 0] > 0) & (since[:, 0] < len(numbers))
    furthest = np.abs(distances).max(axis=1, keepdims=True) + 1.0
    # Outside of all answers a line would run away: there the prediction is their mean.
    weights = np.where(is_between[:, None], (1 - (np.abs(distances) / furthest) ** 3) ** 3, 1.0) * is_there
    with np.errstate(invalid="ignore", divide="ignore"):
        total = weights.sum(axis=1, keepdims=True)
        mean = (weights * distances).sum(axis=1, keepdims=True) / total
        aside = weights * (distances - mean)
        spread = (aside * (distances - mean)).sum(axis=1, keepdims=True)
        # A line at 0 is level − slope · mean: linear in the answers, with the same coefficients for all groups.
        shares = weights / total - np.where(is_between[:, None] & (spread > 0), mean * aside / spread, 0.0)
    if degree > LINE:
        fits = is_between & (is_there.sum(axis=1) > degree)
        shares[fits] = _polynomial_shares(distances[fits] / furthest[fits], weights[fits], degree)
    first = int(places.min())
    width = int(places.max()) - first + 1
    cells = np.arange(len(at))[:, None] * width + places - first
    of_answers = np.bincount(cells.ravel(), shares.ravel(), minlength=len(at) * width).reshape(len(at), width)
    predictions: Doubles = values[:, first : first + width] @ of_answers.T
    return predictions


def _polynomial_shares(distances: Doubles, weights: Doubles, degree: int) -> Doubles:
    """The coefficient of each answer in the value at 0 of the weighted least squares polynomial.

    Args:
        distances: Of the answers, as shares of the furthest: windows × answers.
        weights: Likewise; 0 where there is none.
        degree: Of the polynomials.
    """
    powers = distances[:, :, None] ** np.arange(degree + 1)
    weighted = powers * weights[:, :, None]
    normal = np.swapaxes(powers, 1, 2) @ weighted
    shares: Doubles = (weighted @ np.linalg.pinv(normal, hermitian=True)[:, :, :1])[:, :, 0]
    return shares
