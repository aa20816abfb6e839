"""How far the results of a join stay behind the watermark, where a side of it is answers of windows."""

from __future__ import annotations

from collections.abc import Sequence

from streamshed.network.model.answer_side import side_windows
from streamshed.network.model.stream import Stream
from streamshed.network.terms.window import WindowSpecification
from streamshed.planning.window_drop.windows.provenance import extent


def delay_of_stream(stream: Stream) -> int:
    """Return how much later than the watermark passes their times the rows of a stream may come, microseconds.

    An answer is stamped with the start of its window, and comes when the watermark has passed the window's end. So to
    its join a row is on time, and waits for others, until the watermark has passed its time by so much; what is over
    its results closes as much later. Of a stream whose rows come from outside, and of a join of such, 0.

    Example:
        >>> from streamshed.network.source.sources import rate
        >>> from streamshed.network.model.declared_stream import stream
        >>> calls, alerts = (stream(name, rate(10), time="timestamp") for name in ("calls", "alerts"))
        >>> delay_of_stream(calls.join(alerts, on="value", within="9 s").stream)
        0
        >>> busy = calls.window("1 minute", every="10 s").by("value").agg(n="count(*)").filter("n > 3")
        >>> delay_of_stream(busy.join(alerts, on="value", within="9 s").stream)
        60000000
    """
    join = stream.joined
    if join is None:
        return 0
    return max(_delay_of(side_windows(side)) for side in (join.left, join.right))


def _delay_of(windows: Sequence[WindowSpecification]) -> int:
    """How long after the start of its window an answer comes: when the last that it is made of closes."""
    return windows[-1].size_microseconds + extent(windows).beyond if windows else 0
