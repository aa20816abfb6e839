"""Rows that join by no key, spread over partitions: fragment and replicate, in a grid, whatever the condition."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
import pandas as pd

from streamshed.errors import InvalidNetworkError
from streamshed.joins.match.key_codes import scattered
from streamshed.joins.model.arrays import Ints
from streamshed.joins.model.join_windows import JoinWindows
from streamshed.joins.model.side import Side


@dataclass(frozen=True, slots=True)
class Fragments:
    """Into how many fragments the rows of either side are dealt; each two of them meet in one partition.

    Partition l·`right` + r has the l-th fragment of the left side and the r-th of the right side: any two rows are
    together in one partition, and in no other, so that each pair is compared once, by whatever condition. A left row
    goes to as many partitions as the right side has fragments, and the other way round.

    Args:
        left: Of the left side.
        right: Of the right side.

    Raises:
        InvalidNetworkError: There are not that many.

    Example:
        >>> fragments = Fragments(2, 3)
        >>> fragments.partitions, fragments.copies(Side.LEFT), fragments.copies(Side.RIGHT)
        (6, 3, 2)
        >>> fragments.partitions_of(Side.LEFT, 1), fragments.partitions_of(Side.RIGHT, 1)
        ((3, 4, 5), (1, 4))
    """

    left: int = 1
    right: int = 1

    def __post_init__(self) -> None:
        if self.left < 1 or self.right < 1:
            raise InvalidNetworkError(
                f"a join is spread over {self.left}×{self.right} fragments, expected at least one of either side"
            )

    @property
    def partitions(self) -> int:
        """How many partitions have rows."""
        return self.left * self.right

    def of(self, side: Side) -> int:
        """Return how many fragments a side has."""
        return self.left if side is Side.LEFT else self.right

    def copies(self, side: Side) -> int:
        """Return to how many partitions each row of a side goes."""
        return self.of(side.opposite)

    def partitions_of(self, side: Side, fragment: int) -> tuple[int, ...]:
        """Return the partitions that a fragment of a side goes to."""
        if side is Side.LEFT:
            return tuple(range(fragment * self.right, (fragment + 1) * self.right))
        return tuple(range(fragment, self.partitions, self.right))


WHOLE = Fragments()
"""One partition has all rows, or each partition the rows of its keys: no row goes to two."""


def fragments_for(windows: JoinWindows, partitions: int) -> Fragments:
    """Return a grid over no more than so many partitions, as near to a square as can be.

    In a grid of l by r partitions each handles the l-th part of the left and the r-th part of the right rows, and the
    (l·r)-th part of the comparisons; in a square the rows are fewest. The side whose rows wait longer has the fewer
    copies.

    Args:
        windows: Of the join.
        partitions: How many there are.

    Example:
        >>> longer_left = JoinWindows(20, 10, 5)
        >>> [fragments_for(longer_left, count) for count in (1, 2, 4, 7)]
        [Fragments(left=1, right=1), Fragments(left=2, right=1), Fragments(left=2, right=2), Fragments(left=3, right=2)]
        >>> fragments_for(JoinWindows(10, 20, 5), 2)
        Fragments(left=1, right=2)
    """
    few = math.isqrt(partitions)
    many = partitions // few
    if windows.left_microseconds > windows.right_microseconds:
        return Fragments(many, few)
    return Fragments(few, many)


def dealt(identities: Ints, fragments: int) -> Ints:
    """Return the fragment of each row, by a hash of its identity; rows of one identity are dealt in turn.

    The order of the rows matters for rows of one identity only. So a task that runs again deals the same rows to the
    same fragments.

    Args:
        identities: Of the rows.
        fragments: How many there are.

    Example:
        >>> dealt(np.array([5, 5, 5, 9]), 2).tolist()
        [0, 1, 0, 1]
    """
    if fragments == 1 or not len(identities):
        return np.zeros(len(identities), np.int64)
    first = scattered(identities).view(np.uint64) % np.uint64(fragments)
    alike = pd.Series(identities).groupby(identities, sort=False).cumcount().to_numpy(np.int64)
    row_fragments: Ints = (first.astype(np.int64) + alike) % fragments
    return row_fragments
