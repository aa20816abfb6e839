"""The window count function of [T06] Definition 1: how many windows a row belongs to."""

from __future__ import annotations

from streamshed.network.terms.window import WindowSpecification


def window_count(window: WindowSpecification, time: int, *, first_start: int) -> int:
    """Return WCF(t): how many windows that start at θ or later hold a time.

    With ω = m·δ + φ it rises from 1 to m at the beginning of the stream, and is m + 1 in the first φ ticks of each
    slide from then on, else m.

    Args:
        window: ω and δ.
        time: t, not before θ.
        first_start: θ, the start of the stream's first window.

    Raises:
        ValueError: t is before θ.

    Example:
        >>> [window_count(WindowSpecification(5, 2), time, first_start=0) for time in range(8)]
        [1, 1, 2, 2, 3, 2, 3, 2]
    """
    if time < first_start:
        raise ValueError(f"window count: the time {time} is before the first window, which starts at {first_start}")
    slide = window.slide_microseconds
    latest = (time - first_start) // slide
    oldest = max(0, -(-(time - first_start - window.size_microseconds + 1) // slide))
    return latest - oldest + 1


def may_be_dropped_early(window: WindowSpecification, time: int, *, first_start: int, dropped: frozenset[int]) -> bool:
    """Tell whether a row may be dropped before its windows are: iff all of these are dropped ([T06] Rule 1).

    Args:
        window: ω and δ.
        time: t of the row.
        first_start: θ.
        dropped: Numbers of the windows that are dropped, the first being 0.

    >>> five_every_two = WindowSpecification(5, 2)
    >>> [may_be_dropped_early(five_every_two, t, first_start=0, dropped=frozenset({1, 2, 3})) for t in (3, 5, 6, 7, 8)]
    [False, True, True, True, False]
    """
    latest = (time - first_start) // window.slide_microseconds
    count = window_count(window, time, first_start=first_start)
    return all(number in dropped for number in range(latest - count + 1, latest + 1))
