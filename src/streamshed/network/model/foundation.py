"""What queries over nested aggregates ask of the aggregates below them, and of the stream itself."""

import json
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

from streamshed.network.model.grouping import Aggregate
from streamshed.network.model.query import AnswerMode, Query
from streamshed.network.model.row_selection import definition_of
from streamshed.network.terms.window import WindowSpecification


@dataclass(frozen=True)
class Foundation(Query):
    """One of the aggregates on the way to a query over nested aggregates, as if it were asked for.

    What is planned, measured and shared is the work on the rows of a stream, and that ends with the first aggregate: it
    is computed for every query over its answers at once, and is as whole as the windows of these that are kept.

    Attributes:
        asked_query: The query over its answers.
        is_tolerant: Whether all who ask the same as `asked_query` tolerate gaps.
    """

    asked_query: Query | None = None
    is_tolerant: bool = False

    @property
    def gap_windows(self) -> int:
        """B of the query over its answers, in windows of that query."""
        return 0 if self.asked_query is None or not self.is_tolerant else self.asked_query.gap_windows

    @property
    def asked_definition_id(self) -> int:
        """The `definition_id` of the query over its answers."""
        return self.definition_id if self.asked_query is None else self.asked_query.definition_id

    @property
    def asked_windows(self) -> tuple[WindowSpecification, ...]:
        """The windows on the way to the query over its answers."""
        return self.windows if self.asked_query is None else self.asked_query.windows

    @cached_property
    def definition(self) -> str:
        """What it asks; another text than that of a query which asks for its answers themselves, and may be shed.

        The same whether those tolerate gaps who rest on it: its open windows go on when that changes. Where one does
        not, all of its rows are there, and others beside it need none of their own.
        """
        return json.dumps(["below", *definition_of(self.node)], separators=(",", ":"))


def chains(queries: Sequence[Query]) -> tuple[tuple[Query, ...], ...]:
    """Return, per query, the aggregates on the way to it, the one next to the stream first, and last the query itself.

    Example:
        >>> from streamshed.network.source.sources import rate
        >>> from streamshed.network.model.declared_stream import stream
        >>> ticks = stream("ticks", rate(1), time="timestamp")
        >>> sums = ticks.window("10 s").agg(total="sum(value)")
        >>> largest = sums.filter("total > 3").window("1 minute").agg(most="max(total)").query("largest", mode="subset")
        >>> [str(one.node) for one in chains([largest])[0]]
        ['total = sum(value) over 10 seconds', 'most = max(total) over 1 minute']
    """
    alike: dict[int, list[Query]] = {}
    for query in queries:
        alike.setdefault(query.definition_id, []).append(query)
    return tuple(
        (
            *_below(query, is_tolerant=all(other.gap_windows > 0 for other in alike[query.definition_id])),
            query,
        )
        for query in queries
    )


def _below(query: Query, *, is_tolerant: bool) -> list[Query]:
    mode = AnswerMode.EXACT if query.mode is AnswerMode.APPROXIMATE else query.mode
    return [
        Foundation(
            name=query.name,
            node=node,
            weight=query.weight,
            priority=query.priority,
            mode=mode,
            asked_query=query,
            is_tolerant=is_tolerant,
        )
        for node in query.rows.path
        if isinstance(node, Aggregate)
    ]
