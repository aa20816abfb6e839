"""How far ahead of the wall clock event times are believed: the future is what clocks are surely wrong about."""

from __future__ import annotations

from streamshed.network.model.stream import Stream

DEFAULT_AHEAD_MICROSECONDS = 86_400_000_000
"""A day: longer than a time that was written down in one zone and read in another is off."""


def most_ahead(stream: Stream) -> int | None:
    """Return how far ahead event times may be, microseconds; None: numbers, or times that others have looked at.

    Args:
        stream: Whose. Results of a join have the times of its sides.
    """
    if stream.is_numbered or stream.joined is not None:
        return None
    return stream.max_ahead_microseconds or DEFAULT_AHEAD_MICROSECONDS


def furthest_event(stream: Stream, now_seconds: float | None) -> int | None:
    """Return the latest event time that is believed, microseconds; None: any.

    Args:
        stream: Whose.
        now_seconds: When the micro-batch was planned; None, or 0: that is not known.
    """
    ahead = most_ahead(stream)
    return None if ahead is None or not now_seconds else microseconds_of(now_seconds) + ahead


def microseconds_of(seconds: float) -> int:
    """Return an instant in microseconds, as a plan tells it."""
    return round(seconds * 1e6)
