"""Which event times were shed, for whom: what decides whether an answer is exact."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

UNSETTLED = 2**62
"""Where an interval ends that may have reached as far as can be: what was shed had numbers that nobody read."""


@dataclass(frozen=True, kw_only=True)
class ShedInterval:
    """Event times of which rows may have been shed.

    Attributes:
        stream: Of which stream.
        start: First such event time, microseconds.
        until: Last such event time; `UNSETTLED`: not known.
        sampling_rates: The least rate at which they were sampled for a value of a query, by `share_name`; a value that
            is missing was given all rows.
    """

    stream: str
    start: int
    until: int
    sampling_rates: Mapping[str, float]


def share_name(definition_id: int, slot: int) -> str:
    """Return the name of a query's value: it stays the same whatever other queries there are.

    >>> share_name(7, 0)
    '7.0'
    """
    return f"{definition_id}.{slot}"


def remembered(shed: Sequence[ShedInterval], *, since: int) -> tuple[ShedInterval, ...]:
    """Join intervals of a stream that overlap, and forget those that ended before any open window began.

    Joined intervals keep the least rates, so the list stays short however long a burst lasts.

    >>> first = ShedInterval(stream="s", start=0, until=10, sampling_rates={"7.0": 0.5})
    >>> second = ShedInterval(stream="s", start=10, until=20, sampling_rates={"7.0": 0.2, "8.0": 0.9})
    >>> remembered([first, second], since=5)
    (ShedInterval(stream='s', start=0, until=20, sampling_rates={'7.0': 0.2, '8.0': 0.9}),)
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
                sampling_rates=_least(last.sampling_rates, interval.sampling_rates),
            )
        else:
            joined.append(interval)
    return tuple(interval for interval in joined if interval.until >= since)


def _least(some: Mapping[str, float], others: Mapping[str, float]) -> dict[str, float]:
    return {name: min(some.get(name, 1.0), others.get(name, 1.0)) for name in {**some, **others}}
