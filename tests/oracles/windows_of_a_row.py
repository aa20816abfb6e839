"""The windows that a row belongs to."""

from __future__ import annotations

from streamshed.network.terms.window import WindowSpecification


def windows_containing(window: WindowSpecification, time_microseconds: int) -> range:
    """The starts, ascending, of the windows that contain an instant."""
    since_start = (time_microseconds - window.offset_microseconds) % window.slide_microseconds
    last = time_microseconds - since_start
    count = (window.size_microseconds - since_start - 1) // window.slide_microseconds + 1
    return range(last - (count - 1) * window.slide_microseconds, last + 1, window.slide_microseconds)
