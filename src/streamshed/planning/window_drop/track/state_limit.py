"""State has a limit of its own: when queries that tolerate gaps make room for it, and which of them goes first.

Groups in open windows, and the rows that aggregates of users collect, are held by Spark until their windows close.
Nothing takes them out earlier, so the limit is defended where state comes from: windows that are dropped bring none.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum

from streamshed.planning.window_drop.track.droppable import DroppableQuery
from streamshed.statistics.network_statistics import NetworkStatistics

CALM, TIGHT, FULL = 0.6, 0.75, 0.9
"""Shares of the limit: when less than the first is expected nothing is given up any more, from the second on all that
bounds of gaps allow, and beyond the third whole queries while there is more and more."""


class Pressure(StrEnum):
    """What state asks of queries that tolerate gaps.

    Attributes:
        NONE: Nothing.
        TIGHT: To keep as few windows as their bounds allow, also of those that are open.
        FULL: That one more of them is shut down.
    """

    NONE = "none"
    TIGHT = "tight"
    FULL = "full"


@dataclass(frozen=True, slots=True, kw_only=True)
class StateUse:
    """How much memory state takes.

    Attributes:
        taken_bytes: After the latest micro-batch that was measured.
        grown_bytes: How much of that it has brought.
        limit_bytes: How much it may take; None: as much as there is.
    """

    taken_bytes: int = 0
    grown_bytes: int = 0
    limit_bytes: int | None = None

    @property
    def expected_bytes(self) -> int:
        """What it takes if the coming micro-batch brings as much as the latest one."""
        return self.taken_bytes + max(0, self.grown_bytes)

    @property
    def expected_share(self) -> float:
        """That as a share of the limit; of none, 0.

        >>> StateUse(taken_bytes=70, grown_bytes=10, limit_bytes=100).expected_share
        0.8
        """
        return 0.0 if self.limit_bytes is None else self.expected_bytes / self.limit_bytes

    @property
    def _taken_share(self) -> float:
        return 0.0 if self.limit_bytes is None else self.taken_bytes / self.limit_bytes

    def pressure(self, before: Pressure) -> Pressure:
        """Tell what is asked, given what was asked before.

        One query after the other is shut down only while state goes on growing, or would be beyond its limit: what is
        there leaves by itself, when its windows close.

        Example:
            >>> growing, falling = (StateUse(taken_bytes=91, grown_bytes=some, limit_bytes=100) for some in (3, -3))
            >>> [str(one.pressure(Pressure.NONE)) for one in (growing, falling)]
            ['full', 'tight']
            >>> str(StateUse(taken_bytes=70, limit_bytes=100).pressure(Pressure.TIGHT))
            'tight'
        """
        share = self.expected_share
        if share > 1 or (self._taken_share >= FULL and self.grown_bytes > 0):
            return Pressure.FULL
        if share >= TIGHT:
            return Pressure.TIGHT
        return Pressure.NONE if share < CALM or before is Pressure.NONE else Pressure.TIGHT


NOTHING_HELD = StateUse()


def state_entries(
    queries: Mapping[str, DroppableQuery], statistics: NetworkStatistics, window_rows: Mapping[str, float]
) -> dict[str, float]:
    """Return about how many entries each query holds in state: groups of a window, in each slice of one, and rows.

    Args:
        queries: Those whose windows may be dropped, by name.
        statistics: How many groups they have.
        window_rows: By query, how many rows a window needs; those that collect rows hold so many.

    Example:
        >>> from dataclasses import replace
        >>> from streamshed.network.terms.window import WindowSpecification
        >>> from streamshed.statistics.group_sizes import GroupSizes
        >>> from streamshed.statistics.network_statistics import QueryStatistics
        >>> sliding = DroppableQuery(
        ...     query="q", definition_id=1, stream="s", window=WindowSpecification(20, 5), gap_windows=4, epoch=20,
        ...     weight=1,
        ... )
        >>> statistics = NetworkStatistics(queries={"q": QueryStatistics(groups=GroupSizes(((10.0, 100.0),)))})
        >>> state_entries({"q": sliding}, statistics, {"q": 1000.0})
        {'q': 400.0}
        >>> state_entries({"q": replace(sliding, collects_rows=True)}, statistics, {"q": 1000.0})
        {'q': 1400.0}
    """
    return {
        name: _slices(query) * _groups(name, statistics) + (window_rows.get(name, 0.0) if query.collects_rows else 0.0)
        for name, query in queries.items()
    }


def _slices(query: DroppableQuery) -> int:
    first = (query.below or (query.window,))[0]
    size, slide = query.reach.size_microseconds, first.slide_microseconds
    return size // math.gcd(first.size_microseconds, slide)


def _groups(query: str, statistics: NetworkStatistics) -> float:
    about = statistics.queries.get(query)
    return 1.0 if about is None or about.groups is None else max(1.0, about.groups.groups)
