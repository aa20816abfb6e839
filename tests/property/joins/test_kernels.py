"""Every kernel of a condition finds the same pairs."""

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from streamshed.joins.match import bit_sets, equal_keys, inverted_index, predicate_pairs
from streamshed.joins.match.bit_sets import pairs_by_bits
from streamshed.joins.match.inverted_index import pairs_by_index
from streamshed.joins.match.item_sets import item_columns
from streamshed.joins.match.kernel import Pairs, comparisons_within
from streamshed.joins.match.predicate_pairs import pairs_by_predicate
from streamshed.joins.model.conditions import Equality
from streamshed.joins.model.side_rows import CODE, TIME, SideRows
from tests.thoroughness import examples

SET_ROWS = st.lists(st.tuples(st.integers(0, 50), st.sets(st.integers(0, 90), max_size=8)), max_size=25)
INTERVALS = st.sampled_from([[(-5, 5)], [(0, 100)], [(-60, -20), (0, 0), (10, 30)]])


def rows_of(sets: list[tuple[int, set[int]]]) -> SideRows:
    ordered = sorted(sets, key=lambda one: one[0])
    lists = pa.array([sorted(items) for _, items in ordered], pa.list_(pa.int64()))
    table = pa.table({"s": lists, TIME: pa.array([time for time, _ in ordered], pa.int64()), **item_columns(lists)})
    return SideRows(table)


def as_set(pairs: Pairs) -> list[tuple[int, int]]:
    return sorted(zip(pairs[0].tolist(), pairs[1].tolist(), strict=True))


def common(left: pa.Table, right: pa.Table) -> np.ndarray:
    return np.array([len({*a} & {*b}) >= 2 for a, b in zip(*(t["s"].to_pylist() for t in (left, right)), strict=True)])


@pytest.fixture(autouse=True)
def small_pieces(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(bit_sets, "_TILE", 16)
    monkeypatch.setattr(inverted_index, "_MOST_ENTRIES", 8)
    monkeypatch.setattr(predicate_pairs, "_MOST_PAIRS", 7)


@examples(150)
@given(lefts=SET_ROWS, rights=SET_ROWS, intervals=INTERVALS)
def test_all_find_the_same(
    lefts: list[tuple[int, set[int]]], rights: list[tuple[int, set[int]]], intervals: list[tuple[int, int]]
) -> None:
    left, right = rows_of(lefts), rows_of(rights)
    expected = [
        (i, j)
        for i, (mine, a) in enumerate(zip(left.times, left.table["s"].to_pylist(), strict=True))
        for j, (theirs, b) in enumerate(zip(right.times, right.table["s"].to_pylist(), strict=True))
        if len({*a} & {*b}) >= 2 and any(lo <= theirs - mine <= hi for lo, hi in intervals)
    ]
    assert as_set(pairs_by_bits(2, left, right, intervals)) == expected
    assert as_set(pairs_by_index(2, left, right, intervals, weighted=False)) == expected
    assert as_set(pairs_by_index(2, left, right, intervals, weighted=True)) == expected
    assert as_set(pairs_by_predicate(common, left, right, intervals)) == expected


@given(left=st.lists(st.integers(0, 50)), right=st.lists(st.integers(0, 50)), intervals=INTERVALS)
def test_comparisons_are_counted(left: list[int], right: list[int], intervals: list[tuple[int, int]]) -> None:
    found = comparisons_within(np.sort(np.array(left, np.int64)), np.sort(np.array(right, np.int64)), intervals)
    assert found.tolist() == [sum(lo <= b - a <= hi for a in left for b in right) for lo, hi in intervals]


@pytest.mark.parametrize("dense", [0.0, 2.0])
@examples(100)
@given(
    lefts=st.lists(st.tuples(st.integers(0, 50), st.integers(0, 3)), max_size=25),
    rights=st.lists(st.tuples(st.integers(0, 50), st.integers(0, 3)), max_size=25),
    intervals=INTERVALS,
    far=st.sampled_from([0, 3 * 10**17]),
)
def test_equal_keys_are_found_by_filter_and_by_search(
    dense: float,
    lefts: list[tuple[int, int]],
    rights: list[tuple[int, int]],
    intervals: list[tuple[int, int]],
    far: int,
) -> None:
    def side(rows: list[tuple[int, int]]) -> SideRows:
        ordered = sorted((time + far * (key == 0), key) for time, key in rows)
        times, keys = (pa.array([one[place] for one in ordered], pa.int64()) for place in (0, 1))
        return SideRows(pa.table({"k": keys, TIME: times, CODE: keys}))

    left, right = side(lefts), side(rights)
    expected = [
        (i, j)
        for i, (mine, a) in enumerate(zip(left.times, left.codes, strict=True))
        for j, (theirs, b) in enumerate(zip(right.times, right.codes, strict=True))
        if a == b and any(lo <= theirs - mine <= hi for lo, hi in intervals)
    ]
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(equal_keys, "_DENSE", dense)
        found = equal_keys.pairs_of_equal_keys(Equality(("k",), ("k",)), left, right, intervals)
    assert as_set(found) == expected
