"""What other networks need of the queries that feed their streams, as far as they have published it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from streamshed.control.needs import Interval, InvalidNeedsError, NetworkNeeds, StreamNeeds, common_intervals
from streamshed.errors import near_miss
from streamshed.network.model.query import Query
from streamshed.network.run.feed import Feed


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
    """Put together what the networks downstream need.

    Where one of several needs all rows, or has published nothing that holds, the query needs all rows.

    Args:
        feeds: Who feeds whom.
        published: By place, what was found there.
        now_seconds: When, seconds since the epoch.

    Example:
        >>> needs = NetworkNeeds(
        ...     told_at_seconds=100.0, lifetime_seconds=30.0, streams={"alerts": StreamNeeds(rows_per_second=800.0)})
        >>> feeds = [Feed(query="alerts", needs="needs.json", stream="alerts")]
        >>> known_needs(feeds, {"needs.json": needs}, 120.0).rows_per_second
        {'alerts': 800.0}
        >>> known_needs(feeds, {"needs.json": needs}, 220.0).ignored
        ('alerts: what needs.json says is 120 s old, and held for 30 s',)
    """
    by_query: dict[str, list[tuple[Feed, StreamNeeds | None]]] = {}
    ignored: list[str] = []
    for feed in feeds:
        needs = _needs_of(feed, published.get(feed.needs), now_seconds)
        if isinstance(needs, str):
            ignored.append(f"{feed.query}: {needs}")
        by_query.setdefault(feed.query, []).append((feed, None if isinstance(needs, str) else needs))
    return KnownNeeds(
        rows_per_second={query: max(rates) for query, of_query in by_query.items() if (rates := _rates(of_query))},
        unneeded={query: intervals for query, of_query in by_query.items() if (intervals := _unneeded(of_query))},
        ignored=tuple(ignored),
    )


def _needs_of(feed: Feed, published: Published, now_seconds: float) -> StreamNeeds | str:
    """The needs of a feed, or the reason why they are not known."""
    if published is None:
        return f"nothing is published at {feed.needs} yet"
    if isinstance(published, InvalidNeedsError):
        return f"what is published at {feed.needs} cannot be read: {published}"
    if not published.holds_at(now_seconds):
        age = now_seconds - published.told_at_seconds
        return f"what {feed.needs} says is {age:.0f} s old, and held for {published.lifetime_seconds:g} s"
    needs = published.streams.get(feed.stream)
    if needs is None:
        question = near_miss(feed.stream, list(published.streams))
        return f'{feed.needs} tells of no stream "{feed.stream}"{question}'
    return needs


def _rates(fed_needs: Sequence[tuple[Feed, StreamNeeds | None]]) -> list[float]:
    """The rows per second that each can use; empty where one of them can use any number."""
    rates = [None if needs is None else needs.rows_per_second for _, needs in fed_needs]
    limits = [limit for limit in rates if limit is not None]
    return limits if len(limits) == len(rates) else []


def _unneeded(fed_needs: Sequence[tuple[Feed, StreamNeeds | None]]) -> tuple[Interval, ...]:
    return common_intervals(
        [() if needs is None or not feed.same_time else needs.unneeded for feed, needs in fed_needs]
    )


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
    by_definition = {
        definition: common_intervals(
            [unneeded.get(query.name, ()) for query in queries if query.definition_id == definition]
        )
        for definition in sorted(fed)
    }
    return {definition: intervals for definition, intervals in by_definition.items() if intervals}
