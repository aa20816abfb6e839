"""Predictions of windows that were dropped: right where windows are on a line, and as far off as they say elsewhere."""

from __future__ import annotations

from functools import cache
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from streamshed.answering.predict.prediction import Predicted, predict_groups
from streamshed.answering.table.window_partials import Doubles, Longs, Truths
from streamshed.errors import InvalidNetworkError

METHODS = ("linear", "local")


def predict(numbers: Longs, values: Doubles, missing: Longs, *, method: str = "local") -> Predicted:
    """Predictions for one group."""
    predicted = predict_groups(numbers, np.asarray(values)[np.newaxis], missing, method=method)
    return Predicted(predicted.values[0], predicted.errors[0])


@st.composite
def cut(draw: st.DrawFn) -> tuple[Longs, Longs]:
    """Windows that were answered, and others between them that were not."""
    is_known = draw(st.lists(st.booleans(), min_size=3, max_size=40))
    is_known[0] = is_known[-1] = True
    first = draw(st.integers(-1000, 1000))
    numbers = first + np.arange(len(is_known))
    known = np.array(is_known)
    return numbers[known], numbers[~known]


@given(cut(), st.floats(-100, 100), st.floats(-10, 10), st.sampled_from(METHODS))
def test_what_lies_on_a_line_is_predicted_exactly(
    windows: tuple[Longs, Longs], level: float, slope: float, method: str
) -> None:
    known, missing = windows
    found = predict(known, np.asarray(level + slope * known, np.float64), missing, method=method)
    scale = 1 + np.abs(level) + np.abs(slope) * np.abs(known).max()
    assert found.values == pytest.approx(level + slope * missing, abs=1e-9 * scale)


@given(cut(), st.integers(0, 2**32))
def test_linear_is_interpolation_between_the_answers_next_to_a_gap(windows: tuple[Longs, Longs], seed: int) -> None:
    known, missing = windows
    values = np.random.default_rng(seed).normal(size=len(known))
    assert predict(known, values, missing, method="linear").values == pytest.approx(np.interp(missing, known, values))


NUMBERS = np.arange(600)


def noisy(seed: int, groups: int) -> tuple[Doubles, Truths]:
    """Values of groups (groups × windows), and which windows were answered, of all of them the same."""
    nature = np.random.default_rng(seed)
    level = 100 + 20 * np.sin(NUMBERS / 40)
    is_known = nature.random(len(NUMBERS)) < 0.5
    is_known[[0, -1]] = True
    return np.asarray(level + nature.normal(0, 5, (groups, len(NUMBERS))), np.float64), is_known


@cache
def predicted(seed: int, method: str) -> tuple[Doubles, Predicted]:
    """What there was in windows that were not answered, and what is predicted."""
    values, is_known = noisy(seed, groups=4)
    found = predict_groups(NUMBERS[is_known], values[:, is_known], NUMBERS[~is_known], method=method)
    return values[:, ~is_known], found


@pytest.mark.parametrize("method", METHODS)
def test_predictions_are_as_far_off_as_they_say(method: str) -> None:
    ratios = []
    for values, found in (predicted(seed, method) for seed in range(2)):
        off = found.values - values
        ratios.append(np.sqrt(np.mean(off**2, axis=1) / np.mean(found.errors**2, axis=1)))
    assert np.mean(ratios) == pytest.approx(1.0, abs=0.12)


@pytest.mark.parametrize("method", METHODS)
def test_what_is_predicted_as_soon_as_one_later_answer_is_there_is_as_far_off_as_it_says(method: str) -> None:
    off, said = [], []
    values, is_known = noisy(0, groups=6)
    answered = np.flatnonzero(is_known)
    for last, next_known in pairwise(answered[99:]):
        gap = np.arange(last + 1, next_known)
        so_far = answered[answered <= next_known]
        found = predict_groups(so_far, values[:, so_far], gap, method=method)
        off += (found.values - values[:, gap]).ravel().tolist()
        said += found.errors.ravel().tolist()
    assert np.sqrt(np.mean(np.square(off)) / np.mean(np.square(said))) == pytest.approx(1.0, abs=0.08)


@given(cut(), st.integers(1, 5), st.integers(0, 2**32), st.sampled_from(METHODS))
def test_many_groups_are_predicted_as_each_is_alone(
    windows: tuple[Longs, Longs], count: int, seed: int, method: str
) -> None:
    known, missing = windows
    values = np.random.default_rng(seed).normal(100, 10, (count, len(known)))
    together = predict_groups(known, values, missing, method=method)
    for group in range(count):
        alone = predict(known, values[group], missing, method=method)
        assert together.values[group] == pytest.approx(alone.values)
        assert together.errors[group] == pytest.approx(alone.errors, nan_ok=True)


def test_where_single_windows_are_noisy_several_tell_more_than_the_next_two() -> None:
    both = {method: predicted(1, method) for method in METHODS}
    off = {method: np.abs(found.values - values).mean() for method, (values, found) in both.items()}
    assert off["local"] < 0.93 * off["linear"]


@pytest.mark.parametrize("method", METHODS)
def test_beyond_the_last_answer_no_line_is_drawn_on(method: str) -> None:
    found = predict(np.arange(60), np.linspace(0.0, 590.0, 60), np.array([-5, 70]), method=method)
    assert found.values[0] <= 50
    assert found.values[1] <= 590
    assert (found.errors > 0).all()


@pytest.mark.parametrize("method", METHODS)
def test_without_any_answer_nothing_is_predicted(method: str) -> None:
    none = np.array([], np.int64)
    found = predict(none, none.astype(np.float64), np.array([3, 4]), method=method)
    assert np.isnan(found.values).all()
    assert np.isnan(found.errors).all()
    assert len(predict(np.array([1]), np.array([2.0]), none, method=method).values) == 0


def test_one_answer_tells_a_value_but_not_how_far_off_it_is() -> None:
    found = predict(np.array([1]), np.array([2.0]), np.array([2]))
    assert found.values.tolist() == [2.0]
    assert np.isnan(found.errors).all()


def test_methods_that_there_are() -> None:
    with pytest.raises(InvalidNetworkError, match='unknown method "lineal", known are: linear, local'):
        predict(np.array([1]), np.array([2.0]), np.array([2]), method="lineal")


def test_what_turns_within_gaps_is_followed() -> None:
    numbers = np.arange(400)
    values = 100 + 20 * np.sin(numbers / 8)
    is_known = numbers % 10 >= 6
    is_known[[0, -1]] = True
    off = {
        method: np.abs(
            predict(numbers[is_known], values[is_known], numbers[~is_known], method=method).values - values[~is_known]
        ).mean()
        for method in METHODS
    }
    assert off["local"] < 0.5 * off["linear"]


@given(cut(), st.integers(0, 2**32))
def test_predictions_of_few_answers_are_finite_and_near_them(windows: tuple[Longs, Longs], seed: int) -> None:
    known, missing = windows
    values = np.random.default_rng(seed).normal(size=len(known))
    found = predict(known, values, missing, method="local")
    assert np.isfinite(found.values).all()
    assert np.abs(found.values).max(initial=0) <= 100 * np.abs(values).max()
