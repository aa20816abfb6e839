"""What a micro-batch takes in seconds, learned from what micro-batches took."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

import numpy as np

from streamshed.joins.choose.join_policies import SAMPLING
from streamshed.joins.choose.selection import Prices
from streamshed.joins.match.fragments import WHOLE, Fragments
from streamshed.joins.model.arrays import Floats
from streamshed.joins.partition.join_result import JoinResult, RowsBySide

HALF_LIFE_MICRO_BATCHES = 20.0
"""After which what a micro-batch took counts half as much."""
_LEAST_SHARE = 0.1
"""Of the time, that comparisons have; and that reading everything may have in every micro-batch."""
_SELDOM = 10
GUESSED_SECONDS = {"fixed": 5e-3, "row": 1e-6, "read": 1e-4, "comparison": 3e-9, "result": 1e-7}
"""What is believed before anything was measured, and where it cannot be told apart, unless somebody knows better."""
_TYPICAL = {"fixed": 1.0, "row": 1e3, "read": 1e1, "comparison": 1e6, "result": 1e4}
"""Sizes of the micro-batch that the guess weighs as much as: a small one, soon outweighed."""


@dataclass(frozen=True, slots=True, kw_only=True)
class MicroBatchWork:
    """What a micro-batch did.

    Args:
        rows: New rows that came; one that goes to several partitions counts in each of them as its share.
        reads: Basic windows that were read.
        comparisons: Comparisons that were made.
        results: What they gave.
    """

    rows: float
    reads: int
    comparisons: float
    results: float

    @classmethod
    def of(cls, result: JoinResult, fragments: Fragments = WHOLE) -> MicroBatchWork:
        """Return what gave a result.

        Args:
            result: The result.
            fragments: How the rows of the join are spread over partitions.
        """
        received = RowsBySide(result.left_counts.received, result.right_counts.received)
        return cls(
            rows=received.counted_once(fragments),
            reads=result.state.basic_windows_read,
            comparisons=float(result.cells.comparisons.sum()),
            results=float(result.cells.results.sum()),
        )

    @property
    def amounts(self) -> Floats:
        """The numbers that prices are multiplied with, the fixed part first."""
        return np.array([1.0, self.rows, self.reads, self.comparisons, self.results])


def _guessed() -> Floats:
    return np.array(list(GUESSED_SECONDS.values()))


def _squares() -> Floats:
    return np.diag(np.array(list(_TYPICAL.values())) ** 2)


@dataclass(frozen=True, eq=False)
class LearnedPrices:
    """seconds = fixed + row·rows + read·reads + comparison·comparisons + result·results, no price below 0.

    Least squares over all micro-batches, older ones counting less. Prices of amounts that hardly vary between
    micro-batches cannot be told apart; their sum is right.

    Args:
        squares: Σ amounts·amountsᵀ, faded.
        products: Σ amounts·seconds, faded.
        believed: Prices before anything was measured, in the order of `GUESSED_SECONDS`.

    Example:
        >>> prices = LearnedPrices()
        >>> for rows, comparisons in ((2000, 1e6), (4000, 5e6), (2000, 8e6)) * 20:
        ...     work = MicroBatchWork(rows=rows, reads=0, comparisons=comparisons, results=0.0)
        ...     prices = prices.update(work, seconds=0.01 + 2e-6 * rows + 5e-9 * comparisons)
        >>> f"{prices.prices.comparison:.1g}", f"{prices.overhead_seconds(rows=3000, reads=0):.3f}"
        ('5e-09', '0.016')
    """

    squares: Floats = field(default_factory=_squares)
    products: Floats = field(default_factory=lambda: _squares() @ _guessed())
    believed: Floats = field(default_factory=_guessed)

    @classmethod
    def believing(cls, seconds: Mapping[str, float]) -> LearnedPrices:
        """Return what is known before anything was measured, if prices are believed to be these.

        Args:
            seconds: By the names of `GUESSED_SECONDS`.

        Example:
            >>> LearnedPrices.believing({**GUESSED_SECONDS, "read": 2e-3}).prices.read
            0.002
        """
        believed = np.array([seconds[name] for name in GUESSED_SECONDS])
        return cls(products=_squares() @ believed, believed=believed)

    def update(self, work: MicroBatchWork, *, seconds: float) -> LearnedPrices:
        """Return them with what a micro-batch took.

        Args:
            work: What it did.
            seconds: What it took, all included.
        """
        decay, amounts = 0.5 ** (1.0 / HALF_LIFE_MICRO_BATCHES), work.amounts
        squares = _squares()
        return LearnedPrices(
            decay * self.squares + np.outer(amounts, amounts) + (1.0 - decay) * squares,
            decay * self.products + amounts * seconds + (1.0 - decay) * (squares @ self.believed),
            self.believed,
        )

    @property
    def by_name(self) -> Mapping[str, float]:
        """Seconds of the fixed part, a row, a read, a comparison and a result."""
        from scipy.optimize import nnls

        scale = np.sqrt(np.diag(self.squares))
        values, vectors = np.linalg.eigh(self.squares / np.outer(scale, scale))
        roots = np.sqrt(np.maximum(values, 1e-12))
        prices, _ = nnls(roots[:, None] * vectors.T, (vectors.T @ (self.products / scale)) / roots)
        return dict(zip(GUESSED_SECONDS, (prices / scale).tolist(), strict=True))

    @property
    def prices(self) -> Prices:
        """What a comparison, a result and a read take, seconds."""
        learned = self.by_name
        return Prices(comparison=learned["comparison"], result=learned["result"], read=learned["read"])

    def overhead_seconds(self, *, rows: float, reads: int) -> float:
        """Return what a micro-batch takes before anything is compared."""
        learned = self.by_name
        return learned["fixed"] + learned["row"] * rows + learned["read"] * reads


@dataclass(frozen=True, kw_only=True)
class TimeBudget:
    """What a micro-batch may take, and what it takes before anything is compared.

    Args:
        seconds: That it may take.
        learned: What everything takes.
        rows: New rows of both sides.
        basic_windows: How many are stored.
    """

    seconds: float
    learned: LearnedPrices
    rows: int
    basic_windows: int

    def sampling(self, number: int, sampling: float = SAMPLING) -> float:
        """Return γ for a micro-batch: all at once in every tenth, where reading everything would take long.

        Args:
            number: Of the micro-batch.
            sampling: γ on average.
        """
        of_reads = self.learned.prices.read * self.basic_windows
        if of_reads <= _LEAST_SHARE * self.seconds:
            return sampling
        return min(1.0, sampling * _SELDOM) if number % _SELDOM == 0 else 0.0

    @property
    def seconds_to_compare(self) -> float:
        """What is left for comparisons, a tenth at least: prices of what is never done would never be put right."""
        overhead = self.learned.overhead_seconds(rows=self.rows, reads=0)
        return max(_LEAST_SHARE * self.seconds, self.seconds - overhead)
