"""Predictions of windows that were dropped: right where windows are on a line, and as far off as they say elsewhere."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from streamshed.answering.prediction import predict, predict_groups
from streamshed.answering.window_partials import Doubles, Longs, Truths
from streamshed.errors import InvalidNetworkError

METHODS = ("linear", "local")


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


def noisy(seed: int, count: int = 600) -> tuple[Doubles, Truths]:
    nature = np.random.default_rng(seed)
    level = 100 + 20 * np.sin(np.arange(count) / 40)
    return np.asarray(level + nature.normal(0, 5, count), np.float64), nature.random(count) < 0.5


@pytest.mark.parametrize("method", METHODS)
def test_predictions_are_as_far_off_as_they_say(method: str) -> None:
    ratios = []
    for seed in range(5):
        values, is_known = noisy(seed)
        is_known[[0, -1]] = True
        numbers = np.arange(len(values))
        found = predict(numbers[is_known], values[is_known], numbers[~is_known], method=method)
        off = found.values - values[~is_known]
        ratios.append(np.sqrt(np.mean(off**2) / np.mean(found.errors**2)))
    assert np.mean(ratios) == pytest.approx(1.0, abs=0.12)


@pytest.mark.parametrize("method", METHODS)
def test_what_is_predicted_as_soon_as_one_later_answer_is_there_is_as_far_off_as_it_says(method: str) -> None:
    off, said = [], []
    for seed in range(3):
        values, is_known = noisy(seed)
        is_known[[0, -1]] = True
        numbers = np.arange(len(values))
        for next_known in np.flatnonzero(is_known)[100:]:
            gap = np.arange(numbers[:next_known][is_known[:next_known]][-1] + 1, next_known)
            so_far = is_known & (numbers <= next_known)
            found = predict(numbers[so_far], values[so_far], gap, method=method)
            off += (found.values - values[gap]).tolist()
            said += found.errors.tolist()
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
    values, is_known = noisy(1)
    is_known[[0, -1]] = True
    numbers = np.arange(len(values))
    off = {
        method: np.abs(
            predict(numbers[is_known], values[is_known], numbers[~is_known], method=method).values - values[~is_known]
        ).mean()
        for method in METHODS
    }
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
