"""How far the event times of rows go that wait, as far as that is known before they are read."""

from __future__ import annotations

from streamshed.planning.window_drop.track.open_windows import Backlog
from streamshed.spark.source.upcoming_rows import StreamRows


def backlog_of(
    coming: StreamRows | None,
    left: int,
    *,
    guessed_until: int,
    read_until: int | None,
    now: int,
    before: int | None,
    written_until: int | None = None,
) -> Backlog | None:
    """Return how far the rows of a stream go that wait.

    Footers tell the event times of the rows that come, and of those in the youngest file that waits. Of other rows
    that are known to wait, the newest is taken to be as late as the clock is. Of rows that are not known to wait, event
    time is taken to have moved on as the clock has since the micro-batch before. No row is taken to be later than the
    clock, one from the future makes no others old, nor later than the newest record of a topic was written.

    Args:
        coming: What the stream brings; None: that is not known.
        left: Rows that are known to wait for a later micro-batch.
        guessed_until: Where the rows that come are taken to end where nothing tells, microseconds.
        read_until: The latest event time of all rows that were read; None: none was.
        now: The clock.
        before: The clock when the micro-batch before was planned; None: there was none.
        written_until: When the newest record of a topic was written; None: it is no topic, or nothing tells.

    Returns:
        How far they go; None: no row comes, or nothing is known of its time.

    Example:
        >>> from streamshed.spark.source.upcoming_rows import EventBounds
        >>> told = StreamRows(9, events=EventBounds(100, 200), waiting_until=900)
        >>> backlog_of(told, 5, guessed_until=120, read_until=99, now=1000, before=100)
        Backlog(read_until=99, coming_until=200, newest=900)
        >>> backlog_of(StreamRows(9), 5, guessed_until=120, read_until=99, now=1000, before=990).newest
        1000
        >>> backlog_of(StreamRows(9), 0, guessed_until=120, read_until=99, now=1000, before=990).newest
        109
        >>> backlog_of(None, 5, guessed_until=120, read_until=99, now=1000, before=990, written_until=700).newest
        700
    """
    latest = now if written_until is None else min(now, written_until)
    if coming is not None and coming.rows == 0 and left == 0:
        return None
    if coming is not None and coming.events is not None:
        coming_until = coming.events.last
        newest = coming_until if coming.waiting_until is None else max(coming_until, coming.waiting_until)
    elif left > 0:
        coming_until, newest = guessed_until, latest
    elif read_until is not None and before is not None:
        coming_until = newest = read_until + max(0, now - before)
    else:
        return None
    return Backlog(read_until=read_until, coming_until=min(coming_until, latest), newest=min(newest, latest))
