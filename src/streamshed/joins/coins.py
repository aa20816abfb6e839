"""Which rows are chosen: the same ones whenever the same rows come."""

from __future__ import annotations

import numpy as np

from streamshed.joins.arrays import Booleans, Floats, Ints
from streamshed.joins.key_codes import scattered

DROPPED, COMPARED_FULLY, ROUNDED = 10, 20, 40
"""Salts, so that one choice says nothing of another; those of rows are taken with the number of the side added."""


def chosen_rows(times: Ints, share: float, *, salt: int, seed: int) -> Booleans:
    """Choose a share of rows, by their time and place; the rows must be in order.

    As many as share·rows, rounded up or down by chance so that it is right on average: were each row chosen for itself,
    how many are would vary, and with it what a micro-batch costs.

    Example:
        >>> [int(chosen_rows(np.arange(1000), 0.1, salt=DROPPED, seed=seed).sum()) for seed in range(3)]
        [100, 100, 100]
    """
    if share >= 1.0:
        return np.ones(len(times), np.bool_)
    chosen: Booleans = np.zeros(len(times), np.bool_)
    if share <= 0.0 or not len(times):
        return chosen
    numbers = _uniform(scattered(times) + np.arange(len(times)), salt + 1000 * seed)
    count = int(share * len(times) + rounding(int(times[0]), seed=salt + seed))
    if count:
        chosen[np.argpartition(numbers, count - 1)[:count]] = True
    return chosen


def rounding(number: int, *, seed: int) -> float:
    """Return a number in [0, 1) to round by: floor(x + it) is x on average."""
    return float(_uniform(np.array([number], np.int64), ROUNDED + 1000 * seed)[0])


def _uniform(codes: Ints, salt: int) -> Floats:
    """Numbers in [0, 1)."""
    salted = scattered(np.array([salt], np.int64))[0]
    hashes = scattered(scattered(codes) ^ salted).view(np.uint64)
    return (hashes >> np.uint64(11)).astype(np.float64) * 2.0**-53
