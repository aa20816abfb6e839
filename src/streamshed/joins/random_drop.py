"""Random drop: rows are dropped at the input, what is left is joined fully ([G05] §6, the baseline)."""

from __future__ import annotations

import math

from streamshed.joins.selection import CellWork, Selection


def random_drop(work: CellWork, budget: float) -> Selection:
    """Return the share p of new rows to keep: p·(cost with stored rows) + p²·(cost among new ones) = budget.

    Dropped rows are in no window either, so that in the long run both sides of a comparison are fewer by p.

    Args:
        work: What there is to compare.
        budget: What it may cost.

    Example:
        >>> from streamshed.joins.join_windows import JoinWindows
        >>> from streamshed.joins.outlook import Outlook
        >>> from streamshed.joins.yields import Yields
        >>> windows = JoinWindows(20, 10, 10)
        >>> stored, new = (90.0, 100.0, 100.0), (10.0, 0.0, 0.0)
        >>> outlook = Outlook(windows=windows, with_stored=stored, among_new=new, reads=(2, 2, 2))
        >>> yields = Yields((1e6, 1e6, 1e6), (1e4, 3e4, 2e4))
        >>> work = CellWork(outlook=outlook, yields=yields)
        >>> round(random_drop(work, 290 * 0.5 + 10 * 0.25).keep_share, 9)
        0.5
        >>> random_drop(work, 1000.0).keep_share
        1.0
    """
    ones = (1.0,) * work.outlook.windows.cells
    total, comparisons = float(work.costs.sum()), work.outlook.total
    if total <= budget:
        return Selection(ones)
    if budget <= 0:
        return Selection(ones, 0.0)
    among_new = total * sum(work.outlook.among_new) / max(1.0, comparisons)
    with_stored = total - among_new
    kept = 2.0 * budget / (with_stored + math.sqrt(with_stored**2 + 4.0 * among_new * budget))
    return Selection(ones, min(1.0, kept))
