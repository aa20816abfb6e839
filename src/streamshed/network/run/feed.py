"""Queries whose answers are streams of other networks."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from streamshed.errors import InvalidNetworkError, Problem, closest_name
from streamshed.network.model.network import QueryNetwork
from streamshed.network.model.query import AnswerMode


@dataclass(frozen=True, slots=True, kw_only=True)
class Feed:
    """A query whose answers are a stream of another network.

    Args:
        query: The query: one for the rows themselves; or an aggregate in mode `subset` with a `max_gap`, of which
            windows are dropped whose answers nobody needs.
        needs: Where that network publishes what it needs: a path or URI.
        stream: What it calls the stream.
        same_time: Whether the stream's event time is that of the rows here, of aggregates the start of the window; then
            what windows need that are dropped there need not be delivered.
    """

    query: str
    needs: str
    stream: str
    same_time: bool = False


def feed_problems(feeds: Sequence[Feed], network: QueryNetwork) -> list[str]:
    """Return what is wrong with feeds, a sentence each.

    Rows of a query that may be sampled can be fewer; an aggregate of fewer rows has as many answers, but may have
    fewer windows.
    """
    names = [query.name for query in network.queries]
    problems: list[str] = []
    for feed in feeds:
        if feed.query not in names:
            problems.append(Problem(f'there is no query "{feed.query}"', near_miss=closest_name(feed.query, names)))
            continue
        query = network.query(feed.query)
        if query.aggregate is not None and query.gap_windows == 0:
            problems.append(
                f'query "{feed.query}" aggregates, and fewer rows make no fewer answers: feed others by a query'
                " for the rows themselves, or let it miss windows (mode subset, max_gap)"
            )
        elif query.aggregate is not None and not feed.same_time:
            problems.append(
                f'query "{feed.query}" aggregates: which of its windows are needed is known where event times are the'
                " starts of windows (same_time)"
            )
        elif query.aggregate is not None:
            continue
        elif query.mode is not AnswerMode.APPROXIMATE:
            problems.append(
                f'query "{feed.query}" is in mode {query.mode.value}, of which no row may be shed, for nobody'
            )
    return problems


def refuse_bad_feeds(feeds: Sequence[Feed], network: QueryNetwork) -> None:
    """Check that the queries are there and may be shed.

    Raises:
        InvalidNetworkError: Listing all that is wrong.
    """
    problems = feed_problems(feeds, network)
    if problems:
        raise InvalidNetworkError(*(f"feeds: {problem}" for problem in problems))
