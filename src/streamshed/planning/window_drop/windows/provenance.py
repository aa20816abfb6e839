"""Which rows a window of nested aggregates is made of, exactly.

An answer of an aggregate is stamped with the start of its window ([T06] §3.2), and is a row of the next aggregate. So a
window at T of the outermost needs the answers stamped in [T, T + ω), which need rows of their own. [T06] Table 2 takes
as many ticks as there could be at most, Σω − (k−1); between the stamps that there can be lies less.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

from streamshed.network.terms.window import WindowSpecification


@dataclass(frozen=True, slots=True)
class NeededRows:
    """The rows of a stream with event times in [start, end), in microseconds."""

    start: int
    end: int


def needed_rows(windows: Sequence[WindowSpecification], start: int) -> NeededRows | None:
    """Return the rows that one window of the outermost of some nested aggregates is made of.

    Args:
        windows: Those of the aggregates, the one next to the stream first.
        start: Where the window starts, one of the starts of the last of `windows`.

    Returns:
        All and only the event times that matter; None: its window holds no answer of the aggregate below it.

    Example:
        [T06] Figure 4, windows of 3 every 2, and of 3 every 3 of their answers: the rule says 5 ticks. The window at 3
        holds the answer stamped 4 alone, and needs 3.

        >>> nested = [WindowSpecification(3, 2), WindowSpecification(3, 3)]
        >>> needed_rows(nested, 0), needed_rows(nested, 3)
        (NeededRows(start=0, end=5), NeededRows(start=4, end=7))
    """
    *below, outermost = windows
    end = start + outermost.size_microseconds
    if not below:
        return NeededRows(start, end)
    inner = below[-1]
    period, phase = inner.slide_microseconds, inner.offset_microseconds
    first = start + (phase - start) % period
    last = end - 1 - (end - 1 - phase) % period
    if first > last:
        return None
    needs = [inner_rows for stamp in (first, last) if (inner_rows := needed_rows(below, stamp)) is not None]
    if len(needs) < 2:
        return _between(below, first, last, period)
    return NeededRows(needs[0].start, needs[-1].end)


@dataclass(frozen=True, slots=True)
class Extent:
    """How far what a window needs deviates from the window itself, at most.

    Attributes:
        lead: So much later than the window what it needs begins, at least, microseconds.
        beyond: So much later than the window what it needs ends, at most.
    """

    lead: int
    beyond: int


def extent(windows: Sequence[WindowSpecification]) -> Extent:
    """Return how far `needed_rows` deviates from the windows of the outermost of some nested aggregates.

    The stamps of answers, φ + jδ, and the starts of windows over them, θ + kδ', differ by multiples of gcd(δ, δ') and a
    constant. So of two aggregates it is exact, [T06] Table 2 where that gcd is one tick; of more it is a bound.

    Args:
        windows: As there.

    Example:
        >>> extent([WindowSpecification(3, 2), WindowSpecification(3, 3)])
        Extent(lead=0, beyond=2)
        >>> extent([WindowSpecification(10, 10), WindowSpecification(100, 100)])
        Extent(lead=0, beyond=0)
    """
    *below, outermost = windows
    if not below:
        return Extent(0, 0)
    inner, further = below[-1], extent(below)
    common = math.gcd(inner.slide_microseconds, outermost.slide_microseconds)
    starts_apart = inner.offset_microseconds - outermost.offset_microseconds
    unused = (outermost.size_microseconds - 1 - starts_apart) % common
    return Extent(
        lead=starts_apart % common + further.lead,
        beyond=inner.size_microseconds - 1 - unused + further.beyond,
    )


def _between(below: Sequence[WindowSpecification], first: int, last: int, period: int) -> NeededRows | None:
    """The same where the first or the last answer is made of nothing, and need not be the first or last that is not."""
    needs = [
        inner_rows for stamp in range(first, last + 1, period) if (inner_rows := needed_rows(below, stamp)) is not None
    ]
    return NeededRows(needs[0].start, needs[-1].end) if needs else None
