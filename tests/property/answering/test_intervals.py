"""The bounds of counts hold as often as they say, whatever is counted and at whichever rates it was kept."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from streamshed.answering.estimate.interval import count_interval
from streamshed.answering.table.window_partials import Doubles, Longs
from streamshed.planning.tree.quantization import sampling_rate_of

CODES = st.integers(1, 96)
CONFIDENCES = st.sampled_from((0.5, 0.9, 0.95, 0.99))


def bounds(kept: Longs, rates: list[float], confidence: float, *, of_groups: bool = False) -> tuple[Doubles, Doubles]:
    """The bounds of windows.

    Args:
        kept: Rows kept at each rate; shape (windows, rates).
        rates: The rates, all of which were in force.
        confidence: Of the bounds.
        of_groups: Whether there are none of what no row was kept of.
    """
    weights = 1 / np.array(rates)
    return count_interval(
        kept @ weights,
        kept @ (weights * (weights - 1)),
        kept_rows=kept.sum(axis=1),
        kept_rate=np.full(len(kept), min(rates)),
        confidence=confidence,
        of_groups=of_groups,
    )


@given(st.integers(0, 2000), CODES, CONFIDENCES)
def test_at_one_rate_they_hold_at_least_as_often_as_they_say(rows: int, code: int, confidence: float) -> None:
    """By summing up the binomial distribution: no simulation, no tolerance."""
    rate = sampling_rate_of(code)
    kept = np.arange(rows + 1)
    lower, upper = bounds(kept[:, np.newaxis], [rate], confidence)
    holds = (lower <= rows * (1 + 1e-9)) & (upper >= rows * (1 - 1e-9))
    assert stats.binom.pmf(kept, rows, rate)[holds].sum() >= confidence - 1e-9


@given(st.one_of(st.integers(1, 30), st.integers(1, 2000)), CODES, CONFIDENCES)
def test_of_groups_they_hold_as_often_among_those_that_are_seen(rows: int, code: int, confidence: float) -> None:
    """By summing up the binomial distribution, of which nothing counts where no row is kept."""
    rate = sampling_rate_of(code)
    kept = np.arange(1, rows + 1)
    lower, upper = bounds(kept[:, np.newaxis], [rate], confidence, of_groups=True)
    holds = (lower <= rows * (1 + 1e-9)) & (upper >= rows * (1 - 1e-9))
    chances = stats.binom.pmf(kept, rows, rate)
    assert chances[holds].sum() >= (confidence - 1e-9) * -np.expm1(rows * np.log1p(-rate))


def test_of_a_group_with_rows_enough_to_be_seen_they_are_the_same() -> None:
    kept = np.array([[40], [400]])
    alone, of_groups = (bounds(kept, [0.1], 0.95, of_groups=known) for known in (False, True))
    assert of_groups[0] == pytest.approx(alone[0])
    assert of_groups[1] == pytest.approx(alone[1])


@given(st.integers(500, 5000), st.integers(8, 32))
def test_they_are_not_much_wider_than_they_have_to_be(rows: int, code: int) -> None:
    """Of many rows: half as far again as the normal distribution at the most."""
    rate = sampling_rate_of(code)
    kept = np.array([[round(rows * rate)]])
    lower, upper = bounds(kept, [rate], 0.95)
    normal = 2 * 1.96 * np.sqrt(kept[0] * (1 - rate)) / rate
    assert upper - lower <= 1.5 * normal


@given(
    st.lists(st.tuples(st.integers(0, 300), st.integers(0, 64)), min_size=2, max_size=4),
    CONFIDENCES,
    st.integers(0, 2**32 - 1),
)
def test_where_rates_have_changed_they_hold_as_often_as_they_say(
    parts: list[tuple[int, int]], confidence: float, seed: int
) -> None:
    """By simulation, within four standard errors."""
    random, windows = np.random.default_rng(seed), 2000
    rates = [sampling_rate_of(code) for _, code in parts]
    kept = np.stack(
        [random.binomial(rows, rate, windows) for (rows, _), rate in zip(parts, rates, strict=True)], axis=1
    )
    lower, upper = bounds(kept, rates, confidence)
    total = sum(rows for rows, _ in parts)
    holds = (lower <= total * (1 + 1e-9)) & (upper >= total * (1 - 1e-9))
    assert holds.mean() >= confidence - 4 * np.sqrt(confidence * (1 - confidence) / windows)


@given(st.integers(0, 1000), CODES, CONFIDENCES)
def test_they_hold_the_estimate_and_what_was_seen(rows: int, code: int, confidence: float) -> None:
    rate = sampling_rate_of(code)
    lower, upper = bounds(np.array([[rows]]), [rate], confidence)
    assert rows <= lower[0] <= rows / rate * (1 + 1e-9) + 1e-9
    assert upper[0] >= rows / rate * (1 - 1e-9)


@given(st.integers(1, 1000), CODES)
def test_what_was_kept_whole_is_certain(rows: int, code: int) -> None:
    """For the lower bound it is as sure as it gets with one rate for all."""
    rate = sampling_rate_of(code)
    alone, beside = (bounds(np.array([[certain, 50]]), [1.0, rate], 0.95) for certain in (0, rows))
    assert rows + 50 / rate <= beside[1][0] <= alone[1][0] + rows + 1e-6
    assert rows + 50 <= beside[0][0] <= rows + 50 / rate
    assert beside[0][0] - rows >= alone[0][0] * 0.9 - 50


@given(st.integers(0, 400), CODES, st.integers(0, 100_000))
def test_beside_rows_that_are_certain_they_hold_as_often(rows: int, code: int, certain: int) -> None:
    """By summing up the binomial distribution, within a thousandth: also where no row of the lower rate was kept."""
    rate = sampling_rate_of(code)
    kept = np.arange(rows + 1)
    lower, upper = bounds(np.stack([np.full(rows + 1, certain), kept], axis=1), [1.0, rate], 0.95)
    total = certain + rows
    holds = (lower <= total * (1 + 1e-9)) & (upper >= total * (1 - 1e-9))
    assert stats.binom.pmf(kept, rows, rate)[holds].sum() >= 0.95 - 0.0015


@pytest.mark.parametrize(("rows", "most"), [(1000, 1.1), (100, 1.4)])
def test_an_interval_at_a_low_rate_leaves_the_others_their_width(rows: int, most: float) -> None:
    """One slice at 0.01 before twenty at 0.5: beside the width by the true variance, and a normal distribution."""
    random, windows = np.random.default_rng(5), 4000
    rates = np.array([0.01] + [0.5] * 20)
    kept = random.binomial(rows, rates, (windows, len(rates)))
    lower, upper = bounds(kept, rates.tolist(), 0.95)
    ideal = 2 * stats.norm.ppf(0.975) * np.sqrt((rows * (1 - rates) / rates).sum())
    assert (upper - lower).mean() <= most * ideal
    total = rows * len(rates)
    assert ((lower <= total) & (total <= upper)).mean() >= 0.95 - 4 * np.sqrt(0.95 * 0.05 / windows)


@pytest.mark.parametrize("rate", [0.5, 0.2, 0.05, 0.01])
def test_of_groups_of_few_rows_no_bounds_could_hold_much_less_often(rate: float) -> None:
    """Any bounds that hold often enough for each number of rows hold for a run of kept rows that is likely enough.

    Of few rows any such run is likelier than that: bounds hold more often than they say, whoever computes them.
    """
    excess, weights = [], []
    for rows in range(1, 61):
        kept = np.arange(1, rows + 1)
        chances = stats.binom.pmf(kept, rows, rate)
        seen = chances.sum()
        lower, upper = bounds(kept[:, np.newaxis], [rate], 0.95, of_groups=True)
        below = np.concatenate([[0.0], np.cumsum(chances / seen)])
        runs = below[np.newaxis] - below[:, np.newaxis]
        least = runs[runs >= 0.95 - 1e-12].min()
        excess.append((chances / seen)[(lower <= rows * (1 + 1e-9)) & (upper >= rows * (1 - 1e-9))].sum() - least)
        weights.append(seen)
    assert min(excess) >= -1e-9
    assert np.average(excess, weights=weights) <= 0.02
