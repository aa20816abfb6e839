"""Which rows are chosen: the same ones whenever the same rows come."""

from __future__ import annotations

import numpy as np

from streamshed.joins.match.key_codes import scattered
from streamshed.joins.model.arrays import Booleans, Floats, Ints

DROPPED, COMPARED, ROUNDED = 10, 20, 40
"""Salts, so that one choice says nothing of another; those of rows are taken with the number of the side added."""
_BLOCK_ROWS = 8
"""Rows that cost about the same, of which a share is drawn."""
_GOLDEN = 0.6180339887498949
"""Multiples of it, modulo 1, are spread evenly, however many there are."""


def chosen_rows(times: Ints, share: float, *, salt: int, seed: int) -> Booleans:
    """Choose a share of rows, by their time and place; the rows must be in order.

    Their number is share·rows, rounded up or down by chance so that it is right on average. Were each row chosen by
    itself, that number would vary, and with it the cost of a micro-batch.

    Example:
        >>> [int(chosen_rows(np.arange(1000), 0.1, salt=DROPPED, seed=seed).sum()) for seed in range(3)]
        [100, 100, 100]
    """
    return row_draws(times, salt=salt, seed=seed) < share


def row_draws(times: Ints, *, salt: int, seed: int, costs: Floats | None = None) -> Floats:
    """Return a number in [0, 1) for each row, by its time and place; the rows must be in order.

    The rows with numbers below a share p cost p times what all rows cost, but for the last one, which is in or out by
    chance. Rows are drawn in blocks of about equal costs, so they are about p times as many, too.

    Args:
        times: Of the rows.
        salt: What is drawn for.
        seed: Of the micro-batch.
        costs: What each row costs, more than 0; None: all the same.

    Example:
        >>> costs = np.arange(1.0, 1001.0) ** 2
        >>> chosen = row_draws(np.arange(1000), salt=DROPPED, seed=1, costs=costs) < 0.2
        >>> f"{chosen.mean():.2f} {costs[chosen].sum() / costs.sum():.2f}"
        '0.20 0.20'
    """
    count = len(times)
    if not count:
        return np.zeros(0)
    places = np.arange(count)
    numbers = _uniform(scattered(times) + places, salt + 1000 * seed)
    alike = places if costs is None else np.lexsort((numbers, costs))
    blocks = np.empty(count, np.int64)
    blocks[alike] = places // _BLOCK_ROWS
    order = np.lexsort((numbers, blocks))
    ranks = np.empty(count)
    ranks[order] = places % _BLOCK_ROWS
    chance = rounding(int(times[0]), seed=salt + seed)
    within = (ranks + (chance + blocks * _GOLDEN) % 1.0) / np.minimum(_BLOCK_ROWS, count - _BLOCK_ROWS * blocks)
    order = np.argsort(within, kind="stable")
    spent = np.ones(count) if costs is None else costs[order]
    draws = np.empty(count)
    draws[order] = (np.cumsum(spent) - (1.0 - chance) * spent) / spent.sum()
    return draws


def rounding(number: int, *, seed: int) -> float:
    """Return a number in [0, 1) to round by: floor(x + it) is x on average."""
    return float(_uniform(np.array([number], np.int64), ROUNDED + 1000 * seed)[0])


def _uniform(codes: Ints, salt: int) -> Floats:
    """Numbers in [0, 1)."""
    salted = scattered(np.array([salt], np.int64))[0]
    hashes = scattered(scattered(codes) ^ salted).view(np.uint64)
    return (hashes >> np.uint64(11)).astype(np.float64) * 2.0**-53
