"""Parameters of a common window drop above several aggregates: the rules of [T06] Table 2 and their composition."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

from streamshed.network.terms.window import WindowSpecification


@dataclass(frozen=True, slots=True)
class DropWindows:
    """The windows that are kept or dropped together, and how many of them may be dropped one after the other.

    Attributes:
        size: ω, ticks: all of these are kept when a window is kept.
        slide: δ, ticks: how far apart such windows start.
        gap_windows: B: as many may be dropped one after the other; 0: none may, each query is decided on by itself.
    """

    size: int
    slide: int
    gap_windows: int


def of_query(window: WindowSpecification, gap_windows: int) -> DropWindows:
    """Return the windows of a query that tolerates gaps of so many windows.

    >>> of_query(WindowSpecification(3, 2), 10)
    DropWindows(size=3, slide=2, gap_windows=10)
    """
    return DropWindows(window.size_microseconds, window.slide_microseconds, gap_windows)


def pipeline(first: WindowSpecification, then: DropWindows) -> DropWindows:
    """Return what an aggregate needs kept above it so that what is below it can be decided on there.

    ω = ω1 + ω2 − 1, δ = δ2, B as below: a window below needs every answer stamped in it, the last of which reaches
    ω1 − 1 ticks further ([T06] §3.2, pipeline arrangement).

    >>> pipeline(WindowSpecification(3, 2), DropWindows(3, 3, 4))
    DropWindows(size=5, slide=3, gap_windows=4)
    """
    return DropWindows(first.size_microseconds + then.size - 1, then.slide, then.gap_windows)


def fan_out(siblings: Sequence[DropWindows]) -> DropWindows:
    """Return the windows that can be decided on for several at once.

    δ = lcm(δ_i): there all of them begin a window; ω = δ + max(ω_i − δ_i), so that each can end its own; and
    B = min ⌊B_i / (δ/δ_i)⌋, as one of these windows is δ/δ_i of theirs ([T06] §3.2, fan-out arrangement).

    >>> both = fan_out([DropWindows(3, 2, 6), DropWindows(3, 3, 6)])
    >>> both, pipeline(WindowSpecification(4, 1), both)
    (DropWindows(size=7, slide=6, gap_windows=2), DropWindows(size=10, slide=6, gap_windows=2))
    >>> fan_out([DropWindows(3, 2, 2), DropWindows(3, 3, 9)]).gap_windows
    0
    """
    slide = math.lcm(*(one.slide for one in siblings))
    return DropWindows(
        size=slide + max(one.size - one.slide for one in siblings),
        slide=slide,
        gap_windows=min(one.gap_windows // (slide // one.slide) for one in siblings),
    )
