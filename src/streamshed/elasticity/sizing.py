"""How many workers bring utilization to where it should be."""

from __future__ import annotations

from streamshed.elasticity.parallelism import effective_workers, enough_workers
from streamshed.elasticity.utilization import Utilization
from streamshed.elasticity.workers import WorkerLimits


def workers_at(target: float, *, demand: float, fixed: float, limits: WorkerLimits) -> int | None:
    """Return the fewest workers on which τ is at most `target`.

    Args:
        target: That τ.
        demand: How many workers' whole time the work takes that can be shared out.
        fixed: The part of τ that no number of workers changes.
        limits: In how many partitions work comes.

    Returns:
        As many as can be of use where even those are not enough; None where no number of workers is, since what is
        fixed alone is more.

    Example:
        >>> workers_at(0.4, demand=3.0, fixed=0.0, limits=WorkerLimits())
        8
        >>> workers_at(0.4, demand=3.0, fixed=0.2, limits=WorkerLimits(partitions=12))
        12
        >>> workers_at(0.4, demand=3.0, fixed=0.4, limits=WorkerLimits()) is None
        True
    """
    if target <= fixed:
        return None
    return enough_workers(demand / (target - fixed) * (1 - _ROUNDING), limits.partitions)


_ROUNDING = 1e-9


def demand_of(load: Utilization, *, workers: int, limits: WorkerLimits) -> float:
    """Return how many workers' whole time a load takes, as measured on so many."""
    return load.demand(effective_workers(workers, limits.partitions))


def utilization_at(*, demand: float, fixed: float, workers: int, limits: WorkerLimits) -> float:
    """Return τ of a load on so many workers."""
    return fixed + demand / effective_workers(workers, limits.partitions)
