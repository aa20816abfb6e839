"""What dropping windows saves: the model of [T06] §3.6, guarded where it does not hold."""

from __future__ import annotations

from streamshed.network.terms.window import WindowSpecification


def early_share(window: WindowSpecification, gap_windows: int) -> float:
    """Return which share of the rows of a dropped batch of windows belongs to no other window.

    That is ((B+1)·δ − ω) / ((B−1)·δ + ω), where all of a batch's windows are dropped and the windows beside it are
    kept; none where windows overlap so much that there is no such row: then the paper's formula is negative, and its
    sel_w1 exceeds 1.

    >>> tumbling, sliding = WindowSpecification(20, 20), WindowSpecification(20, 1)
    >>> early_share(tumbling, 10), early_share(sliding, 10), early_share(WindowSpecification(20, 5), 10)
    (1.0, 0.0, 0.5384615384615384)
    """
    size, slide = window.size_microseconds, window.slide_microseconds
    return max(0.0, ((gap_windows + 1) * slide - size) / ((gap_windows - 1) * slide + size))


def drop_share_for(
    window: WindowSpecification, gap_windows: int, *, excess: float, above_seconds: float, below_seconds: float
) -> float:
    """Return p, the share of windows to drop at an excess load so that the rest is what can be done.

    A row costs `above_seconds` up to the slices of its windows, which early drops save, and a window `below_seconds`,
    spread over the rows of a slide, which every drop saves: with a and b the seconds of all rows,
    a·(1 − p·early) + b·(1 − p) = (a + b) / (1 + x).

    Args:
        window: ω and δ.
        gap_windows: B.
        excess: x: the load is 1 + x times what can be done.
        above_seconds: a, per row.
        below_seconds: b, per row.

    Returns:
        p, up to 1; at 1 not even that may be enough.

    Example:
        [T06] Figure 12, rows 25 % too fast, one delay above and one below an aggregate of negligible cost: a tumbling
        window drops 0.2; one that slides by 1 can save below only, and drops 0.4 (0.39 with the costs they measured).

        >>> figure = dict(excess=0.25, above_seconds=5e-3)
        >>> round(drop_share_for(WindowSpecification(20, 20), 10, below_seconds=5e-3 / 20, **figure), 3)
        0.2
        >>> round(drop_share_for(WindowSpecification(20, 1), 10, below_seconds=5e-3, **figure), 3)
        0.4
    """
    saved = early_share(window, gap_windows) * above_seconds + below_seconds
    wanted = (above_seconds + below_seconds) * excess / (1 + excess)
    if wanted <= 0:
        return 0.0
    return min(1.0, wanted / saved) if saved > 0 else 1.0
