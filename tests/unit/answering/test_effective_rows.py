"""How many rows carry a sampled sum, and how widely the bounds of few are drawn."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from streamshed.answering.estimate.aggregate_value import sampled_variances, values
from streamshed.answering.estimate.effective_rows import effective_rows
from streamshed.answering.estimate.interval import normal_interval
from streamshed.answering.table.output import Shape
from streamshed.answering.table.value_kind import Carriage, Notation, ValueKind
from streamshed.network.terms.aggregate import AggregateKind
from tests.unit.answering.partials import kept, partials

NUMBERS = st.lists(st.floats(-1e3, 1e3), min_size=2, max_size=30)


def shape(function: AggregateKind) -> Shape:
    return Shape(function, counts_rows=False, value=ValueKind(Carriage.DOUBLE, Notation.NUMBER), key_notations=())


def test_rows_that_contribute_alike_are_as_many_as_they_are() -> None:
    told = partials(kept(0.1, [3.0] * 40))
    assert effective_rows(shape(AggregateKind.SUM), told)[0] == pytest.approx(40)


def test_one_large_value_carries_a_sum_alone() -> None:
    told = partials(kept(0.1, [1.0] * 400 + [1e4]))
    assert effective_rows(shape(AggregateKind.SUM), told)[0] == pytest.approx(1, abs=0.01)


@given(NUMBERS, st.floats(0.01, 0.9))
def test_it_is_the_formula_of_the_rows_themselves(numbers: list[float], rate: float) -> None:
    told = partials(kept(rate, numbers))
    contributions = {
        AggregateKind.SUM: np.array(numbers),
        AggregateKind.AVG: np.array(numbers) - np.mean(numbers),
    }
    for function, contribution in contributions.items():
        squares = contribution**2
        if squares.sum() <= max(1e-2 * np.square(numbers).sum(), 1e-100):
            continue
        expected = squares.sum() ** 2 / (squares**2).sum()
        assert effective_rows(shape(function), told)[0] == pytest.approx(min(expected, len(numbers)), rel=1e-3)


@given(NUMBERS, st.floats(0.01, 0.9))
def test_a_spread_is_carried_by_at_least_so_many(numbers: list[float], rate: float) -> None:
    squares = (np.square(np.array(numbers) - np.mean(numbers)) - np.var(numbers)) ** 2
    if squares.sum() <= 1e-2 * np.square(np.square(numbers)).sum() or squares.sum() < 1e-100:
        return
    found = effective_rows(shape(AggregateKind.VARIANCE), partials(kept(rate, numbers)))[0]
    assert 1 <= found <= max(1.0, min(len(numbers), squares.sum() ** 2 / (squares**2).sum())) * (1 + 1e-3)


def test_one_large_value_carries_a_spread_alone_and_many_alike_ones_together() -> None:
    nature = np.random.default_rng(1)
    alike = nature.uniform(0, 1, 5_000)
    cases: list[tuple[list[float], float, float]] = [([], 900, 1100), ([30.0], 1, 1.1)]
    for outliers, least, most in cases:
        found = effective_rows(shape(AggregateKind.STDDEV), partials(kept(0.1, [*alike, *outliers])))[0]
        assert least <= found <= most


@given(NUMBERS, st.floats(0.01, 0.9))
def test_spreads_are_estimated_from_the_rows_kept(numbers: list[float], rate: float) -> None:
    weight = 1 / rate
    count = len(numbers) * weight
    spread = np.var(numbers)
    found = values(shape(AggregateKind.VAR_POP), partials(kept(rate, numbers))).to_pylist()[0]
    assert found == pytest.approx(spread, rel=1e-6, abs=1e-9)
    sampled = values(shape(AggregateKind.STDDEV), partials(kept(rate, numbers))).to_pylist()[0]
    assert sampled == pytest.approx(np.sqrt(spread * count / (count - 1)), rel=1e-6, abs=1e-6)


def test_the_error_of_a_spread_is_that_of_simulation() -> None:
    nature = np.random.default_rng(1)
    numbers = nature.lognormal(0, 0.5, 20_000)
    estimates, errors = [], []
    for _ in range(400):
        sample = numbers[nature.random(len(numbers)) < 0.05].tolist()
        told = partials(kept(0.05, sample))
        estimates.append(values(shape(AggregateKind.STDDEV), told).to_pylist()[0])
        errors.append(np.sqrt(sampled_variances(shape(AggregateKind.STDDEV), told)[0]))
    assert np.mean(estimates) == pytest.approx(numbers.std(), rel=0.01)
    assert np.mean(errors) == pytest.approx(np.std(estimates), rel=0.12)


def test_bounds_of_few_rows_are_those_of_students_distribution() -> None:
    lower, upper = normal_interval(
        np.array([10.0] * 3), np.array([1.0] * 3), 0.95, effective_rows=np.array([3.0, 99.0, np.inf])
    )
    assert (upper - 10.0).tolist() == pytest.approx([stats.t.ppf(0.975, 2), stats.t.ppf(0.975, 98), 1.95996], rel=1e-4)
    assert (10.0 - lower).tolist() == pytest.approx((upper - 10.0).tolist())
