"""Windows that began before their query came: rows of theirs were read when nobody asked for them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from streamshed.answering.table.dropped_windows import Dropped, DroppedWindows
from streamshed.network.model.foundation import chains
from streamshed.network.model.query import Query
from streamshed.network.terms.window import WindowSpecification
from streamshed.planning.load.join_delay import delay_of_stream

ALWAYS = -(2**62)
"""From when on windows are whole for queries that a checkpoint began with."""

WholeSince = Mapping[int, int]
"""By `Query.definition_id`, the first instant from which on windows that start are whole, microseconds."""


def whole_since(queries: Sequence[Query], before: WholeSince | None, seen_until: Mapping[str, int]) -> dict[int, int]:
    """Return from when on windows of queries, and of aggregates below them, are whole.

    A query of before the restart goes on. A new query has none of the rows that were read until then; nor has a query
    that rests on a new one.

    Args:
        queries: Of a network.
        before: The same of the network that ran before; None: there was none.
        seen_until: Per stream, an event time that no row read before is later than; streams without one are missing.
    """
    instants: dict[int, int] = {}
    for chain in chains([query for query in queries if query.aggregate is not None and not query.is_by_count]):
        seen = seen_until.get(chain[-1].stream.name)
        new = ALWAYS if before is None or seen is None else seen + 1
        since = ALWAYS
        for query in chain:
            instant = new if before is None else before.get(query.definition_id, new)
            since = max(since, instant, instants.get(query.definition_id, ALWAYS))
            instants[query.definition_id] = since
    return instants


@dataclass(frozen=True, slots=True)
class QueryBeginning:
    """Where a query begins that came later than the checkpoint.

    Attributes:
        since: From when on windows that start are whole, microseconds.
        closed_at: The watermark at which none of the others is open any longer.
    """

    since: int
    closed_at: int


def beginnings(queries: Iterable[Query], since: WholeSince) -> dict[int, QueryBeginning]:
    """Return where queries begin, by `Query.definition_id`; those that a checkpoint began with are left out.

    Args:
        queries: Of a network.
        since: From when on their windows are whole.
    """
    by_definition: dict[int, QueryBeginning] = {}
    for query in queries:
        begins = since.get(query.definition_id, ALWAYS)
        if begins != ALWAYS and query.aggregate is not None:
            lasts = sum(window.size_microseconds for window in query.windows) + delay_of_stream(query.stream)
            by_definition[query.definition_id] = QueryBeginning(begins, begins + lasts)
    return by_definition


def unseen_windows(windows: Mapping[int, Sequence[WindowSpecification]], since: WholeSince) -> Dropped:
    """Return the windows of queries that are not whole.

    Args:
        windows: `Query.windows`, by `Query.definition_id`.
        since: Of those that miss windows which may be open, from when on they are whole; others may be among them.
    """
    dropped: dict[int, list[DroppedWindows]] = {}
    for definition_id in since.keys() & windows.keys():
        window = windows[definition_id][-1]
        last = (since[definition_id] - 1 - window.offset_microseconds) // window.slide_microseconds
        unseen = ((ALWAYS, last),)
        dropped[definition_id] = [DroppedWindows(window, unseen, unseen=unseen)]
    return dropped
