"""How many rows and groups are left of groups by their size."""

import pytest

from streamshed.statistics.group_sizes import GroupSizes

SIZES = GroupSizes(((100.0, 3.0), (1.0, 10.0)))


def test_of_no_rows_there_are_no_groups() -> None:
    none = SIZES.thinned(0.0)
    assert (none.sizes, none.groups, none.rows, none.groups_met(0.5)) == ((), 0.0, 0.0, 0.0)
    assert none.rows_of_smallest(0.95) == 0.0
    assert none.thinned(0.5) == none


@pytest.mark.parametrize("share", [5e-324, 1e-300, 1e-12, 1e-3, 0.5, 1.0])
def test_a_share_of_the_rows_is_left(share: float) -> None:
    thinned = SIZES.thinned(share)
    assert thinned.rows == pytest.approx(SIZES.rows * share, rel=0.2)
    assert 0 < thinned.groups <= SIZES.groups


def test_what_is_met_of_no_groups_is_what_is_met_of_groups_of_one_row() -> None:
    assert GroupSizes(()).share_met(0.3) == pytest.approx(SIZES.thinned(1e-9).share_met(0.3))


@pytest.mark.parametrize("pair", [(0.5, 1.0), (1.0, 0.0), (float("inf"), 1.0)])
def test_what_cannot_be_is_refused(pair: tuple[float, float]) -> None:
    with pytest.raises(ValueError, match="cannot be"):
        GroupSizes((pair,))
