"""What was dropped, predicted from what was answered, beside the exact values."""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from streamshed.answering.predict.prediction import predict_groups
from streamshed.answering.table.window_partials import Doubles, Longs
from streamshed.cli.demo.answers import Pair
from streamshed.network.run.prediction_settings import DEFAULT_PREDICTION_METHOD


@dataclass(frozen=True, slots=True)
class PredictionFigures:
    """How predictions of dropped windows fared.

    Args:
        predicted: How many values were predicted: those between two answers of their group.
        error: Σ|prediction − exact| / Σ|exact|.
    """

    predicted: int = 0
    error: float = 0.0


def prediction_figures(pairs: Sequence[Pair]) -> PredictionFigures:
    """Predict what was dropped, as `streamshed predict` does, and compare it with what plain Spark computed."""
    alike: dict[tuple[bytes, bytes], list[_PredictedGroup]] = {}
    for group in _groups(pairs):
        alike.setdefault((group.numbers.tobytes(), group.missing.tobytes()), []).append(group)
    count, deviation, total = 0, 0.0, 0.0
    for groups in alike.values():
        values, truths = (np.stack([getattr(group, name) for group in groups]) for name in ("values", "truths"))
        numbers, missing = groups[0].numbers, groups[0].missing
        predicted_values = predict_groups(numbers, values, missing, method=DEFAULT_PREDICTION_METHOD).values
        count += truths.size
        deviation += float(np.abs(predicted_values - truths).sum())
        total += float(np.abs(truths).sum())
    return PredictionFigures(count, deviation / total if total else float(deviation > 0))


@dataclass(frozen=True, slots=True)
class _PredictedGroup:
    """Numbers and answers of the windows that a group was answered; numbers and exact values of those between."""

    numbers: Longs
    values: Doubles
    missing: Longs
    truths: Doubles


def _groups(pairs: Sequence[Pair]) -> Iterator[_PredictedGroup]:
    ordered = sorted(pairs, key=lambda pair: (*pair.truth.place[:2], str(pair.truth.key), pair.truth.start))
    for _, of_query in itertools.groupby(ordered, key=lambda pair: pair.truth.query):
        each = list(of_query)
        if not any(pair.is_dropped for pair in each):
            continue
        first = each[0].truth.start
        slide = math.gcd(*(pair.truth.start - first for pair in each)) or 1
        for _, members in itertools.groupby(each, key=lambda pair: (pair.truth.aggregate, pair.truth.key)):
            yield from _between(list(members), first, slide)


def _between(pairs: Sequence[Pair], first: int, slide: int) -> Iterator[_PredictedGroup]:
    numbered = [((pair.truth.start - first) // slide, pair) for pair in pairs]
    answered = [
        (number, pair.answer.value)
        for number, pair in numbered
        if pair.answer is not None and pair.answer.value is not None
    ]
    if not answered:
        return
    missing = [
        (number, pair.truth.value)
        for number, pair in numbered
        if pair.is_dropped and answered[0][0] < number < answered[-1][0]
    ]
    if missing:
        (numbers, values), (places, truths) = (zip(*of, strict=True) for of in (answered, missing))
        yield _PredictedGroup(
            np.array(numbers, np.int64),
            np.array(values, np.float64),
            np.array(places, np.int64),
            np.array(truths, np.float64),
        )
