"""How the rows of a grouped query are spread over its groups: what decides how many of them a sample still meets."""

from __future__ import annotations

import math
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class GroupSizes:
    """Groups by their number of rows.

    Args:
        sizes: Pairs (rows of a group, how many groups have about so many), rows at least 1; none where there are no
            rows.

    Raises:
        ValueError: An impossible pair.

    Example:
        A group of a thousand rows and a thousand of one: of a tenth of the rows, a tenth of the small ones is met.

        >>> sizes = GroupSizes(((1000.0, 1.0), (1.0, 1000.0)))
        >>> sizes.groups, sizes.rows
        (1001.0, 2000.0)
        >>> round(sizes.groups_met(0.1), 1), round(sizes.share_met(0.1), 3)
        (101.0, 0.101)
    """

    sizes: tuple[tuple[float, float], ...]

    def __post_init__(self) -> None:
        for rows, groups in self.sizes:
            if not (rows >= 1 and groups > 0 and math.isfinite(rows * groups)):
                raise ValueError(f"group sizes: {groups} groups of {rows} rows cannot be")

    @property
    def groups(self) -> float:
        """How many groups there are: D(1)."""
        return sum(groups for _, groups in self.sizes)

    @property
    def rows(self) -> float:
        """How many rows they have in all."""
        return sum(rows * groups for rows, groups in self.sizes)

    def groups_met(self, sampling_rate: float) -> float:
        """Return how many groups keep a row: D(P) = Σ_g (1 − (1−P)^n_g)."""
        if sampling_rate >= 1:
            return self.groups
        return sum(-math.expm1(rows * math.log1p(-sampling_rate)) * groups for rows, groups in self.sizes)

    def share_met(self, sampling_rate: float) -> float:
        """Return D(P)/D(1); of no groups P, what it comes to where rows are ever fewer."""
        return self.groups_met(sampling_rate) / self.groups if self.groups > 0 else sampling_rate

    def rows_of_smallest(self, share: float) -> float:
        """Return the rows of the smallest group among the largest ones that together have a share of all rows.

        A query by groups is judged by that one ([B04] §4.2 takes the worst group; but a group of one row would ask for
        all rows, for ever).

        >>> GroupSizes(((1000.0, 1.0), (10.0, 5.0), (1.0, 20.0))).rows_of_smallest(0.95)
        10.0
        """
        missing = share * self.rows
        smallest = 0.0
        for rows, groups in sorted(self.sizes, reverse=True):
            if missing <= 0:
                break
            smallest = rows
            missing -= rows * groups
        return smallest

    def thinned(self, share: float) -> GroupSizes:
        """Return the groups that a share of all rows falls into, each with the rows it then has.

        >>> thinned = GroupSizes(((100.0, 3.0), (1.0, 10.0))).thinned(0.1)
        >>> [(round(rows, 2), round(groups, 2)) for rows, groups in thinned.sizes]
        [(10.0, 3.0), (1.0, 1.0)]
        >>> thinned.thinned(0.0)
        GroupSizes(sizes=())
        """
        met = [
            (rows, -math.expm1(rows * math.log1p(-share)) if share < 1 else 1.0, groups) for rows, groups in self.sizes
        ]
        return GroupSizes(
            tuple(
                (max(1.0, rows * share / chance), groups * chance)
                for rows, chance, groups in met
                if groups * chance > 0
            )
        )
