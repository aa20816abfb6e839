"""Which queries feed other networks, as a document says it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

from streamshed.network.document.document_values import mapping_at
from streamshed.network.document.section import Field, Section
from streamshed.network.model.network import QueryNetwork
from streamshed.network.run.feed import Feed, feed_problems
from streamshed.network.words.document_problem import Place
from streamshed.network.words.schema_forms import flag, path, text

FEED = Section(
    "A query that is a stream of another network, which publishes what it needs.",
    {
        "needs": Field(
            path("The file that the other network writes, its `publish_needs`.", "out/needs.json"), is_path=True
        ),
        "stream": text("The stream's name in the other network.", examples=["alerts"]),
        "same_time": flag(
            "Whether event times are the same in both networks. Then rows of windows that are dropped there are not"
            " delivered. Aggregates need it."
        ),
    },
    ("needs", "stream"),
)


def read_feeds(place: Place, body: Mapping[str, object], folder: Path) -> tuple[Feed, ...]:
    """Read `feeds`, without those of a wrong shape.

    Args:
        place: Where they stand.
        body: What the document says of them, by query.
        folder: Where relative paths begin.
    """
    values = {query: FEED.read(place.at(query), mapping_at(body, query), folder) for query in body}
    return tuple(Feed(query=query, **feed) for query, feed in values.items() if feed is not None)


def check_feeds(place: Place, feeds: Sequence[Feed], network: QueryNetwork) -> bool:
    """Report feeds of unknown queries, and of queries that must not be shed. Return whether all feeds are right."""
    problems = {feed.query: feed_problems([feed], network) for feed in feeds}
    for query, sentences in problems.items():
        place.at(query).report_all(query, sentences)
    return not any(problems.values())


def written_feeds(feeds: Sequence[Feed]) -> dict[str, dict[str, object]]:
    """Write feeds as a document has them."""
    return {feed.query: FEED.written(feed) for feed in feeds}
