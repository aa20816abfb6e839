"""How much workers help where work comes in a fixed number of partitions."""

from __future__ import annotations

import math

from streamshed.elasticity.errors import InvalidElasticityError


def effective_workers(workers: int, partitions: int | None) -> float:
    """Return how many times faster than one so many workers are, each doing one partition at a time.

    The busiest of m workers has ⌈K/m⌉ of K equal partitions, so all are done after ⌈K/m⌉/K of the time of one worker.

    Args:
        workers: m, at least 1.
        partitions: K, at least 1; None: work can be shared out in any way.

    Raises:
        InvalidElasticityError: There are no workers or no partitions.

    Example:
        >>> [effective_workers(workers, 8) for workers in (1, 3, 4, 7, 8, 9)]
        [1.0, 2.6666666666666665, 4.0, 4.0, 8.0, 8.0]
        >>> effective_workers(7, None)
        7.0
    """
    _check(workers, partitions)
    return float(workers) if partitions is None else partitions / _rounds(workers, partitions)


def useful_workers(workers: int, partitions: int | None) -> int:
    """Return the fewest workers that are as fast as so many.

    Example:
        >>> [useful_workers(workers, 8) for workers in (1, 3, 4, 7, 8, 9)]
        [1, 3, 4, 4, 8, 8]
    """
    _check(workers, partitions)
    return workers if partitions is None else -(-partitions // _rounds(workers, partitions))


def enough_workers(effective: float, partitions: int | None) -> int:
    """Return the fewest workers that are at least so many times faster than one; the most useful ones if none are.

    Example:
        >>> [enough_workers(effective, 8) for effective in (0.5, 2.5, 4.0, 4.1, 20.0)]
        [1, 3, 4, 8, 8]
    """
    if partitions is None:
        return max(1, math.ceil(effective))
    rounds = max(1, math.floor(partitions / max(effective, 1.0) * (1 + _ROUNDING)))
    return -(-partitions // rounds)


_ROUNDING = 1e-9


def _rounds(workers: int, partitions: int) -> int:
    return -(-partitions // workers)


def _check(workers: int, partitions: int | None) -> None:
    if workers < 1 or (partitions is not None and partitions < 1):
        raise InvalidElasticityError(
            f"workers: at least one worker and one partition are needed, got {workers} and {partitions}"
        )
