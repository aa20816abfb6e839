"""What comparisons yield, cell by cell: learned from those that were made."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from streamshed.joins.arrays import Floats

HALF_LIFE_SECONDS = 20.0
"""After which what was seen counts half as much."""


@dataclass(frozen=True)
class Yields:
    """Results per comparison of each cell, o_ij ([G05] Algorithm 2), or weight of results where they have one.

    What was seen fades with time. A cell that was hardly looked at yields what all together do: o_ij is taken over its
    own comparisons and as many more as yield one result on average.

    Args:
        comparisons: Per cell, faded.
        results: Results per cell, or their weight, faded likewise.

    Example:
        >>> yields = Yields.unknown(2).update([1000.0, 1000.0], [30.0, 10.0], seconds=1.0)
        >>> [round(one, 4) for one in yields.per_comparison]
        [0.0295, 0.0105]
        >>> faded = yields.update([0.0, 1000.0], [0.0, 50.0], seconds=20.0)
        >>> faded.comparisons, faded.results
        ((500.0, 1500.0), (15.0, 55.0))
        >>> Yields.unknown(2).per_comparison
        (0.0, 0.0)
    """

    comparisons: tuple[float, ...]
    results: tuple[float, ...]

    @classmethod
    def unknown(cls, cells: int) -> Yields:
        """Return what is known before anything was compared."""
        return cls((0.0,) * cells, (0.0,) * cells)

    def update(
        self,
        comparisons: Floats | list[float],
        results: Floats | list[float],
        *,
        seconds: float,
        half_life_seconds: float = HALF_LIFE_SECONDS,
    ) -> Yields:
        """Return them with what was seen in a micro-batch.

        Args:
            comparisons: Per cell, that were made.
            results: What they gave.
            seconds: Since the last update.
            half_life_seconds: After which what was seen counts half as much.
        """
        kept = 0.5 ** (seconds / half_life_seconds)
        return Yields(
            tuple((kept * np.array(self.comparisons) + comparisons).tolist()),
            tuple((kept * np.array(self.results) + results).tolist()),
        )

    @property
    def per_comparison(self) -> tuple[float, ...]:
        """o_ij per cell."""
        total = sum(self.results)
        if not total:
            return (0.0,) * len(self.results)
        added = sum(self.comparisons) / total
        return tuple((found + 1.0) / (made + added) for made, found in zip(self.comparisons, self.results, strict=True))
