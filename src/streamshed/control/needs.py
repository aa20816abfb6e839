"""What a network needs of its streams, told to those networks that feed them ([T06] §6, distributed load shedding).

A network that is overloaded sheds rows that others have worked on in vain. So it tells how many rows a second it can
use, and which event times none of the windows that it keeps needs; a network upstream sheds those on its behalf.
"""

from __future__ import annotations

import json
import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from streamshed.errors import StreamshedError

FORMAT = 1

Interval = tuple[int, int]
"""Event times from an instant on, before another one, microseconds."""


class InvalidNeedsError(StreamshedError, ValueError):
    """What was read tells of no network's needs."""


@dataclass(frozen=True, slots=True, kw_only=True)
class StreamNeeds:
    """What is needed of one stream.

    Args:
        rows_per_second: As many as can be used, nothing shed; None: any number, as far as is known.
        kept_shares: Per query whose windows may be dropped, the share of them that it keeps in the long run.
        unneeded: Event times of which no query needs any row, ascending.

    Raises:
        InvalidNeedsError: A number is negative or not finite, an interval is empty.
    """

    rows_per_second: float | None = None
    kept_shares: Mapping[str, float] = field(default_factory=dict)
    unneeded: tuple[Interval, ...] = ()

    def __post_init__(self) -> None:
        rows_per_second = self.rows_per_second
        if rows_per_second is not None and not (math.isfinite(rows_per_second) and rows_per_second >= 0):
            raise InvalidNeedsError(f"needs: rows_per_second must be finite and at least 0, got {rows_per_second}")
        for query, share in self.kept_shares.items():
            if not 0 <= share <= 1:
                raise InvalidNeedsError(f"needs: query {query!r} keeps a share of its windows, got {share}")
        for start, end in self.unneeded:
            if not start < end:
                raise InvalidNeedsError(f"needs: an interval must end after it starts, got {start} to {end}")


@dataclass(frozen=True, slots=True, kw_only=True)
class NetworkNeeds:
    """What is needed of a network's streams, for as long as that is to be believed.

    Args:
        told_at_seconds: When this was told, seconds since the epoch.
        lifetime_seconds: For how long it holds.
        streams: What is needed, by stream.

    Raises:
        InvalidNeedsError: The lifetime is not positive, or a time is not finite.

    Example:
        >>> needs = NetworkNeeds(
        ...     told_at_seconds=100.0, lifetime_seconds=30.0,
        ...     streams={"alerts": StreamNeeds(rows_per_second=800.0, unneeded=((0, 60_000_000),))})
        >>> NetworkNeeds.from_json(needs.to_json()) == needs, needs.holds_at(130.0), needs.holds_at(131.0)
        (True, True, False)
    """

    told_at_seconds: float
    lifetime_seconds: float
    streams: Mapping[str, StreamNeeds]

    def __post_init__(self) -> None:
        if not (math.isfinite(self.told_at_seconds) and 0 < self.lifetime_seconds < math.inf):
            raise InvalidNeedsError(
                "needs: they are told at some time and hold for a while, got"
                f" {self.told_at_seconds} and {self.lifetime_seconds} s"
            )

    def holds_at(self, now_seconds: float) -> bool:
        """Tell whether it is to be believed; what was told by a clock that is far ahead is not, either."""
        return abs(now_seconds - self.told_at_seconds) <= self.lifetime_seconds

    def to_json(self) -> str:
        """Write it down."""
        streams = {
            name: {
                "rows_per_second": needs.rows_per_second,
                "kept_shares": dict(needs.kept_shares),
                "unneeded": [list(interval) for interval in needs.unneeded],
            }
            for name, needs in self.streams.items()
        }
        document = {
            "format": FORMAT,
            "told_at_seconds": self.told_at_seconds,
            "lifetime_seconds": self.lifetime_seconds,
            "streams": streams,
        }
        return json.dumps(document, indent=1)

    @classmethod
    def from_json(cls, text: str) -> NetworkNeeds:
        """Read what `to_json` wrote.

        Raises:
            InvalidNeedsError: It is something else, or of another format.
        """
        try:
            document = json.loads(text)
            if document["format"] != FORMAT:
                raise InvalidNeedsError(
                    f"needs: format {FORMAT} is known, got {document['format']!r} (written by another version?)"
                )
            streams = {str(name): _stream_needs(told) for name, told in document["streams"].items()}
            return cls(
                told_at_seconds=float(document["told_at_seconds"]),
                lifetime_seconds=float(document["lifetime_seconds"]),
                streams=streams,
            )
        except InvalidNeedsError:
            raise
        except (ValueError, KeyError, TypeError, AttributeError) as error:
            raise InvalidNeedsError(f"needs: this is not what a network publishes: {error}") from error


def _stream_needs(document: Mapping[str, Any]) -> StreamNeeds:
    rows_per_second = document["rows_per_second"]
    return StreamNeeds(
        rows_per_second=None if rows_per_second is None else float(rows_per_second),
        kept_shares={str(query): float(share) for query, share in document["kept_shares"].items()},
        unneeded=tuple((int(start), int(end)) for start, end in document["unneeded"]),
    )


def common_intervals(of_each: Sequence[Sequence[Interval]]) -> tuple[Interval, ...]:
    """Return what lies in an interval of each of several lists; each of them ascending, none overlapping.

    Example:
        >>> common_intervals([[(0, 10), (20, 30)], [(5, 25)]])
        ((5, 10), (20, 25))
        >>> common_intervals([[(0, 10)], []]), common_intervals([])
        ((), ())
    """
    if not of_each:
        return ()
    common = tuple(of_each[0])
    for others in of_each[1:]:
        common = tuple(_common(common, others))
    return common


def _common(some: Sequence[Interval], others: Sequence[Interval]) -> Iterator[Interval]:
    first, second = 0, 0
    while first < len(some) and second < len(others):
        start = max(some[first][0], others[second][0])
        end = min(some[first][1], others[second][1])
        if start < end:
            yield start, end
        if some[first][1] <= others[second][1]:
            first += 1
        else:
            second += 1
