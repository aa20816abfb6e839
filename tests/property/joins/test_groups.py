"""Numbers of combinations of numbers, against Python's dictionaries."""

from __future__ import annotations

import numpy as np
from hypothesis import example, given
from hypothesis import strategies as st

from streamshed.joins.sums.groups import grouped

LARGEST = (0, 1, 5, 2**31, 2**62 - 1, 2**63 - 1)
"""Masks of up to 63 queries lie beside numbers of slices and keys: their product exceeds 64 bits."""


@st.composite
def _rows(draw: st.DrawFn) -> list[tuple[int, ...]]:
    columns = draw(st.lists(st.sampled_from(LARGEST), min_size=1, max_size=4))
    few = [st.sampled_from([0, largest]) | st.integers(0, largest) for largest in columns]
    return draw(st.lists(st.tuples(*few), min_size=1, max_size=30))


@given(_rows())
@example([(slice_number, 2**62 - 1) for slice_number in range(9)])
@example([(2**62 - 1, slice_number, 2**62 - 1 - slice_number) for slice_number in range(9)])
def test_each_combination_has_a_number_and_a_row(rows: list[tuple[int, ...]]) -> None:
    groups, places = grouped([np.array(column, np.int64) for column in zip(*rows, strict=True)])
    numbers: dict[tuple[int, ...], int] = {}
    for row, group in zip(rows, groups.tolist(), strict=True):
        assert numbers.setdefault(row, group) == group
    assert sorted(numbers.values()) == list(range(len(places)))
    assert [numbers[rows[place]] for place in places.tolist()] == list(range(len(places)))
