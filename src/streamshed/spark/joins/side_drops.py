"""Which rows of a join's side no kept window needs, told to whoever admits them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from streamshed.joins.model.side import Side
from streamshed.network.model.network import QueryNetwork
from streamshed.network.model.stream import Stream
from streamshed.network.terms.cohorts import part_name
from streamshed.planning.window_drop.track.retention import in_all
from streamshed.planning.window_drop.track.window_drops import NOTHING_DROPPED, WindowDrops
from streamshed.planning.window_drop.windows.provenance import NeededRows
from streamshed.sharing.stream_work import StreamWork


@dataclass(frozen=True)
class SideDrops:
    """The queries whose windows the rows of a side are for.

    Attributes:
        side: Left or right.
        definition_ids: `Query.definition_id` of the queries over the join.
        stands_for: That of the query that stands for the join where rows of the side are admitted.
        lead: So much later than the results that lack a row of the side that row may be at most: of answers, as long
            as their windows reach, microseconds.
        waits: How long rows of the join wait at most, microseconds.
    """

    side: Side
    definition_ids: tuple[int, ...]
    stands_for: int
    lead: int
    waits: int

    def spared_rows(self, drops: WindowDrops) -> WindowDrops:
        """Return which rows of the side no query over the join needs, given the decisions on their windows.

        A query on which nothing is decided needs all that are not too old.
        """
        of_each = [self._spared_by(definition, drops) for definition in self.definition_ids]
        spared = tuple((rows.start, rows.end) for rows in in_all(of_each))
        return replace(NOTHING_DROPPED, elsewhere={self.stands_for: spared} if spared else {})

    def _spared_by(self, definition: int, drops: WindowDrops) -> list[NeededRows]:
        decision = drops.queries.get(part_name(definition, None))
        too_old = [
            NeededRows(start + self.lead, end - self.waits)
            for start, end in drops.stale.get(definition, ())
            if start + self.lead < end - self.waits
        ]
        return [*([] if decision is None else decision.unneeded_of_side(self.side)), *too_old]


def tolerant_queries(network: QueryNetwork, joined: Stream, *, skips_old: bool) -> Sequence[int]:
    """Return `Query.definition_id` of the queries over a join, if all tolerate gaps; else none: all rows are needed.

    Args:
        network: Whose queries.
        joined: The join.
        skips_old: Whether rows may be skipped as too old: then all tolerate the gaps of that.
    """
    queries = [query for query in network.queries if query.stream == joined]
    tolerate = all(query.gap_windows > 0 or (skips_old and not query.stream.is_numbered) for query in queries)
    return list(dict.fromkeys(query.definition_id for query in queries)) if tolerate else []


@dataclass(frozen=True)
class SideWork:
    """A side whose rows are told a plan.

    Attributes:
        work: What is done with the rows of its stream.
        drops: What of them may be dropped; None: nothing may be.
    """

    work: StreamWork
    drops: SideDrops | None
