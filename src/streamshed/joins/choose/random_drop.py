"""Random drop: rows are dropped at the input, what is left is joined fully ([G05] §6, the baseline)."""

from __future__ import annotations

import math

from streamshed.joins.choose.selection import CellWork, Selection


def random_drop(work: CellWork, budget: float) -> Selection:
    """Return the share p of new rows to keep: p·(cost with stored rows) + p²·(cost among new ones) = budget.

    Dropped rows are in no window either, so that in the long run both sides of a comparison are fewer by p.

    Args:
        work: What there is to compare.
        budget: What it may cost.
    """
    ones = (1.0,) * work.expected.windows.cells
    total, comparisons = float(work.costs.sum()), work.expected.total
    if total <= budget:
        return Selection(ones)
    if budget <= 0:
        return Selection(ones, 0.0)
    among_new = total * sum(work.expected.among_new) / max(1.0, comparisons)
    with_stored = total - among_new
    keep_share = 2.0 * budget / (with_stored + math.sqrt(with_stored**2 + 4.0 * among_new * budget))
    return Selection(ones, min(1.0, keep_share))
