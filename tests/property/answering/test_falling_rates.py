"""Bounds hold, or are flagged, in windows of two rates: of few rows that came at the lower one none may be kept."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np
import pytest

from streamshed.answering.answer.answering import Answering
from streamshed.answering.table.output import Output, Shape
from streamshed.answering.table.shed_interval import ShedInterval
from streamshed.answering.table.value_kind import Carriage, Notation, ValueKind
from streamshed.answering.table.window_partials import Doubles
from streamshed.network.terms.aggregate import AggregateKind
from tests.thoroughness import share_of
from tests.unit.answering.partials import kept, partials, together

TRUTHS: dict[AggregateKind, Callable[[Doubles], float]] = {
    AggregateKind.SUM: lambda values: float(values.sum()),
    AggregateKind.AVG: lambda values: float(values.mean()),
    AggregateKind.STDDEV: lambda values: float(values.std(ddof=1)),
}


class Slice(NamedTuple):
    """Rows of one rate, with values between two numbers, and rows that a FILTER leaves without a value."""

    rate: float
    rows: int
    least: float = 0.5
    greatest: float = 1.5
    nulls: int = 0


WINDOWS: dict[str, Sequence[Slice]] = {
    "much lower": [Slice(0.5, 1000), Slice(0.01, 100)],
    "a tenth": [Slice(0.5, 400), Slice(0.05, 20)],
    "few rows": [Slice(0.3, 200), Slice(0.02, 60)],
    "larger values": [Slice(0.5, 400), Slice(0.02, 40, 4, 6)],
    "of both signs": [Slice(0.5, 1000, -1, 1), Slice(0.01, 100, -1, 1)],
    "negative": [Slice(0.5, 1000, -1.5, -0.5), Slice(0.01, 100, -1.5, -0.5)],
    "rows without a value": [Slice(0.5, 1000), Slice(0.01, 100, nulls=5000)],
    "hardly lower": [Slice(0.5, 1000), Slice(0.48, 3)],
}
BEYOND = {"larger values"}
"""Of which some unseen values lie beyond those that were kept."""
TRUSTED = {"hardly lower"}
"""Of which at least nine in ten sums are, as of one rate."""


def answers(slices: Sequence[Slice], function: AggregateKind, repeats: int) -> tuple[float, list[dict[str, Any]]]:
    """The truth, and answers from as many samples."""
    chance = np.random.default_rng(3)
    drawn = [(one, chance.uniform(one.least, one.greatest, one.rows)) for one in slices]
    samples = [
        together(
            *(
                kept(one.rate, values[chance.random(one.rows) < one.rate], nulls=chance.binomial(one.nulls, one.rate))
                for one, values in drawn
            )
        )
        for _ in range(repeats)
    ]
    shed = [ShedInterval(stream="s", start=0, until=10, sampling_rates={"7.0": min(one.rate for one in slices)})]
    shape = Shape(function, counts_rows=False, value=ValueKind(Carriage.DOUBLE, Notation.NUMBER), key_notations=())
    answering = Answering([Output("q", "s", "a", shape, definition_id=7, slot=0)], confidence=0.95)
    [table] = answering.answers(partials(*samples), shed)
    return TRUTHS[function](np.concatenate([values for _, values in drawn])), table.to_pylist()


@pytest.mark.parametrize("name", WINDOWS)
@pytest.mark.parametrize("function", TRUTHS, ids=str)
def test_bounds_hold_as_often_as_they_say_or_are_flagged(name: str, function: AggregateKind) -> None:
    repeats = share_of(600)
    truth, rows = answers(WINDOWS[name], function, repeats)
    holds = np.array([row["lower"] <= truth <= row["upper"] for row in rows])
    is_trusted = np.array([not row["low"] for row in rows])
    margin = 3 * np.sqrt(0.95 * 0.05 / repeats)
    if name not in BEYOND and function is not AggregateKind.STDDEV:
        assert holds.mean() >= 0.95 - margin
    assert (is_trusted & ~holds).mean() <= (0.05 + margin) * is_trusted.mean() + 0.005
    if name in TRUSTED and function is AggregateKind.SUM:
        assert is_trusted.mean() >= 0.9
