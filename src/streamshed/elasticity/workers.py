"""Workers that there are, that are coming, and that could be had."""

from __future__ import annotations

from dataclasses import dataclass

from streamshed.elasticity.errors import InvalidElasticityError
from streamshed.elasticity.pieces import Pieces
from streamshed.errors import Problem


@dataclass(frozen=True, slots=True, kw_only=True)
class Workers:
    """What a cluster has and could get.

    Args:
        running: Workers that carry load, at least 1.
        starting: Workers that were asked for and do not carry load yet.
        free: Workers that could be had besides.

    Raises:
        InvalidElasticityError: None runs, or a number is negative.

    Example:
        >>> Workers(running=4, starting=2, free=10).committed
        6
    """

    running: int
    starting: int = 0
    free: int = 0

    def __post_init__(self) -> None:
        if self.running < 1 or self.starting < 0 or self.free < 0:
            raise InvalidElasticityError(
                "workers: at least one must run, and none be fewer than 0, got"
                f" {self.running} running, {self.starting} starting, {self.free} free"
            )

    @property
    def committed(self) -> int:
        """Those that run or are going to."""
        return self.running + self.starting

    @property
    def obtainable(self) -> int:
        """How many there are once all that can be had run."""
        return self.committed + self.free


@dataclass(frozen=True, slots=True, kw_only=True)
class WorkerLimits:
    """How few and how many workers there may be.

    Args:
        least: M of the text, below which none is released; at least 1.
        most: How many there are at most, those of the pool included; None: as many as the cluster gives.
        partitions: In how many pieces work comes; more workers than that are of no use. None: any number is.

    Raises:
        InvalidElasticityError: The limits leave no number of workers.

    Example:
        >>> limits = WorkerLimits(least=2, most=12, partitions=8)
        >>> [limits.within(wanted, Workers(running=4, free=20)) for wanted in (1, 4, 7, 50)]
        [2, 4, 4, 8]
        >>> limits.within(8, Workers(running=4, free=1))
        4
    """

    least: int = 1
    most: int | None = None
    partitions: int | None = None

    def __post_init__(self) -> None:
        if self.least < 1:
            raise InvalidElasticityError(f"workers: at least one is needed, got a minimum of {self.least}")
        if self.most is not None and self.most < self.least:
            question = " (a pool of zero: is nothing to run on meant?)" if self.most < 1 else ""
            says = f"workers: the most there may be must be at least the fewest, {self.least}{question}"
            raise InvalidElasticityError(Problem(says, got=str(self.most)))
        Pieces(self.partitions)

    def within(self, wanted: int, workers: Workers, pieces: Pieces | None = None) -> int:
        """Return what a controller gets that wants so many workers: no fewer and no more than may be, none in vain.

        Args:
            wanted: That number.
            workers: What there is and could be had.
            pieces: In which pieces work comes, as far as that is known; None: in equal ones.
        """
        most = workers.obtainable if self.most is None else min(workers.obtainable, self.most)
        least = min(self.least, most)
        granted = max(min(wanted, most), least)
        if granted == workers.committed:
            return granted
        useful = max((pieces or Pieces(self.partitions)).useful_workers(granted), least)
        return max(useful, workers.committed) if granted > workers.committed else useful
