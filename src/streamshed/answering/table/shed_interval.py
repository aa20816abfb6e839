"""Which event times were shed, for whom: what decides whether an answer is exact."""

from __future__ import annotations

import functools
import itertools
import math
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
        in_blocks: Whether rows may have been left out many at once, as blocks were not read.
    """

    stream: str
    start: int
    until: int
    sampling_rates: Mapping[str, float]
    in_blocks: bool = False


def share_name(definition_id: int, slot: int) -> str:
    """Return the name of a query's value: it stays the same whatever other queries there are.

    >>> share_name(7, 0)
    '7.0'
    """
    return f"{definition_id}.{slot}"


def remembered(shed: Sequence[ShedInterval], *, since: int) -> tuple[ShedInterval, ...]:
    """Return the least rates over time that intervals tell, and forget those that ended before any open window began.

    Where intervals of a stream overlap, the least rate of each value holds; where they only touch, each keeps its own,
    so that a window tells of no lower rate than its rows may have had. There are at most `MOST_REMEMBERED` of a stream,
    however long a burst lasts: beyond that neighbors become one, with the least rates of both, where that costs least.

    >>> first = ShedInterval(stream="s", start=0, until=10, sampling_rates={"7.0": 0.5})
    >>> second = ShedInterval(stream="s", start=8, until=20, sampling_rates={"7.0": 0.2, "8.0": 0.9})
    >>> for interval in remembered([first, second], since=5):
    ...     print(interval.start, interval.until, interval.sampling_rates)
    0 7 {'7.0': 0.5}
    8 20 {'7.0': 0.2, '8.0': 0.9}
    >>> remembered([first, second], since=30)
    ()
    """
    by_stream: dict[str, list[ShedInterval]] = {}
    for interval in shed:
        if interval.until >= max(since, interval.start):
            by_stream.setdefault(interval.stream, []).append(interval)
    return tuple(piece for _, lasting in sorted(by_stream.items()) for piece in _limited(_pieces(lasting)))


MOST_REMEMBERED = 64
"""More intervals of a stream than this are not told apart."""


def _pieces(intervals: Sequence[ShedInterval]) -> list[ShedInterval]:
    """Cut time where the rates of any interval begin or end, and join again what touches and has the same rates."""
    pieces: list[ShedInterval] = []
    edges = sorted({edge for interval in intervals for edge in (interval.start, interval.until + 1)})
    for start, after in itertools.pairwise(edges):
        covering = [one for one in intervals if one.start <= start <= one.until]
        if not covering:
            continue
        piece = ShedInterval(
            stream=intervals[0].stream,
            start=start,
            until=after - 1,
            sampling_rates=functools.reduce(_least, [one.sampling_rates for one in covering]),
            in_blocks=any(one.in_blocks for one in covering),
        )
        last = pieces[-1] if pieces else None
        if last is not None and last.until + 1 == start and piece == replace(last, start=start, until=piece.until):
            pieces[-1] = replace(last, until=piece.until)
        else:
            pieces.append(piece)
    return pieces


def _limited(pieces: list[ShedInterval]) -> list[ShedInterval]:
    while len(pieces) > MOST_REMEMBERED:
        at = min(range(len(pieces) - 1), key=lambda place: _lost(pieces[place], pieces[place + 1]))
        pieces[at : at + 2] = [_joined(pieces[at], pieces[at + 1])]
    return pieces


def _joined(earlier: ShedInterval, later: ShedInterval) -> ShedInterval:
    return replace(
        earlier,
        until=later.until,
        sampling_rates=_least(earlier.sampling_rates, later.sampling_rates),
        in_blocks=earlier.in_blocks or later.in_blocks,
    )


def _lost(earlier: ShedInterval, later: ShedInterval) -> float:
    """Σ over values: for how long joining says a lower rate, times the logarithm of how much lower."""
    parts: tuple[tuple[Mapping[str, float], int], ...] = (
        (earlier.sampling_rates, earlier.until - earlier.start + 1),
        ({}, later.start - earlier.until - 1),
        (later.sampling_rates, later.until - later.start + 1),
    )
    joined = _least(earlier.sampling_rates, later.sampling_rates)
    return sum(
        length * (_logarithm(rates.get(name, 1.0)) - _logarithm(least))
        for name, least in joined.items()
        for rates, length in parts
    )


def _logarithm(share: float) -> float:
    """Of a join that is done in part the share may be 0."""
    return math.log(max(share, _LEAST_SHARE))


_LEAST_SHARE = 1e-9


def _least(some: Mapping[str, float], others: Mapping[str, float]) -> dict[str, float]:
    return {name: min(some.get(name, 1.0), others.get(name, 1.0)) for name in {**some, **others}}
