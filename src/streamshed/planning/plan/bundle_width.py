"""How many neighboring blocks are read together: the more, the less time it takes to read as many rows."""

from __future__ import annotations

import math

from streamshed.network.terms.join_shedding import COHORTS

WIDEST = 16
"""No more neighboring blocks are read together: as many rows as are read from a file at once."""
LEAST_BUNDLES = 4 * COHORTS
"""Blocks are read together only where so many bundles are read, at least."""
MOST_EFFECT = 2.0
"""And where their design effect is no larger than this."""


def bundle_width(read: float, design_effect: float) -> int:
    """Return how many neighboring blocks are read together.

    Where the rows of a block are no more alike than others, those of its neighbors are hardly, either: with D of blocks
    that of bundles of w blocks is at most 1 + w·(D − 1). So many are bundled that it is no more than `MOST_EFFECT`, and
    that `LEAST_BUNDLES` are read.

    Args:
        read: How many blocks are read.
        design_effect: D.

    Example:
        >>> bundle_width(1000.0, 0.9), bundle_width(1000.0, 1.2), bundle_width(1000.0, 22.0), bundle_width(70.0, 1.0)
        (8, 4, 1, 1)
    """
    most = min(read / LEAST_BUNDLES, WIDEST)
    if design_effect > 1:
        most = min(most, (MOST_EFFECT - 1) / (design_effect - 1))
    return 1 << int(math.log2(max(1.0, most)))
