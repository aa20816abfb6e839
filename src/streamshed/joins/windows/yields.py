"""What comparisons yield, cell by cell: learned from those that were made."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from streamshed.joins.model.arrays import Floats
from streamshed.joins.windows.cell_order import best_first, filled

HALF_LIFE_SECONDS = 20.0
"""After which what was seen counts half as much."""
_MOST_CHOSEN = 0.5
"""Of what all cells cost, how much is taken to be spent on the best, if more was."""
_PRIOR_RESULTS = 4.0
"""How many results it takes for what was seen of a cell to count as much as what was seen around it."""


@dataclass(frozen=True)
class Yields:
    """Results per comparison of each cell, o_ij ([G05] Algorithm 2), or weight of results where they have one.

    What was seen fades with time. Few results are mostly chance, and of many cells the luckiest would look best. But
    yields change little from lag to lag. So a cell with few comparisons takes its yield from its neighbors: blocks of
    1, 2, 4, 8, ... cells are summed up, and to each block are added four results, with as many comparisons as give four
    results in the block of twice its size.

    Yields may mislead: in bursts, or where each key has lags of its own, the cells that gave most may give least next.
    So each update compares what the cells believed to be the best would have given for the cost spent, with what the
    same share of all comparisons would have given.

    Args:
        comparisons: Per cell, faded.
        results: Results per cell, or their weight, faded likewise.
        of_best: What the cells that were believed to be the best would have given, faded likewise.
        of_all: What the same share of all would have.

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
    of_best: float = 0.0
    of_all: float = 0.0

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
        full: Floats | None = None,
        costs: Floats | None = None,
        half_life_seconds: float = HALF_LIFE_SECONDS,
    ) -> Yields:
        """Return them with what was seen in a micro-batch.

        Args:
            comparisons: Per cell, that were made.
            results: What they gave.
            seconds: Since the last update.
            full: Per cell, comparisons of the full join; None: those that were made.
            costs: Per cell, what these were believed to cost; None: all comparisons the same.
            half_life_seconds: After which what was seen counts half as much.
        """
        decay = 0.5 ** (seconds / half_life_seconds)
        made, new_results = np.asarray(comparisons), np.asarray(results)
        whole = made if full is None else full
        of_best, of_all = self._foreseen(made, new_results, whole, whole if costs is None else costs)
        return Yields(
            tuple((decay * np.array(self.comparisons) + made).tolist()),
            tuple((decay * np.array(self.results) + new_results).tolist()),
            decay * self.of_best + of_best,
            decay * self.of_all + of_all,
        )

    def faded(self, seconds: float) -> Yields:
        """Return them after a time in which nothing of them was seen."""
        nothing = [0.0] * len(self.comparisons)
        return self.update(nothing, nothing, seconds=seconds)

    @property
    def tell(self) -> bool:
        """Whether anything is known, and the cells believed to be the best have been so lately."""
        return any(self.results) and self.of_best >= self.of_all

    def _foreseen(self, made: Floats, new_results: Floats, full: Floats, costs: Floats) -> tuple[float, float]:
        """The results of the best cells for the cost spent, and those of the same share of all comparisons."""
        costs = np.where(made > 0.0, costs, 0.0)
        total, believed = float(costs.sum()), self.per_comparison
        if not total or not any(believed):
            return 0.0, 0.0
        spent = float((costs * made / np.maximum(full, 1e-9)).sum())
        share = min(_MOST_CHOSEN, spent / total)
        results = full * new_results / np.maximum(made, 1.0)
        best = filled(best_first(range(len(believed)), believed), costs, share * total)
        return float(results @ best), share * float(results.sum())

    @property
    def per_comparison(self) -> tuple[float, ...]:
        """o_ij per cell."""
        if not sum(self.results):
            return (0.0,) * len(self.results)
        levels = [np.array([self.comparisons, self.results])]
        while levels[-1].shape[1] > 1:
            levels.append(_in_twos(levels[-1]))
        made, cell_results = levels.pop()
        yields: Floats = cell_results / made
        for made, cell_results in reversed(levels):
            around = np.repeat(yields, 2)[: len(made)]
            # What is forgotten long ago is next to nothing: nobody expects a result of that many comparisons.
            with np.errstate(over="ignore", divide="ignore"):
                yields = (cell_results + _PRIOR_RESULTS) / (made + _PRIOR_RESULTS / around)
        return tuple(yields.tolist())

    def to_document(self) -> dict[str, Any]:
        """Return them as what JSON can hold."""
        return {
            "comparisons": list(self.comparisons),
            "results": list(self.results),
            "of_best": self.of_best,
            "of_all": self.of_all,
        }

    @classmethod
    def from_document(cls, document: Mapping[str, Any]) -> Yields:
        """Read what `to_document` wrote."""
        shares = (document.get(name, 0.0) for name in ("of_best", "of_all"))
        return cls(tuple(document["comparisons"]), tuple(document["results"]), *shares)


def _in_twos(counts: Floats) -> Floats:
    """Add up neighbors, shape (2, cells) → (2, ⌈cells/2⌉)."""
    added: Floats = np.pad(counts, ((0, 0), (0, counts.shape[1] % 2))).reshape(2, -1, 2).sum(axis=2)
    return added
