"""Which queries feed other networks, as a document says it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

from streamshed.network.document.document_values import mapping_at, path_in, text_at
from streamshed.network.model.network import QueryNetwork
from streamshed.network.run.feed import Feed, feed_problems
from streamshed.network.words.document_problem import Place
from streamshed.network.words.schema_forms import Schema, flag, mapping, path, text

FEED: Schema = mapping(
    "The stream of another network that a query for rows is, and where that network tells what it needs.",
    {
        "needs": path("The file that the other network publishes, its `publish_needs`.", "out/needs.json"),
        "stream": text("What the other network calls the stream.", examples=["alerts"]),
        "same_time": flag(
            "Whether that stream's event time is that of the rows here; then rows of windows that are dropped there"
            " are not delivered."
        ),
    },
    "needs",
    "stream",
)


def read_feeds(body: Mapping[str, object], folder: Path) -> tuple[Feed, ...]:
    """Read `feeds`, without those of a wrong shape.

    Args:
        body: What the document says of them, by query.
        folder: Where relative paths begin.
    """
    feeds = []
    for query in body:
        feed_body = mapping_at(body, query)
        needs, stream = text_at(feed_body, "needs"), text_at(feed_body, "stream")
        if needs is not None and stream is not None:
            same_time = feed_body.get("same_time") is True
            feeds.append(Feed(query=query, needs=path_in(folder, needs), stream=stream, same_time=same_time))
    return tuple(feeds)


def check_feeds(place: Place, feeds: Sequence[Feed], network: QueryNetwork) -> bool:
    """Report feeds of unknown queries, and of queries that must not be shed. Return whether all feeds are right."""
    problems = {feed.query: feed_problems([feed], network) for feed in feeds}
    for query, sentences in problems.items():
        place.at(query).report_all(query, sentences)
    return not any(problems.values())


def written_feeds(feeds: Sequence[Feed]) -> dict[str, dict[str, str | bool]]:
    """Write feeds as a document has them."""
    return {feed.query: {"needs": feed.needs, "stream": feed.stream, "same_time": feed.same_time} for feed in feeds}
