"""How much blocks differ, held against what drawing them does to totals."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
import pytest
from hypothesis import given
from hypothesis import strategies as st

from streamshed.columnar.block_spread import LEAST_BLOCKS, LEAST_ROWS, BlockRows, BlockSpread

Floats = npt.NDArray[np.float64]

BLOCKS, ROWS = 40, 200


def _population(spread: float, level: float, *, seed: int) -> tuple[npt.NDArray[np.int64], Floats]:
    """Rows of blocks that differ in how many count, and in the values of these."""
    chance = np.random.default_rng(seed)
    passing = np.clip(0.3 + spread * chance.standard_normal(BLOCKS), 0, 1)
    blocks = np.repeat(np.arange(BLOCKS), ROWS)
    values = 5.0 + level * chance.standard_normal(BLOCKS)[blocks] + chance.standard_normal(len(blocks))
    return blocks, np.where(chance.random(len(blocks)) < passing[blocks], values, 0.0)


def _drawn_variance(blocks: npt.NDArray[np.int64], values: Floats, *, whole: bool) -> float:
    """That of totals over half of the blocks, or of the rows, each with a probability of one half, by drawing them."""
    chance, truth = np.random.default_rng(1), values.sum()
    totals = []
    for _ in range(4000):
        if whole:
            read = chance.permutation(BLOCKS) < BLOCKS // 2
            totals.append(2 * values[read[blocks]].sum())
        else:
            totals.append(2 * values[chance.random(len(values)) < 0.5].sum())
    return float(((np.array(totals) - truth) ** 2).mean())


@pytest.mark.parametrize(("spread", "level"), [(0.0, 0.0), (0.1, 0.0), (0.0, 2.0), (0.2, 1.0)])
def test_it_is_by_how_much_whole_blocks_tell_less_than_as_many_rows(spread: float, level: float) -> None:
    blocks, values = _population(spread, level, seed=3)
    told = BlockRows(blocks, np.full(BLOCKS, ROWS), 1.0).spread([values])
    drawn = _drawn_variance(blocks, values, whole=True) / _drawn_variance(blocks, values, whole=False)
    # Of four thousand draws, three standard deviations of the ratio are a tenth.
    assert told.of_blocks / told.of_rows == pytest.approx(drawn, rel=0.1)


@pytest.mark.parametrize(("share", "sampling_rate"), [(0.25, 1.0), (0.25, 0.1), (0.8, 0.3)])
def test_two_stages_have_the_variance_that_is_planned_with(share: float, sampling_rate: float) -> None:
    """(1/f − 1)·D + (1/f)·(1/P − 1), in parts of Σv²."""
    blocks, values = _population(0.1, 1.0, seed=5)
    told = BlockRows(blocks, np.full(BLOCKS, ROWS), 1.0).spread([values])
    effect = told.of_blocks / told.of_rows
    chance, count = np.random.default_rng(2), round(share * BLOCKS)
    errors = []
    for _ in range(4000):
        is_kept = (chance.permutation(BLOCKS) < count)[blocks] & (chance.random(len(blocks)) < sampling_rate)
        errors.append(values[is_kept].sum() / (share * sampling_rate) - values.sum())
    planned = (1 / share - 1) * effect + (1 / sampling_rate - 1) / share
    assert np.mean(np.square(errors)) / (values**2).sum() == pytest.approx(planned, rel=0.1)


@pytest.mark.parametrize("sampling_rate", [0.5, 0.1])
def test_a_sample_of_the_rows_tells_the_same_on_average(sampling_rate: float) -> None:
    blocks, values = _population(0.1, 1.0, seed=4)
    sizes = np.full(BLOCKS, ROWS)
    exact = BlockRows(blocks, sizes, 1.0).spread([values])
    told = BlockSpread()
    for draw in range(600):
        is_kept = np.random.default_rng(draw).random(len(values)) < sampling_rate
        told += BlockRows(blocks[is_kept], sizes, sampling_rate).spread([values[is_kept]])
    assert told.of_blocks / told.of_rows == pytest.approx(exact.of_blocks / exact.of_rows, rel=0.05)
    assert told.of_rows / 600 == pytest.approx(exact.of_rows, rel=0.05)


@given(
    rates=st.lists(st.floats(0.1, 1.0), min_size=LEAST_BLOCKS, max_size=30),
    scale=st.floats(1e-3, 1e3),
    size=st.integers(20, 60),
)
def test_it_has_no_unit_and_counts_each_total(rates: list[float], scale: float, size: int) -> None:
    blocks = np.repeat(np.arange(len(rates)), size)
    values = (np.arange(len(blocks)) % size < np.array(rates)[blocks] * size).astype(np.float64)
    rows = BlockRows(blocks, np.full(len(rates), size), 1.0)
    single, scaled, twice = (
        rows.spread([values]),
        rows.spread([np.multiply(scale, values, dtype=np.float64)]),
        rows.spread([values, values]),
    )
    assert (single.of_blocks, single.of_rows) == pytest.approx((scaled.of_blocks, scaled.of_rows))
    assert (2 * single.of_blocks, 2 * single.of_rows) == pytest.approx((twice.of_blocks, twice.of_rows))
    if len(set(values.reshape(len(rates), size).sum(axis=1))) == 1:
        assert single.of_blocks == pytest.approx(0, abs=1e-12)


@pytest.mark.parametrize(
    ("blocks", "rows", "value"),
    [
        (LEAST_BLOCKS - 1, 100, 1.0),
        (LEAST_BLOCKS, 1, 1.0),
        *((LEAST_BLOCKS, 100, value) for value in (0.0, 5e-324, 1e-200, 1e150, 1e200, 1e308, np.inf, -np.inf, np.nan)),
    ],
)
def test_of_few_blocks_or_rows_and_of_sums_that_have_no_squares_nothing_is_told(
    blocks: int, rows: int, value: float
) -> None:
    assert blocks * rows < LEAST_ROWS or rows > 1
    numbers = np.repeat(np.arange(blocks), rows)
    sizes = np.full(blocks, rows)
    assert BlockRows(numbers, sizes, 1.0).spread([np.full(len(numbers), value)]) == BlockSpread()


def test_blocks_of_several_sizes_that_have_as_much_for_each_row_are_alike() -> None:
    sizes = np.array([100, 200, 300, 400] * 5)
    blocks = np.repeat(np.arange(len(sizes)), sizes)
    spread = BlockRows(blocks, sizes, 1.0).spread([np.tile([1.0, 0.0], len(blocks) // 2)])
    assert spread.of_blocks == pytest.approx(0, abs=1e-12)
    assert spread.of_rows == 2 / len(blocks)


@given(st.sets(st.integers(0, 19), max_size=12))
def test_a_block_of_which_no_row_is_there_brings_nothing(missing: set[int]) -> None:
    sizes = 50 + 10 * np.arange(20)
    blocks = np.repeat(np.arange(20), sizes)
    values = np.where(np.isin(blocks, list(missing)), 0.0, 1.0 + blocks)
    is_there = values > 0
    with_zeros = BlockRows(blocks, sizes, 1.0).spread([values])
    without = BlockRows(blocks[is_there], sizes, 1.0).spread([values[is_there]])
    assert (without.of_blocks, without.of_rows) == pytest.approx((with_zeros.of_blocks, with_zeros.of_rows))
