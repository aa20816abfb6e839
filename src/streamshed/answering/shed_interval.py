"""Which event times were shed: what decides whether an answer is exact."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace


@dataclass(frozen=True, kw_only=True)
class ShedInterval:
    """Event times of which rows may have been shed.

    Attributes:
        stream: Of which stream.
        start: First such event time, microseconds.
        until: Last such event time.
        sampling_rate: The least rate at which they were sampled.
    """

    stream: str
    start: int
    until: int
    sampling_rate: float


def remembered(shed: Sequence[ShedInterval], *, since: int) -> tuple[ShedInterval, ...]:
    """Join intervals of a stream that overlap, and forget those that ended before any open window began.

    Joined intervals keep the least rate, so the list stays short however long a burst lasts.

    >>> first = ShedInterval(stream="s", start=0, until=10, sampling_rate=0.5)
    >>> second = ShedInterval(stream="s", start=10, until=20, sampling_rate=0.2)
    >>> remembered([first, second], since=5)
    (ShedInterval(stream='s', start=0, until=20, sampling_rate=0.2),)
    >>> remembered([first, second], since=30)
    ()
    """
    joined: list[ShedInterval] = []
    for interval in sorted(shed, key=lambda interval: (interval.stream, interval.start)):
        last = joined[-1] if joined else None
        if last is not None and last.stream == interval.stream and interval.start <= last.until:
            joined[-1] = replace(
                last,
                until=max(last.until, interval.until),
                sampling_rate=min(last.sampling_rate, interval.sampling_rate),
            )
        else:
            joined.append(interval)
    return tuple(interval for interval in joined if interval.until >= since)
