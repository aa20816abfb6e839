"""Windows that began before their query came: rows of theirs were read when nobody asked for them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from streamshed.answering.table.dropped_windows import Dropped, DroppedWindows
from streamshed.network.model.foundation import chains
from streamshed.network.model.query import Query
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


def unseen_windows(queries: Iterable[Query], since: WholeSince, watermark: int) -> Dropped:
    """Return the windows of queries that are not whole and may still be open.

    Args:
        queries: Of a network.
        since: From when on their windows are whole.
        watermark: How far the checkpoint has come, microseconds.
    """
    dropped: dict[int, list[DroppedWindows]] = {}
    for query in queries:
        begins = since.get(query.definition_id, ALWAYS)
        lasts = sum(window.size_microseconds for window in query.windows) + delay_of_stream(query.stream)
        if begins == ALWAYS or query.aggregate is None or begins + lasts <= watermark:
            continue
        window = query.aggregate.over
        unseen = ((ALWAYS, (begins - 1 - window.offset_microseconds) // window.slide_microseconds),)
        dropped[query.definition_id] = [DroppedWindows(window, unseen, unseen=unseen)]
    return dropped
