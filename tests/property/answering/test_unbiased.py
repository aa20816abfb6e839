"""Estimates are right on average, and off by as much as they say: every aggregate, the rate changing in the window."""

from collections.abc import Callable

import numpy as np
import pytest

from streamshed.answering.answer.answering import Answering
from streamshed.answering.table.output import Output, Shape
from streamshed.answering.table.value_kind import Carriage, Notation, ValueKind
from streamshed.network.terms.aggregate import AggregateKind
from tests.unit.answering.partials import kept, partials, together

SEEDS = 600
RATES = (0.5, 0.1, 1.0)
ROWS_OF_SLICE = 1500

TRUTHS: dict[AggregateKind, Callable[[np.ndarray], float]] = {
    AggregateKind.COUNT: len,
    AggregateKind.SUM: lambda values: float(values.sum()),
    AggregateKind.AVG: lambda values: float(values.mean()),
    AggregateKind.VARIANCE: lambda values: float(values.var(ddof=1)),
    AggregateKind.VAR_POP: lambda values: float(values.var()),
    AggregateKind.STDDEV: lambda values: float(values.std(ddof=1)),
    AggregateKind.STDDEV_POP: lambda values: float(values.std()),
}


def _estimates(function: AggregateKind, slices: list[np.ndarray]) -> tuple[np.ndarray, np.ndarray]:
    """Values and standard errors of one window, sampled anew with every seed."""
    chance = np.random.default_rng(11)
    shape = Shape(function, counts_rows=False, value=ValueKind(Carriage.DOUBLE, Notation.NUMBER), key_notations=())
    answering = Answering([Output("q", "s", "a", shape, definition_id=7, slot=0)], confidence=0.95)
    windows = [
        together(
            *(
                kept(rate, values[chance.random(len(values)) < rate].tolist())
                for rate, values in zip(RATES, slices, strict=True)
            )
        )
        for _ in range(SEEDS)
    ]
    [answers] = answering.answers(partials(*windows))
    return answers.column("value").to_numpy(), answers.column("standard_error").to_numpy()


@pytest.mark.parametrize("function", TRUTHS, ids=str)
def test_the_mean_over_many_seeds_is_the_exact_value(function: AggregateKind) -> None:
    chance = np.random.default_rng(3)
    slices = [chance.lognormal(mean, 0.5, ROWS_OF_SLICE) for mean in (0.0, 0.7, 0.2)]
    truth = TRUTHS[function](np.concatenate(slices))
    found, told = _estimates(function, slices)
    deviation = float(found.std(ddof=1))
    assert abs(float(found.mean()) - truth) <= 3 * deviation / np.sqrt(SEEDS)
    assert float(np.sqrt((told**2).mean())) == pytest.approx(deviation, rel=0.1)
