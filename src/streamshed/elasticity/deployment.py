"""How many workers to begin with ([E] Eq. 2)."""

from __future__ import annotations

import math

from streamshed.elasticity.errors import InvalidElasticityError
from streamshed.elasticity.utilization import fewest_workers


def initial_workers(
    *, expected_rows_per_second: float, window_seconds: float, capacity_rows: float, initial_utilization: float
) -> int:
    """Return M = ⌈E(ϖ)·φ/(W·τ1)⌉: so many workers hold the expected rows of a window at utilization τ1.

    Args:
        expected_rows_per_second: E(ϖ), at least 0.
        window_seconds: φ: how long a row is held.
        capacity_rows: W: how many rows a worker can hold.
        initial_utilization: τ1, in (0, 1].

    Returns:
        At least 1.

    Raises:
        InvalidElasticityError: An amount is out of range.

    Example:
        >>> initial_workers(
        ...     expected_rows_per_second=1000, window_seconds=60, capacity_rows=20_000, initial_utilization=0.4)
        8
    """
    amounts = (expected_rows_per_second, window_seconds)
    if not all(math.isfinite(amount) and amount >= 0 for amount in amounts):
        raise InvalidElasticityError(
            "initial workers: rows per second and window must be finite and at least 0, got"
            f" {expected_rows_per_second} rows per second and {window_seconds} s"
        )
    if not (capacity_rows > 0 and 0 < initial_utilization <= 1):
        raise InvalidElasticityError(
            "initial workers: a worker must hold at least a row, at a utilization in (0, 1], got"
            f" {capacity_rows} rows and {initial_utilization}"
        )
    return fewest_workers(expected_rows_per_second * window_seconds / capacity_rows, initial_utilization)


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
