"""How many workers bring utilization to where it should be."""

from __future__ import annotations

from streamshed.elasticity.pieces import Pieces
from streamshed.elasticity.utilization import Utilization


def workers_at(target: float, *, demand: float, fixed: float, pieces: Pieces) -> int | None:
    """Return the fewest workers on which τ is at most `target`.

    Args:
        target: That τ.
        demand: How many workers' whole time the work takes that can be shared out.
        fixed: The part of τ that no number of workers changes.
        pieces: In which pieces work comes.

    Returns:
        As many as can be of use where even those are not enough; None where no number of workers is, since what is
        fixed alone is more.

    Example:
        >>> workers_at(0.4, demand=3.0, fixed=0.0, pieces=Pieces())
        8
        >>> workers_at(0.4, demand=3.0, fixed=0.2, pieces=Pieces(12))
        12
        >>> workers_at(0.4, demand=3.0, fixed=0.4, pieces=Pieces()) is None
        True
    """
    if target <= fixed:
        return None
    return pieces.enough_workers(demand / (target - fixed) * (1 - _ROUNDING))


_ROUNDING = 1e-9


def demand_of(load: Utilization, *, workers: int, pieces: Pieces) -> float:
    """Return how many workers' whole time a load takes, as measured on so many."""
    return load.demand(pieces.effective_workers(workers))


def utilization_at(*, demand: float, fixed: float, workers: int, pieces: Pieces) -> float:
    """Return τ of a load on so many workers."""
    return fixed + demand / pieces.effective_workers(workers)
