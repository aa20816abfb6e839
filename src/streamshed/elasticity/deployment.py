"""How many workers to begin with ([E] Eq. 2)."""

from __future__ import annotations

import math

from streamshed.elasticity.errors import InvalidElasticityError
from streamshed.elasticity.pieces import Pieces
from streamshed.elasticity.thresholds import Thresholds
from streamshed.elasticity.utilization import fewest_workers
from streamshed.elasticity.workers import WorkerLimits


def initial_workers_by_time(
    *, shared_seconds: float, fixed_seconds: float, available_seconds: float, initial_utilization: float
) -> int:
    """Return the fewest workers on which a micro-batch of the expected load takes τ1 of the time there is.

    The general form of M: (fixed + shared/m)/available ≤ τ1.

    Args:
        shared_seconds: What its rows take on one worker.
        fixed_seconds: What it takes besides, however many workers there are.
        available_seconds: The time there is.
        initial_utilization: τ1, in (0, 1].

    Raises:
        InvalidElasticityError: What is fixed alone takes more than that, or an amount is out of range.

    Example:
        >>> initial_workers_by_time(
        ...     shared_seconds=12.0, fixed_seconds=0.5, available_seconds=5.0, initial_utilization=0.4)
        8
    """
    if not (math.isfinite(shared_seconds) and shared_seconds >= 0 and available_seconds > 0):
        raise InvalidElasticityError(
            f"initial workers: work must be finite and at least 0 s, and there must be time for it, got"
            f" {shared_seconds} s for {available_seconds} s"
        )
    for_rows_seconds = initial_utilization * available_seconds - fixed_seconds
    if for_rows_seconds <= 0:
        raise InvalidElasticityError(
            f"initial workers: a micro-batch without rows takes {fixed_seconds:.3g} s, which is all that"
            f" {initial_utilization:g} of {available_seconds:.3g} s is, on any number of workers: a longer trigger?"
        )
    return fewest_workers(shared_seconds, for_rows_seconds)


def workers_to_deploy(
    *,
    shared_seconds: float,
    fixed_seconds: float,
    available_seconds: float,
    thresholds: Thresholds,
    limits: WorkerLimits,
) -> int:
    """Return with how many workers to begin, so that load can double before any of it is shed.

    M in time, at τ1 or halfway between what is fixed and τ2 if that is more, as the controller `predictive` aims; no
    fewer and no more than there may be, and none that would have nothing to do.

    Args:
        shared_seconds: What the rows of a micro-batch take on one worker.
        fixed_seconds: What it takes besides, however many workers there are.
        available_seconds: The time there is.
        thresholds: τ1 and τ2.
        limits: How few and how many there may be, and in how many pieces work comes.

    Raises:
        InvalidElasticityError: What is fixed alone takes τ2 of the time, or an amount is out of range.

    Example:
        >>> told = dict(shared_seconds=12.0, fixed_seconds=0.5, available_seconds=5.0, thresholds=Thresholds())
        >>> [workers_to_deploy(limits=limits, **told) for limits in (
        ...     WorkerLimits(), WorkerLimits(most=4), WorkerLimits(least=9), WorkerLimits(partitions=8))]
        [7, 4, 9, 8]
    """
    fixed = fixed_seconds / available_seconds if available_seconds > 0 else 0.0
    if fixed >= thresholds.shed:
        raise InvalidElasticityError(
            f"workers: a micro-batch without rows takes {fixed_seconds:.3g} s, and load is shed from"
            f" {thresholds.shed * available_seconds:.3g} s on: no number of workers is enough; a longer trigger?"
        )
    enough = initial_workers_by_time(
        shared_seconds=shared_seconds,
        fixed_seconds=fixed_seconds,
        available_seconds=available_seconds,
        initial_utilization=max(thresholds.initial, (fixed + thresholds.shed) / 2),
    )
    pieces = Pieces(limits.partitions)
    wanted = pieces.enough_workers(enough)
    return max(limits.least, pieces.useful_workers(wanted if limits.most is None else min(wanted, limits.most)))
