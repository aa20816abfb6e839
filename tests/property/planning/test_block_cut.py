"""Which blocks are read: as many rows as a share asks for, in cohorts of as many rows each."""

from __future__ import annotations

import json
import math

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from streamshed.columnar.spark_hash import block_draws, first_draw
from streamshed.network.terms.join_shedding import COHORTS
from streamshed.planning.place.block_cut import UNREAD, BlockCut
from streamshed.spark.source.blocks import block_cut

SIZES = st.lists(st.integers(0, 1000), max_size=80)
SHARES = st.floats(1e-3, 1.0)


@given(sizes=SIZES, share=SHARES, turn=st.integers(0, 10**6), seed=st.integers(0, 999))
def test_just_more_rows_are_read_than_the_share_asks_for(sizes: list[int], share: float, turn: int, seed: int) -> None:
    rows, drawn = np.array(sizes, np.int64), np.random.default_rng(seed).random(len(sizes))
    cut = BlockCut.of(drawn, rows, share, turn)
    if cut is None:
        largest = rows.max(initial=0)
        assert not rows.any() or share * rows.sum() > rows.sum() - largest - 1
        return
    is_read = cut.cohorts(drawn) != UNREAD
    assert cut.share == rows[is_read].sum() / rows.sum()
    assert cut.share >= share * (1 - 1e-12)
    last = drawn == drawn[is_read & (rows > 0)].max()
    assert rows[is_read & ~last].sum() <= share * rows.sum() * (1 + 1e-12)


@given(count=st.integers(64, 400), share=st.floats(0.3, 0.7), seed=st.integers(0, 99))
def test_cohorts_have_as_many_rows_each(count: int, share: float, seed: int) -> None:
    rows, drawn = np.full(count, 100), np.random.default_rng(seed).random(count)
    cut = BlockCut.of(drawn, rows, share, seed)
    assert cut is not None
    cohorts = cut.cohorts(drawn)
    of_cohorts = np.bincount(cohorts[cohorts != UNREAD], minlength=COHORTS)
    assert of_cohorts.max() - of_cohorts.min() <= 1


@given(sizes=SIZES, share=SHARES, width=st.integers(1, 16))
def test_a_cut_is_written_and_read(sizes: list[int], share: float, width: int) -> None:
    drawn = np.random.default_rng(1).random(len(sizes))
    cut = BlockCut.of(drawn, np.array(sizes, np.int64), share, 7, width)
    assert cut is None or BlockCut.from_document(json.loads(json.dumps(cut.to_document()))) == cut


@given(
    files=st.lists(st.lists(st.integers(1, 1000), max_size=60), min_size=1, max_size=9),
    share=SHARES,
    width=st.integers(1, 16),
)
def test_neighbors_are_read_together_or_not_at_all(files: list[list[int]], share: float, width: int) -> None:
    """And as many rows are read as is said."""
    blocks = {f"/in/{number}": tuple(rows) for number, rows in enumerate(files)}
    cut = block_cut("packets", blocks, share, 5, width)
    if cut is None:
        return
    read = total = 0
    for path, rows in blocks.items():
        cohorts = cut.cohorts(block_draws(cut.first_draw, cut.bundles(path, range(len(rows)))))
        for first in range(0, len(rows), width):
            assert len({*cohorts[first : first + width].tolist()}) == 1
        read += int(np.array(rows, np.int64)[cohorts != UNREAD].sum())
        total += sum(rows)
    assert cut.share == read / total >= share * (1 - 1e-12)


def test_few_blocks_of_several_micro_batches_are_in_different_cohorts() -> None:
    drawn, rows = np.arange(16) / 16, np.full(16, 10)
    cuts = [BlockCut.of(drawn, rows, 0.5, turn) for turn in range(2)]
    cohorts = [set(cut.cohorts(drawn).tolist()) - {UNREAD} for cut in cuts if cut is not None]
    assert [len(one) for one in cohorts] == [8, 8]
    assert not set.intersection(*cohorts)


@given(
    count=st.integers(1, 3000), first=st.integers(0, 2000), length=st.integers(1, 2000), limit=st.floats(0.001, 0.999)
)
def test_blocks_that_are_read_are_spread_evenly(count: int, first: int, length: int, limit: float) -> None:
    """Weyl's sequence of the golden ratio: of any neighbors as many are read as of any others, but for a few."""
    is_read = block_draws(first_draw("packets", count), range(count)) < limit
    neighbors = is_read[first : first + length]
    assert abs(neighbors.sum() - limit * len(neighbors)) < 1.5 + 0.5 * math.log2(1 + len(neighbors))


def test_micro_batches_begin_anywhere() -> None:
    """Of those of one block each, as many are read as the limit says."""
    drawn = np.concatenate([block_draws(first_draw("packets", number), [0]) for number in range(4000)])
    for limit in (0.05, 0.3, 0.7):
        assert abs((drawn < limit).mean() - limit) < 4 * math.sqrt(limit * (1 - limit) / len(drawn))
