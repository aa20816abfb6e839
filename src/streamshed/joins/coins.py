"""Which rows and keys are chosen: the same ones whenever the same rows come."""

from __future__ import annotations

import numpy as np

from streamshed.joins.arrays import Booleans, Floats, Ints
from streamshed.joins.key_codes import scattered

DROPPED, COMPARED_FULLY, SAMPLED_KEYS = 10, 20, 30
"""Salts, so that one choice says nothing of another; those of rows are taken with the number of the side added."""


def chosen_rows(times: Ints, share: float, *, salt: int, seed: int) -> Booleans:
    """Choose a share of rows, by their time and place; the rows must be in order.

    Example:
        >>> chosen = chosen_rows(np.arange(10_000), 0.1, salt=DROPPED, seed=0)
        >>> bool(0.09 < chosen.mean() < 0.11)
        True
    """
    if share >= 1.0:
        return np.ones(len(times), np.bool_)
    if share <= 0.0:
        return np.zeros(len(times), np.bool_)
    return _uniform(scattered(times) + np.arange(len(times)), salt + 1000 * seed) < share


def chosen_keys(codes: Ints, share: float) -> Booleans:
    """Choose the rows of a share of the keys: the same keys always, and a larger share has those of smaller ones."""
    if share >= 1.0:
        return np.ones(len(codes), np.bool_)
    return _uniform(codes, SAMPLED_KEYS) < share


def _uniform(codes: Ints, salt: int) -> Floats:
    """Numbers in [0, 1)."""
    salted = scattered(np.array([salt], np.int64))[0]
    hashes = scattered(scattered(codes) ^ salted).view(np.uint64)
    return (hashes >> np.uint64(11)).astype(np.float64) * 2.0**-53
