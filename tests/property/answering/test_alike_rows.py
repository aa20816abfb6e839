"""Bounds of samples in which all rows are alike hold, once earlier windows have told how far apart values are."""

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
from tests.unit.answering.partials import kept, partials

Draw = Callable[[np.random.Generator], Doubles]
ROWS, RATE, MICRO_BATCHES, WINDOWS = 200, 0.1, 20, 30
TRUTHS: dict[AggregateKind, Callable[[Doubles], float]] = {
    AggregateKind.AVG: lambda values: float(values.mean()),
    AggregateKind.VARIANCE: lambda values: float(values.var(ddof=1)),
    AggregateKind.STDDEV_POP: lambda values: float(values.std()),
    AggregateKind.SUM: lambda values: float(values.sum()),
}
TICK = np.float64(0.25)
ALIKE: dict[str, Draw] = {
    "one in fifty": lambda chance: 100 + TICK * (chance.random(ROWS) < 0.02),
    "either side": lambda chance: 100 + TICK * np.round(chance.laplace(0, 0.2, ROWS)),
    "a walk": lambda chance: 100 + np.cumsum(TICK * (chance.random(ROWS) < 0.01) * chance.choice([-1, 1], ROWS)),
    "levels and bursts": lambda chance: (
        chance.choice([50.0, 100.0, 200.0]) + TICK * (chance.random(ROWS) < chance.choice([0, 0, 0, 0.1]))
    ),
}
ZEROS: dict[str, Draw] = {
    "few ones": lambda chance: (chance.random(ROWS) < 0.02).astype(float),
    "few of any size": lambda chance: (chance.random(ROWS) < 0.01) * chance.lognormal(0, 1, ROWS),
    "of both signs": lambda chance: (chance.random(ROWS) < 0.02) * chance.normal(0, 3, ROWS),
}
CASES = [
    *((name, draw, function) for name, draw in ALIKE.items() for function in TRUTHS if function != AggregateKind.SUM),
    *((name, draw, AggregateKind.SUM) for name, draw in ZEROS.items()),
]


@pytest.mark.parametrize(("name", "draw", "function"), CASES, ids=lambda one: one if isinstance(one, str) else "")
def test_bounds_hold_where_all_rows_kept_are_alike(name: str, draw: Draw, function: AggregateKind) -> None:
    chance, learned = np.random.default_rng(23), LearnedStatistics()
    shape = Shape(function, counts_rows=False, value=ValueKind(Carriage.DOUBLE, Notation.NUMBER), key_notations=())
    answering = Answering([Output("q", "s", "a", shape, definition_id=7, slot=0)], confidence=0.95)
    holds = []
    for _ in range(MICRO_BATCHES):
        drawn = [draw(chance) for _ in range(WINDOWS)]
        samples = [values[chance.random(ROWS) < RATE] for values in drawn]
        windows = partials(*(kept(RATE, sample) for sample in samples))
        usual = learned.usual_range("q", "a")
        [answers] = answering.answers(windows, usual_ranges={} if usual is None else {"7.0": usual})
        rows: list[dict[str, Any]] = answers.to_pylist()
        for values, sample, answer in zip(drawn, samples, rows, strict=True):
            if len(np.unique(sample)) == 1 and not answer["low"] and answer["lower"] is not None:
                truth, rounding = TRUTHS[function](values), 1e-9
                holds.append(answer["lower"] - rounding <= truth <= answer["upper"] + rounding)
        sums = window_sums(windows, answering.carried.sums(windows))
        measured = Measured(windows={("q", "a"): sums[7, 0]})
        learned = learned.updated(measured, offered_rows={"s": ROWS}, elapsed_seconds=1.0)
    assert len(holds) > 50, name
    assert np.mean(holds) >= 0.95 - 3 * np.sqrt(0.95 * 0.05 / len(holds))
