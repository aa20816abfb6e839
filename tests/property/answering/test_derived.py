"""Arithmetic over bounds holds whatever lies between them, and bounds of derived answers hold as often as they say."""

from __future__ import annotations

from decimal import Decimal

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from streamshed.answering.answer.answering import Answering
from streamshed.answering.derive.derived import Bounded, derived
from streamshed.network.terms.derivation import Constant, Formula, Operation, Part
from tests.property.answering.derived_samples import SAMPLES, sampled_windows, truth_of
from tests.unit.answering.partials import partials
from tests.unit.answering.test_derived_answers import outputs

PARTS = 3
NUMBERS = st.floats(-50, 50).map(lambda number: round(number, 2))
FORMULAS: st.SearchStrategy[Formula] = st.recursive(
    st.one_of(st.integers(0, PARTS - 1).map(Part), NUMBERS.map(lambda number: Constant(Decimal(str(number))))),
    lambda inner: st.builds(Operation, st.sampled_from("+-*/"), inner, inner),
    max_leaves=8,
)
INTERVALS = st.lists(st.tuples(NUMBERS, NUMBERS).map(sorted), min_size=PARTS, max_size=PARTS)
REPEATS = 300


def evaluated(formula: Formula, numbers: list[float]) -> float:
    match formula:
        case Constant(number):
            return float(number)
        case Part(number):
            return numbers[number]
        case Operation(operator, left, right):
            x, y = evaluated(left, numbers), evaluated(right, numbers)
            return {"+": x + y, "-": x - y, "*": x * y, "/": x / y if operator == "/" else 0.0}[operator]


@given(FORMULAS, INTERVALS, st.lists(st.floats(0, 1), min_size=2 * PARTS, max_size=2 * PARTS))
def test_what_follows_from_parts_within_their_bounds_is_within_its_own(
    formula: Formula, intervals: list[list[float]], places: list[float]
) -> None:
    points = [low + (high - low) * at for (low, high), at in zip(intervals, places[:PARTS], strict=True)]
    estimates = [low + (high - low) * at for (low, high), at in zip(intervals, places[PARTS:], strict=True)]
    bounded = [
        Bounded(np.array([estimate]), np.array([low]), np.array([high]), np.array([False]))
        for estimate, (low, high) in zip(estimates, intervals, strict=True)
    ]
    found = derived(formula, bounded)
    try:
        value = evaluated(formula, points)
    except ZeroDivisionError:
        value = np.nan
    slack = 1e-6 * (1 + abs(value))
    assert np.isnan(value) or found.lower[0] - slack <= value <= found.upper[0] + slack
    try:
        assert found.values[0] == pytest.approx(evaluated(formula, estimates), rel=1e-9)
    except ZeroDivisionError:
        assert found.is_null[0]


@pytest.mark.parametrize("name", SAMPLES)
@pytest.mark.parametrize("rate", [0.5, 0.05])
def test_bounds_hold_as_often_as_they_say(name: str, rate: float) -> None:
    sample = SAMPLES[name]
    chance = np.random.default_rng(11)
    rows = sampled_windows(sample, rate, REPEATS, chance)
    [answers] = Answering(outputs(sample.text), confidence=0.95).answers(partials(*rows))
    found = answers.to_pylist()
    trusted = [row for row in found if not row["low"] and row["lower"] is not None]
    assert len(trusted) >= 0.9 * REPEATS
    truth = truth_of(sample)
    holds = np.mean([row["lower"] <= truth <= row["upper"] for row in trusted])
    chance_alone = 3 * np.sqrt(0.95 * 0.05 / len(trusted))
    assert holds >= 0.95 - chance_alone - 0.005
    deviation = np.std([row["value"] for row in found])
    width = np.mean([row["upper"] - row["lower"] for row in trusted]) / (2 * 1.96 * deviation)
    assert sample.is_bent or width <= (1.1 if sample.covariance_is_known else 1.7)
