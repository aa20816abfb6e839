"""How far off totals over rows may be that were left out many at once, as blocks were not read."""

from __future__ import annotations

import numpy as np
from scipy import special

from streamshed.answering.estimate.block_sums import BlockSums
from streamshed.answering.table.output import Shape
from streamshed.answering.table.window_partials import Doubles, Truths, WindowPartials
from streamshed.network.terms.aggregate import AggregateKind
from streamshed.network.terms.join_shedding import COHORTS

LEAST_COHORTS = 8
"""With rows in fewer of them a window may as well lie in blocks that were not read."""


def with_blocks(
    shape: Shape,
    partials: WindowPartials,
    numbers: Doubles,
    error: Doubles,
    bounds: tuple[Doubles, Doubles],
    in_blocks: Truths,
    confidence: float,
) -> tuple[Doubles, tuple[Doubles, Doubles], Truths]:
    """Widen what is known of counts, sums and averages by how much blocks differ.

    Those that are read are divided into K = 16 cohorts of as many rows each, whose sums tell the variance V, see
    `BlockSums`. It holds what sampling the rows adds. Of the variance of other rows of the window, sampled one by
    one, the share r is left, so that a bound that is a away from the estimate becomes sqrt(r·a² + t²·V) away, t the
    quantile of Student's distribution with K − 1 degrees of freedom.

    Of windows that not all cohorts have rows of, few blocks tell: their answers are low, and t has one degree of
    freedom less than there are cohorts with rows. With fewer than `LEAST_COHORTS` of them a window may lie in row
    groups none of which was read, and nobody knows how many rows it has: a count has no upper bound, and others have
    none. So have averages whose cohorts are all alike, and what sums too large for `BlockSums` are behind.

    Args:
        shape: The aggregate.
        partials: Of the windows.
        numbers: The estimates.
        error: Their standard errors, as if rows had been sampled one by one.
        bounds: Their bounds, likewise.
        in_blocks: Of which windows blocks may have been left unread.
        confidence: c, in (0, 1).

    Returns:
        Standard errors, bounds, and which answers are low for it.
    """
    if not in_blocks.any():
        return error, bounds, np.zeros(len(partials), np.bool_)
    blocks = BlockSums.of(partials)
    variance, cohorts = blocks.variance(shape, partials), blocks.cohorts
    is_unclear = ~np.isfinite(variance) | ((shape.function is AggregateKind.AVG) & (variance == 0))
    is_dark = in_blocks & ((cohorts < LEAST_COHORTS) | is_unclear)
    rest = np.sqrt(blocks.share_of_others(shape, partials))
    variance = np.where(is_dark, 0.0, variance)
    half = np.sqrt(variance) * special.stdtrit(np.maximum(cohorts - 1, 1), 0.5 + confidence / 2)
    lower, upper = (
        numbers + sign * np.hypot(rest * (bound - numbers), half) for sign, bound in zip((-1, 1), bounds, strict=True)
    )
    if shape.function is AggregateKind.COUNT:
        seen = partials.doubles("rows" if shape.counts_rows else "present")
        lower = np.where(is_dark, seen, np.maximum(lower, seen))
    else:
        lower = np.where(is_dark, np.nan, lower)
    upper = np.where(is_dark, np.nan, upper)
    widened = np.where(is_dark, np.nan, np.hypot(rest * np.nan_to_num(error), np.sqrt(variance)))
    return (
        np.where(in_blocks, widened, error),
        (np.where(in_blocks, lower, bounds[0]), np.where(in_blocks, upper, bounds[1])),
        is_dark | (in_blocks & (cohorts < COHORTS)),
    )
