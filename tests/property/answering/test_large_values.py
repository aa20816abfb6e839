"""Bounds that are trusted hold, however few rows carry a sum or an average, once a sample has shown them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from streamshed.answering.answer.answering import Answering
from streamshed.answering.table.output import Output, Shape
from streamshed.answering.table.value_kind import Carriage, Notation, ValueKind
from streamshed.answering.table.window_partials import Doubles
from streamshed.network.terms.aggregate import AggregateKind
from streamshed.spark.windows.window_sums import window_sums
from streamshed.statistics.learned import LearnedStatistics
from streamshed.statistics.measured import Measured
from tests.unit.answering.partials import kept, partials, together

ROWS, MICRO_BATCHES, WINDOWS = 10_000, 12, 20
RATES = (0.2, 0.02)
LEAST_COVERAGE = 0.93
Draw = Callable[[np.random.Generator], Doubles]
TRUTHS: dict[AggregateKind, Callable[[Doubles], float]] = {
    AggregateKind.SUM: lambda values: float(values.sum()),
    AggregateKind.AVG: lambda values: float(values.mean()),
}


def with_large(mean_count: float, size: float, *, varies: bool = False) -> Draw:
    """Ones, or values around 1, of which so many are large."""

    def values(chance: np.random.Generator) -> Doubles:
        usual = chance.uniform(0.5, 1.5, ROWS) if varies else np.ones(ROWS)
        count = int(mean_count) if mean_count >= 1 else chance.poisson(mean_count)
        return np.where(np.arange(ROWS) < count, size, usual)

    return values


POPULATIONS: dict[str, Draw] = {
    "three of 2000 among ones": with_large(3, 2000.0),
    "three of 2000": with_large(3, 2000.0, varies=True),
    "three of -2000": with_large(3, -2000.0, varies=True),
    "a dozen of 500": with_large(12, 500.0, varies=True),
    "one of 2000 in three windows": with_large(0.3, 2000.0, varies=True),
    "fifty of 100": with_large(50, 100.0, varies=True),
    "exponential": lambda chance: chance.exponential(1.0, ROWS),
    "lognormal": lambda chance: chance.lognormal(0.0, 1.0, ROWS),
    "wide lognormal": lambda chance: chance.lognormal(0.0, 2.0, ROWS),
    "pareto 3": lambda chance: chance.pareto(3.0, ROWS) + 1,
    "pareto 1.5": lambda chance: chance.pareto(1.5, ROWS) + 1,
}
LARGE = {
    "three of 2000 among ones": 2000.0,
    "three of 2000": 2000.0,
    "three of -2000": 2000.0,
    "a dozen of 500": 500.0,
    "one of 2000 in three windows": 2000.0,
    "fifty of 100": 100.0,
}
"""Sizes of their large values: where no sample has shown any, nothing can tell."""
ENOUGH_DRAWS = 20
ALIKE = {"exponential", "pareto 3"}
"""Of which at least half the sums are trusted."""


class Run:
    """Windows that are sampled and answered, some in each micro-batch.

    Args:
        function: What is asked.
    """

    def __init__(self, function: AggregateKind) -> None:
        shape = Shape(function, counts_rows=False, value=ValueKind(Carriage.DOUBLE, Notation.NUMBER), key_notations=())
        self._answering = Answering([Output("q", "s", "a", shape, definition_id=7, slot=0)], confidence=0.95)
        self._learned = LearnedStatistics()

    def answered(self, windows: list[dict[str, Any]]) -> list[dict[str, Any]]:
        """Answer a micro-batch, and learn of it."""
        window_partials = partials(*windows)
        share = self._learned.effective_share("q", "a")
        [answers] = self._answering.answers(window_partials, effective_shares={} if share is None else {"7.0": share})
        sums = window_sums(window_partials, self._answering.carried.sums(window_partials))
        measured = Measured(windows={("q", "a"): sums[7, 0]})
        self._learned = self._learned.updated(measured, offered_rows={"s": ROWS}, elapsed_seconds=1.0)
        rows: list[dict[str, Any]] = answers.to_pylist()
        return rows


def sampled(values: Doubles, rates: tuple[float, float], chance: np.random.Generator) -> dict[str, Any]:
    """A window, either half of whose rows is kept at a rate of its own."""
    is_kept, is_first = chance.random(ROWS), chance.random(ROWS) < 0.5
    halves = [values[(is_kept < rate) & (is_first == first)] for rate, first in zip(rates, (True, False), strict=True)]
    if rates[0] == rates[1]:
        return kept(rates[0], np.concatenate(halves))
    return together(*(kept(rate, half) for rate, half in zip(rates, halves, strict=True)))


@pytest.mark.parametrize("function", TRUTHS, ids=str)
@pytest.mark.parametrize("name", POPULATIONS)
def test_trusted_bounds_hold_once_a_large_value_was_seen(name: str, function: AggregateKind) -> None:
    """Within three standard errors, and what was answered before the first large value was seen does not count."""
    population, chance = POPULATIONS[name], np.random.default_rng(17)
    for rate in RATES:
        run, is_seen = Run(function), name not in LARGE
        holds = []
        for number in range(MICRO_BATCHES):
            rows = [population(chance) for _ in range(WINDOWS)]
            windows = [sampled(values, (rate, rate if number % 2 else 0.8 * rate), chance) for values in rows]
            for values, answer in zip(rows, run.answered(windows), strict=True):
                if is_seen and not answer["low"] and answer["lower"] is not None:
                    holds.append(answer["lower"] <= TRUTHS[function](values) <= answer["upper"])
            is_seen |= any(max(-one["least_number"], one["greatest_number"]) >= LARGE.get(name, 0.0) for one in windows)
        if name in ALIKE and function is AggregateKind.SUM:
            assert len(holds) >= 0.5 * MICRO_BATCHES * WINDOWS
        if len(holds) >= ENOUGH_DRAWS:
            assert np.mean(holds) >= LEAST_COVERAGE - 3 * np.sqrt(0.93 * 0.07 / len(holds)), (rate, len(holds))
