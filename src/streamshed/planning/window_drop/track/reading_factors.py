"""What windows cost that are kept, where all rows have to be read for them, and blocks are left unread otherwise."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from streamshed.planning.window_drop.track.droppable import DroppableQuery
from streamshed.planning.window_drop.track.open_windows import EventTimes

_MOST_READ = 0.5
"""Reading counts as work for windows where, with as few as may be, no more of the micro-batches are read whole."""


def reading_factors_of_windows(
    queries: Iterable[DroppableQuery], event_times: Mapping[str, EventTimes], *, lasts: bool
) -> dict[str, float]:
    """Return by stream how many times as many rows are read for kept windows as are in them.

    A micro-batch is read whole if a single row of it is in a window that is kept. So for a window of length ω, alone
    between dropped ones, ω and the span T of a micro-batch are read: (ω + T)/ω times as much. A query that keeps as few
    windows as it may keeps one every (B + 1)·δ: the factor is at most (B + 1)·δ/ω. It is as large where gaps are by
    group, as at any time some group has a window that is kept.

    Where most micro-batches are read whole even if as few windows as may be are kept, reading does not depend on how
    many are. Then it counts only if there is no time for it in the long run.

    Args:
        queries: The queries whose windows may be dropped.
        event_times: Of the rows that come, by stream.
        lasts: Whether there is time to read everything in the long run.

    Returns:
        The largest factor of each stream's queries; without streams of which reading is no matter of windows.
    """
    factors: dict[str, float] = {}
    most_read: dict[str, float] = {}
    for query in queries:
        times = event_times.get(query.stream)
        if times is None:
            continue
        window, size = query.window, query.reach.size_microseconds
        span = max(0, times.last + 1 - times.first)
        most = max(1.0, (query.gap_windows + 1) * window.slide_microseconds / size)
        factor = most if query.is_by_group else min(most, (size + span) / size)
        factors[query.stream] = max(factor, factors.get(query.stream, 1.0))
        most_read[query.stream] = max(factor / most, most_read.get(query.stream, 0.0))
    return {stream: factor for stream, factor in factors.items() if not lasts or most_read[stream] <= _MOST_READ}
