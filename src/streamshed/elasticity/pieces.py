"""How much workers help where work comes in pieces, some of them larger than others."""

from __future__ import annotations

import math
from dataclasses import dataclass

from streamshed.elasticity.errors import InvalidElasticityError
from streamshed.errors import Problem


@dataclass(frozen=True, slots=True)
class Pieces:
    """The pieces that work comes in, each done by one worker.

    The busiest of m workers has ⌈K/m⌉ of K equal pieces, so all are done after ⌈K/m⌉/K of the time of one worker. If
    one piece has the share s of all work, they are not done before s of that time, however many workers there are.

    Args:
        count: K, at least 1; None: work can be shared out in any way.
        undivided_share: s, in [0, 1]; 0: no piece is known to be larger than others.

    Raises:
        InvalidElasticityError: There are no pieces, or the share is none.

    Example:
        >>> [Pieces(8).effective_workers(workers) for workers in (1, 3, 4, 7, 8, 9)]
        [1.0, 2.6666666666666665, 4.0, 4.0, 8.0, 8.0]
        >>> Pieces().effective_workers(7), Pieces(undivided_share=0.4).effective_workers(7)
        (7.0, 2.5)
    """

    count: int | None = None
    undivided_share: float = 0.0

    def __post_init__(self) -> None:
        if self.count is not None and self.count < 1:
            raise InvalidElasticityError(Problem("workers: work comes in at least one partition", got=str(self.count)))
        if not 0 <= self.undivided_share <= 1:
            raise InvalidElasticityError(
                Problem("workers: a piece has a share of the work in [0, 1]", got=str(self.undivided_share))
            )

    def effective_workers(self, workers: int) -> float:
        """Return how many times faster than one so many workers are.

        Args:
            workers: m, at least 1.

        Raises:
            InvalidElasticityError: There are no workers.
        """
        if workers < 1:
            raise InvalidElasticityError(Problem("workers: at least one is needed", got=str(workers)))
        by_count = float(workers) if self.count is None else self.count / -(-self.count // workers)
        return min(by_count, self._fastest)

    def enough_workers(self, effective: float) -> int:
        """Return the fewest workers that are at least so many times faster than one; the most useful ones if none are.

        Example:
            >>> [Pieces(8).enough_workers(effective) for effective in (0.5, 2.5, 4.0, 4.1, 20.0)]
            [1, 3, 4, 8, 8]
            >>> Pieces(undivided_share=0.4).enough_workers(20.0)
            3
        """
        wanted = max(1.0, min(effective, self._fastest))
        if self.count is None:
            return math.ceil(wanted * (1 - _ROUNDING))
        rounds = max(1, math.floor(self.count / wanted * (1 + _ROUNDING)))
        return -(-self.count // rounds)

    def useful_workers(self, workers: int) -> int:
        """Return the fewest workers that are as fast as so many.

        Example:
            >>> [Pieces(8).useful_workers(workers) for workers in (1, 3, 4, 7, 8, 9)]
            [1, 3, 4, 4, 8, 8]
            >>> [Pieces(undivided_share=0.4).useful_workers(workers) for workers in (1, 2, 3, 9)]
            [1, 2, 3, 3]
        """
        return self.enough_workers(self.effective_workers(workers))

    def corrected_speedup(self, thought: float, before: Pieces, *, latest_workers: int) -> float:
        """Return a speedup that was assumed earlier, corrected by what is known of pieces now.

        Workers are no faster than the largest piece allows. If that piece is gone, those that waited for it were as
        fast as the latest workers that did; other speedups stay.

        Args:
            thought: The speedup that was assumed.
            before: What was known of pieces then.
            latest_workers: How many there were of late, who are as fast as they ever were.

        Example:
            >>> known, unknown = Pieces(undivided_share=0.5), Pieces()
            >>> [known.corrected_speedup(thought, unknown, latest_workers=8) for thought in (1.0, 2.0, 8.0)]
            [1.0, 2.0, 2.0]
            >>> [unknown.corrected_speedup(thought, known, latest_workers=8) for thought in (1.0, 2.0)]
            [1.0, 8.0]
            >>> [unknown.corrected_speedup(thought, known, latest_workers=1) for thought in (1.0, 2.0)]
            [1.0, 2.0]
        """
        if self._fastest <= before._fastest:
            return min(thought, self._fastest)
        if thought < before._fastest * (1 - _ROUNDING):
            return thought
        return thought * self.effective_workers(latest_workers) / before.effective_workers(latest_workers)

    def holds_up(self, workers: int) -> bool:
        """Tell whether some of so many workers wait for the one that has the largest piece.

        Example:
            >>> [Pieces(undivided_share=0.4).holds_up(workers) for workers in (2, 3)]
            [False, True]
        """
        return self._fastest < Pieces(self.count).effective_workers(workers) * (1 - _ROUNDING)

    @property
    def _fastest(self) -> float:
        return 1 / self.undivided_share if self.undivided_share > 0 else math.inf


_ROUNDING = 1e-9
