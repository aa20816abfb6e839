"""Where sums of powers leave no digits of the distances from the mean, moments and extremes tell how far off it is."""

from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from streamshed.answering.answer.answering import Answering
from streamshed.answering.estimate.central_sums import CentralSums
from streamshed.answering.table.output import Output, Shape
from streamshed.answering.table.value_kind import Carriage, Notation, ValueKind
from streamshed.answering.table.window_partials import WindowPartials
from streamshed.network.terms.aggregate import AggregateKind
from tests.unit.answering.partials import kept, partials

SPREADS = (AggregateKind.VARIANCE, AggregateKind.VAR_POP, AggregateKind.STDDEV, AggregateKind.STDDEV_POP)
CENTERED = (AggregateKind.AVG, *SPREADS)
UNKNOWN = (None, None, None)


def answered(function: AggregateKind, values: np.ndarray, *without: str) -> dict[str, Any]:
    """Answer the mean or spread of a sample of which state does not hold the moments, or has no extremes."""
    shape = Shape(function, counts_rows=False, value=ValueKind(Carriage.DOUBLE, Notation.NUMBER), key_notations=())
    answering = Answering([Output("q", "s", "a", shape, definition_id=7, slot=0)], confidence=0.95)
    columns = partials({**kept(0.1, values.tolist()), **dict.fromkeys({*without} - {"moments"})}).columns
    if "moments" in without:
        columns = columns.select([name for name in columns.schema.names if name != "moments"])
    [answers] = answering.answers(WindowPartials(columns))
    [answer] = answers.to_pylist()
    return dict(answer)


def said(answer: dict[str, Any]) -> tuple[float | None, float | None, float | None]:
    return answer["lower"], answer["upper"], answer["standard_error"]


def around(center: float, law: str) -> tuple[np.ndarray, np.ndarray]:
    distances = getattr(np.random.default_rng(2), law)(size=400)
    distances -= distances.mean()
    return center + distances, distances


@pytest.mark.parametrize("function", CENTERED)
@pytest.mark.parametrize("law", ["normal", "exponential"])
@pytest.mark.parametrize("center", [0.0, *(10.0**power for power in range(-1, 10))])
def test_what_is_said_is_what_values_around_0_would_say_or_more(
    function: AggregateKind, law: str, center: float
) -> None:
    """While digits of the fourth powers are left it is the same, beyond that what the extremes allow."""
    values, distances = around(center, law)
    answer, expected = answered(function, values), answered(function, distances)
    assert None not in said(answer)
    ratio = answer["standard_error"] / expected["standard_error"]
    if function is AggregateKind.AVG or center <= 100:
        assert ratio == pytest.approx(1.0, rel=1e-3)
    squares = distances**2
    sharp = np.sqrt((squares.max() - squares.mean()) * squares.mean() / squares.var())
    assert 1 - 1e-3 <= ratio <= sharp * (1 + 1e-3)


@pytest.mark.parametrize("center", [10.0**power for power in range(10)])
def test_an_average_without_moments_is_told_by_digits_and_extremes(center: float) -> None:
    values, distances = around(center, "normal")
    expected = answered(AggregateKind.AVG, distances)["standard_error"]
    answer = answered(AggregateKind.AVG, values, "moments")
    most = np.abs(distances).max() / distances.std()
    assert 1 - 1e-3 <= answer["standard_error"] / expected <= (1 + 1e-3 if center <= 100_000 else most * (1 + 1e-3))


def test_prices_have_an_average_and_a_deviation_with_bounds_that_are_not_flagged() -> None:
    """Rates of exchange, a hundred-thousandth apart."""
    prices = np.round(1.08 + 1e-5 * np.random.default_rng(4).normal(size=4000), 7)
    for function in (AggregateKind.AVG, AggregateKind.STDDEV):
        answer = answered(function, prices)
        assert answer["lower"] < answer["value"] < answer["upper"]
        assert not answer["low"]


def test_without_digits_moments_and_extremes_nothing_is_said() -> None:
    values = 1.7e9 + np.random.default_rng(1).exponential(100.0, 400)
    assert said(answered(AggregateKind.AVG, values, "moments", "least_number", "greatest_number")) == UNKNOWN


@pytest.mark.parametrize("function", [AggregateKind.SUM, *CENTERED])
def test_rows_that_make_no_difference_tell_nothing_of_others(function: AggregateKind) -> None:
    assert said(answered(function, np.zeros(400))) == UNKNOWN
    if function is not AggregateKind.SUM:
        for constant in (7.0, 0.1, 1.7e9 + 0.3):
            assert said(answered(function, np.full(400, constant))) == UNKNOWN


@given(
    st.lists(st.floats(-1, 1), min_size=1, max_size=40),
    st.sampled_from([10.0**power for power in range(-3, 10)]),
    st.sampled_from([2, 4]),
    st.booleans(),
)
def test_central_sums_are_no_less_than_the_truth_however_they_were_added_up(
    distances: list[float], center: float, k: int, has_extremes: bool
) -> None:
    """The truth in fractions; sums one value after the other, as state adds them up."""
    values = center + np.array(distances)
    sums = tuple(np.cumsum(values**power)[-1:] for power in range(5))
    mean = float(sums[1][0]) / len(values)
    reach = np.array([np.abs(values - mean).max() * (1 + 1e-12) if has_extremes else np.inf])
    told = CentralSums(sums, np.array([mean]), np.array([float(len(values))]), reach).power(k)[0]
    truth = sum((Fraction(float(value)) - Fraction(mean)) ** k for value in values)
    assert np.isnan(told) or told >= float(truth) * (1 - 1e-9)
    assert not (has_extremes and np.isnan(told))
