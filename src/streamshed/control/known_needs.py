"""What is needed of queries that feed streams of other networks, as far as those have told it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from streamshed.control.needs import Interval, InvalidNeedsError, NetworkNeeds, StreamNeeds, common_intervals
from streamshed.errors import near_miss
from streamshed.network.feed import Feed
from streamshed.network.query import Query


@dataclass(frozen=True, slots=True, kw_only=True)
class KnownNeeds:
    """What is needed of queries that feed others.

    Attributes:
        rows_per_second: By query, as many as all that it feeds can use; of one that is left out, any number.
        unneeded: By query, event times of which none of them needs a row.
        ignored: Why something that was published, or was not, does not count.
    """

    rows_per_second: Mapping[str, float] = field(default_factory=dict)
    unneeded: Mapping[str, tuple[Interval, ...]] = field(default_factory=dict)
    ignored: tuple[str, ...] = ()

    @classmethod
    def from_document(cls, document: Mapping[str, Any]) -> KnownNeeds:
        """Read what JSON kept of its fields."""
        unneeded = document.get("unneeded", {}).items()
        return cls(
            rows_per_second=dict(document.get("rows_per_second", {})),
            unneeded={query: tuple((start, end) for start, end in told) for query, told in unneeded},
            ignored=tuple(document.get("ignored", ())),
        )


NOTHING_KNOWN = KnownNeeds()

Published = NetworkNeeds | InvalidNeedsError | None
"""What was found where a network publishes its needs; None: nothing."""


def known_needs(feeds: Sequence[Feed], published: Mapping[str, Published], now_seconds: float) -> KnownNeeds:
    """Put together what those who are fed need.

    Where one of several has told nothing that holds, or needs all rows, so does the query.

    Args:
        feeds: Who feeds whom.
        published: By place, what was found there.
        now_seconds: When, seconds since the epoch.

    Example:
        >>> told = NetworkNeeds(
        ...     told_at_seconds=100.0, lifetime_seconds=30.0, streams={"alerts": StreamNeeds(rows_per_second=800.0)})
        >>> feeds = [Feed(query="alerts", needs="needs.json", stream="alerts")]
        >>> known_needs(feeds, {"needs.json": told}, 120.0).rows_per_second
        {'alerts': 800.0}
        >>> known_needs(feeds, {"needs.json": told}, 220.0).ignored
        ('alerts: what needs.json says is 120 s old, and held for 30 s',)
    """
    by_query: dict[str, list[tuple[Feed, StreamNeeds | None]]] = {}
    ignored: list[str] = []
    for feed in feeds:
        told = _told(feed, published.get(feed.needs), now_seconds)
        if isinstance(told, str):
            ignored.append(f"{feed.query}: {told}")
        by_query.setdefault(feed.query, []).append((feed, None if isinstance(told, str) else told))
    return KnownNeeds(
        rows_per_second={query: max(rates) for query, own in by_query.items() if (rates := _rates(own))},
        unneeded={query: found for query, own in by_query.items() if (found := _unneeded(own))},
        ignored=tuple(ignored),
    )


def _told(feed: Feed, found: Published, now_seconds: float) -> StreamNeeds | str:
    """What is needed of a feed, or why that is not known."""
    if found is None:
        return f"nothing is published at {feed.needs} yet"
    if isinstance(found, InvalidNeedsError):
        return f"what is published at {feed.needs} cannot be read: {found}"
    if not found.holds_at(now_seconds):
        age = now_seconds - found.told_at_seconds
        return f"what {feed.needs} says is {age:.0f} s old, and held for {found.lifetime_seconds:g} s"
    needs = found.streams.get(feed.stream)
    if needs is None:
        question = near_miss(feed.stream, list(found.streams))
        return f'{feed.needs} tells of no stream "{feed.stream}"{question}'
    return needs


def _rates(own: Sequence[tuple[Feed, StreamNeeds | None]]) -> list[float]:
    """Rows per second that each can use; none at all where one can use any number."""
    rates = [None if needs is None else needs.rows_per_second for _, needs in own]
    known = [rate for rate in rates if rate is not None]
    return known if len(known) == len(rates) else []


def _unneeded(own: Sequence[tuple[Feed, StreamNeeds | None]]) -> tuple[Interval, ...]:
    return common_intervals([() if needs is None or not feed.same_time else needs.unneeded for feed, needs in own])


def unneeded_by_definition(
    queries: Sequence[Query], unneeded: Mapping[str, tuple[Interval, ...]]
) -> dict[int, tuple[Interval, ...]]:
    """Return event times of which nobody needs a row, by `Query.definition_id`: queries with the same one share rows.

    Of aggregates a row is an answer, and its time the start of its window.

    Args:
        queries: All of the network.
        unneeded: By query, `KnownNeeds.unneeded`.
    """
    fed = {query.definition_id for query in queries if query.name in unneeded}
    found = {
        definition: common_intervals(
            [unneeded.get(query.name, ()) for query in queries if query.definition_id == definition]
        )
        for definition in sorted(fed)
    }
    return {definition: intervals for definition, intervals in found.items() if intervals}
