"""Utilization τ: how much of what a worker can hold, or do in time, is asked of it ([E])."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from streamshed.elasticity.errors import InvalidElasticityError
from streamshed.errors import Problem

Vector = NDArray[np.float64]


def by_rows_held(rows_held: ArrayLike, capacity_rows: float) -> Vector:
    """Return τ = r/W of each worker, the text's form: rows that it holds ÷ rows that it can hold.

    Args:
        rows_held: r, by worker.
        capacity_rows: W, above 0.

    Raises:
        InvalidElasticityError: A worker can hold nothing.

    Example:
        >>> by_rows_held([12_000, 5_000], 20_000).tolist()
        [0.6, 0.25]
    """
    if not (math.isfinite(capacity_rows) and capacity_rows > 0):
        raise InvalidElasticityError(
            Problem("utilization: the rows that a worker can hold must be finite and above 0", got=str(capacity_rows))
        )
    shares: Vector = np.asarray(rows_held, dtype=np.float64) / capacity_rows
    return shares


@dataclass(frozen=True, slots=True)
class Utilization:
    """τ of all workers together, and what of it another number of workers would change.

    Args:
        mean: τ, on average over workers.
        fixed: The part of it that each worker has whatever their number, such as what a micro-batch costs without rows.
        largest: τ of the busiest worker; None: that is not known, all are alike.

    Raises:
        InvalidElasticityError: A figure is negative or not finite, or the fixed part is larger than the whole.

    Example:
        Four workers at τ = 0.8, a tenth of it fixed:

        >>> load = Utilization(0.8, fixed=0.08)
        >>> round(load.demand(4), 3)
        2.88
    """

    mean: float
    fixed: float = 0.0
    largest: float | None = None

    def __post_init__(self) -> None:
        utilizations = (self.mean, self.fixed, self.mean if self.largest is None else self.largest)
        if not all(math.isfinite(value) and value >= 0 for value in utilizations) or self.fixed > self.mean:
            raise InvalidElasticityError(
                "utilization: the mean, its fixed part and the largest must be finite, at least 0, and the fixed part"
                f" no more than the mean, got {self.mean}, {self.fixed} and {self.largest}"
            )

    @property
    def busiest(self) -> float:
        """τ of the busiest worker; the mean where that is not known."""
        return self.mean if self.largest is None else self.largest

    @property
    def net(self) -> float:
        """τ as a share of the time that the fixed part leaves: what another number of workers can bring to anything.

        Thresholds are meant of this one, as those of the text are of rows held: where a micro-batch without rows takes
        half of the time, no number of workers brings τ itself below that.

        >>> Utilization(0.8, fixed=0.5).net, Utilization(0.5, fixed=0.5).net
        (0.6000000000000001, 0.0)
        """
        return (self.mean - self.fixed) / (1 - self.fixed) if self.fixed < 1 else math.inf

    def gross(self, net: float) -> float:
        """Return the τ whose net is that, beside the same fixed part.

        >>> Utilization(0.8, fixed=0.5).gross(0.4)
        0.7
        """
        return self.fixed + net * max(0.0, 1 - self.fixed)

    @property
    def skew(self) -> float:
        """τ of the busiest worker ÷ that of all, but for the fixed part; 1: all are alike."""
        shared = self.mean - self.fixed
        return max(1.0, (self.busiest - self.fixed) / shared) if shared > 0 else 1.0

    def demand(self, workers: float) -> float:
        """Return how many workers' whole time the work takes that can be shared out.

        Args:
            workers: How many workers there are, or how many times faster than one they are (`Pieces`).
        """
        return (self.mean - self.fixed) * workers


_ROUNDING = 1e-9


def fewest_workers(demand: float, share: float) -> int:
    """Return the fewest workers that do the work of `demand` whole workers with `share` of their time.

    Args:
        demand: At least 0.
        share: Above 0.

    Example:
        >>> fewest_workers(3.0, 0.4), fewest_workers(0.0, 0.4)
        (8, 1)
    """
    return max(1, math.ceil(demand / share * (1 - _ROUNDING)))
