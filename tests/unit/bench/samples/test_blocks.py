"""Samples of blocks and rows, drawn at several loads."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from streamshed_bench.samples.blocks import ALL, CHOSEN, WORKED_ON, Drawn, design_effect, drawn_at, figures_of
from streamshed_bench.samples.blocks_picture import draw_blocks

BLOCKS, ROWS = 256, 200
DRAWN = [
    Drawn(block_rows=512, load=2.0, read_shares={}, errors={CHOSEN: 0.03, ALL: 0.02, WORKED_ON: 0.04}),
    Drawn(block_rows=512, load=12.0, read_shares={}, errors={CHOSEN: 0.06, WORKED_ON: 0.05}),
]


def _totals(*, are_alike: bool) -> np.ndarray:
    """One count: of a third of the blocks each row, or of each block a third of its rows."""
    numbers = np.arange(BLOCKS * ROWS)
    chance = np.random.default_rng(2)
    of_blocks = chance.permutation(BLOCKS) % 3 == 0
    counts = of_blocks[numbers // ROWS] if are_alike else chance.permutation(numbers) % 3 == 0
    return np.atleast_2d(counts.astype(np.float64))


def test_figures_compare_with_the_better_way() -> None:
    figures = figures_of(DRAWN, {512: 22.0})
    assert figures["worst_error_ratio"] == pytest.approx(1.5)
    assert figures["error_ratio_to_all"] == pytest.approx(1.5)
    assert figures["error_ratio_to_worked_on"] == pytest.approx((0.75 * 1.2) ** 0.5)
    assert figures["design_effect_512"] == 22.0


@pytest.mark.parametrize(("are_alike", "better"), [(True, ALL), (False, WORKED_ON)])
def test_blocks_are_read_in_the_way_that_is_better_for_them(are_alike: bool, better: str) -> None:
    totals = _totals(are_alike=are_alike)
    effect = design_effect(totals, ROWS)
    assert (effect > 50) == are_alike
    drawn = drawn_at(totals, ROWS, 7.0, effect, draws=40, seed=0)
    worse = min(ALL, WORKED_ON, key=lambda way: way == better)
    assert drawn.errors[worse] > 1.5 * drawn.errors[better]
    assert drawn.errors[CHOSEN] < 1.3 * drawn.errors[better]


def test_where_reading_leaves_no_time_there_is_no_error() -> None:
    drawn = drawn_at(_totals(are_alike=True), ROWS, 12.0, 100.0, draws=2, seed=0)
    assert drawn.errors.keys() == {CHOSEN, WORKED_ON}


def test_it_draws(tmp_path: Path) -> None:
    draw_blocks(tmp_path / "blocks.png", drawn=[(one.block_rows, one.load, one.errors) for one in DRAWN])
    assert (tmp_path / "blocks.png").read_bytes().startswith(b"\x89PNG")
