"""How often bounds hold, by simulation: values from constant to a Pareto distribution without variance."""

from collections.abc import Callable

import numpy as np
import pytest

from streamshed.answering.answer.answering import Answering
from streamshed.answering.table.output import Output, Shape
from streamshed.answering.table.value_kind import Carriage, Notation, ValueKind
from streamshed.network.terms.aggregate import AggregateKind
from tests.unit.answering.partials import kept, partials

ROWS, REPEATS = 8000, 500
Draw = Callable[[np.random.Generator], np.ndarray]

VALUES: dict[str, Draw] = {
    "constant": lambda _: np.full(ROWS, 3.0),
    "prices": lambda chance: np.round(1.08 + 1e-5 * chance.normal(size=ROWS), 7),
    "uniform": lambda chance: chance.random(ROWS),
    "exponential": lambda chance: chance.exponential(1.0, ROWS),
    "lognormal": lambda chance: chance.lognormal(0.0, 1.0, ROWS),
    "pareto 3": lambda chance: chance.pareto(3.0, ROWS) + 1,
    "pareto 1.2": lambda chance: chance.pareto(1.2, ROWS) + 1,
}
TRUTHS: dict[AggregateKind, Callable[[np.ndarray], np.floating]] = {
    AggregateKind.SUM: np.sum,
    AggregateKind.AVG: np.mean,
    AggregateKind.STDDEV: lambda values: np.std(values, ddof=1),
}

TRUSTED = {
    "constant": [(AggregateKind.SUM, rate) for rate in (0.5, 0.05, 0.0125)],
    "uniform": [
        *((AggregateKind.SUM, rate) for rate in (0.5, 0.05)),
        (AggregateKind.AVG, 0.05),
        (AggregateKind.STDDEV, 0.5),
    ],
    "prices": [(function, 0.5) for function in TRUTHS],
    "exponential": [(AggregateKind.SUM, 0.5), (AggregateKind.AVG, 0.5)],
}
"""Of which no more than a tenth of the answers may be flagged, or have no bounds."""


@pytest.mark.parametrize("name", VALUES)
@pytest.mark.parametrize("function", TRUTHS)
@pytest.mark.parametrize("rate", [0.5, 0.05, 0.0125])
def test_bounds_hold_as_often_as_they_say_or_are_flagged(name: str, function: AggregateKind, rate: float) -> None:
    chance = np.random.default_rng(5)
    values = VALUES[name](chance)
    truth = float(TRUTHS[function](values))
    samples = [values[chance.random(ROWS) < rate] for _ in range(REPEATS)]
    shape = Shape(function, counts_rows=False, value=ValueKind(Carriage.DOUBLE, Notation.NUMBER), key_notations=())
    answering = Answering([Output("q", "s", "a", shape, definition_id=7, slot=0)], confidence=0.95)
    [answers] = answering.answers(partials(*(kept(rate, sample) for sample in samples)))
    found = answers.to_pylist()
    trusted = [row for row in found if not row["low"] and row["lower"] is not None]
    if (function, rate) in TRUSTED.get(name, ()):
        assert len(trusted) >= 0.9 * REPEATS
    if len(trusted) >= REPEATS / 2:
        holds = np.mean([row["lower"] <= truth <= row["upper"] for row in trusted])
        assert holds >= 0.95 - 3 * np.sqrt(0.95 * 0.05 / len(trusted)) - 0.01
    flagged = [row for row in found if row["low"]]
    if name == "pareto 1.2" and rate < 0.1:
        assert len(flagged) >= 0.9 * REPEATS
