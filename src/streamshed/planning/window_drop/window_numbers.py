"""Numbers k of windows [θ + kδ, θ + kδ + ω), by instants."""

from __future__ import annotations

from streamshed.network.window import WindowSpecification


def first_from(window: WindowSpecification, instant: int) -> int:
    """Number of the first window that starts at an instant or later."""
    return -(-(instant - window.offset_microseconds) // window.slide_microseconds)


def last_until(window: WindowSpecification, instant: int) -> int:
    """Number of the last window that starts at an instant or earlier."""
    return (instant - window.offset_microseconds) // window.slide_microseconds


def first_open(window: WindowSpecification, opened: int) -> int:
    """Number of the first window that ends after the watermark."""
    return last_until(window, opened - window.size_microseconds) + 1
