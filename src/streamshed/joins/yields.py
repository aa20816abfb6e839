"""What comparisons yield, cell by cell: learned from those that were made."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from streamshed.joins.arrays import Floats

HALF_LIFE_SECONDS = 20.0
"""After which what was seen counts half as much."""
_PRIOR_RESULTS = 4.0
"""How many results it takes for what was seen of a cell to count as much as what was seen around it."""


@dataclass(frozen=True)
class Yields:
    """Results per comparison of each cell, o_ij ([G05] Algorithm 2), or weight of results where they have one.

    What was seen fades with time. A cell that was hardly looked at yields what those around it do: neighbors are taken
    together, two, four, eight, ... of them, and to the comparisons of each are added as many as would yield four
    results where twice as many cells are taken together, and those four results. What is seen of a few results is
    mostly chance, and of many cells the luckiest would look best; that yields change little from lag to lag is known.

    Args:
        comparisons: Per cell, faded.
        results: Results per cell, or their weight, faded likewise.

    Example:
        >>> yields = Yields.unknown(2).update([1000.0, 1000.0], [300.0, 100.0], seconds=1.0)
        >>> [round(one, 4) for one in yields.per_comparison]
        [0.298, 0.102]
        >>> faded = yields.update([0.0, 1000.0], [0.0, 50.0], seconds=20.0)
        >>> faded.comparisons, faded.results
        ((500.0, 1500.0), (150.0, 100.0))
        >>> hardly_seen = Yields((1e4, 1e4, 1.0, 1e4), (900.0, 900.0, 1.0, 100.0))
        >>> [round(one, 3) for one in hardly_seen.per_comparison]
        [0.09, 0.09, 0.013, 0.01]
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
        if not sum(self.results):
            return (0.0,) * len(self.results)
        levels = [np.array([self.comparisons, self.results])]
        while levels[-1].shape[1] > 1:
            levels.append(_in_twos(levels[-1]))
        made, found = levels.pop()
        yields: Floats = found / made
        for made, found in reversed(levels):
            around = np.repeat(yields, 2)[: len(made)]
            # What is forgotten long ago is next to nothing: nobody expects a result of that many comparisons.
            with np.errstate(over="ignore", divide="ignore"):
                yields = (found + _PRIOR_RESULTS) / (made + _PRIOR_RESULTS / around)
        return tuple(yields.tolist())

    def to_document(self) -> dict[str, Any]:
        """Return them as what JSON can hold."""
        return {"comparisons": list(self.comparisons), "results": list(self.results)}

    @classmethod
    def from_document(cls, document: Mapping[str, Any]) -> Yields:
        """Read what `to_document` wrote."""
        return cls(tuple(document["comparisons"]), tuple(document["results"]))


def _in_twos(counts: Floats) -> Floats:
    """Add up neighbors, shape (2, cells) → (2, ⌈cells/2⌉)."""
    added: Floats = np.pad(counts, ((0, 0), (0, counts.shape[1] % 2))).reshape(2, -1, 2).sum(axis=2)
    return added
