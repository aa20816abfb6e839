"""Whose windows may be dropped, and in which epochs."""

from __future__ import annotations

import math
from collections.abc import Collection, Container, Iterable, Sequence
from dataclasses import dataclass, replace

from streamshed.network.model.grouping import Aggregate, NamedCall
from streamshed.network.model.network import QueryNetwork
from streamshed.network.model.query import Query
from streamshed.network.terms.cohorts import COHORTS, part_name
from streamshed.network.terms.gap import GapsBy
from streamshed.network.terms.window import WindowSpecification
from streamshed.planning.tree.demand import LEAST_WEIGHT
from streamshed.planning.tree.scalability import protected_streams
from streamshed.planning.window_drop.track.retention import unneeded_times
from streamshed.planning.window_drop.track.side_reach import SideReach, side_reaches, unneeded_of_sides
from streamshed.planning.window_drop.windows.gap_coin import GapCoin
from streamshed.planning.window_drop.windows.provenance import NeededRows, extent

SEED = 1
"""One for all queries: they drop at the same time, so that rows are there that none of them needs."""


AS_GOOD = 0.8
"""An epoch is as short as saves so much of what the longest would: the shorter, the more even is the load."""


@dataclass(frozen=True, slots=True, kw_only=True)
class DroppableQuery:
    """A query that tolerates gaps.

    Attributes:
        query: Its name.
        definition_id: `Query.definition_id`; queries with the same one have the same answers, and miss the same.
        stream: Name of its stream.
        window: Of it.
        below: The windows of the aggregates whose answers it aggregates, the one next to the stream first.
        gap_windows: B: the most windows that may be dropped one after the other.
        epoch: How long the windows that are decided on together begin, microseconds.
        weight: What each of its windows is worth.
        work: Whose rows its windows are of, and what they are grouped by: queries with the same do the same for a row.
        is_by_group: Whether its windows are dropped cohort by cohort.
        cohort: The one that is meant; None: all of its groups.
        sides: Of a query over a join, what its windows need of either side.
        collects_rows: Whether rows are held as they are until their windows close, as for aggregates of users.
    """

    query: str
    definition_id: int
    stream: str
    window: WindowSpecification
    gap_windows: int
    epoch: int
    weight: float
    below: tuple[WindowSpecification, ...] = ()
    work: tuple[str, ...] = ()
    is_by_group: bool = False
    cohort: int | None = None
    sides: tuple[SideReach, ...] = ()
    collects_rows: bool = False

    @property
    def parts(self) -> dict[str, DroppableQuery]:
        """What is decided on by itself, by name: the query, or each of its cohorts."""
        cohorts: Sequence[int | None] = range(COHORTS) if self.is_by_group else [None]
        return {part_name(self.definition_id, cohort): replace(self, cohort=cohort) for cohort in cohorts}

    @property
    def drops_with(self) -> tuple[str, ...]:
        """The family of queries whose coins fall alike: those by window, or those by the same groups.

        Of two families one coin says nothing of the other: the cohorts of groups take turns.
        """
        return self.work[1:] if self.is_by_group else ()

    def part_beside(self, cohort: int) -> str:
        """Return the name of the part that a row of some cohort belongs to."""
        return part_name(self.definition_id, cohort if self.is_by_group else None)

    @property
    def work_of_part(self) -> tuple[str, ...]:
        """`work`, and whose rows of it: parts with the same do the same for a row."""
        return (*self.work, "" if self.cohort is None else str(self.cohort))

    @property
    def early_share(self) -> float:
        """The share of a dropped epoch whose rows belong to dropped windows only, where its neighbors are kept."""
        return early_share_of_epoch(self.reach, self.gap_windows, self.epoch)

    @property
    def reach(self) -> WindowSpecification:
        """What its windows need, as windows over the stream's rows; of windows of nested aggregates at most."""
        return reach_of((*self.below, self.window), self.sides)

    def unneeded(self, dropped: Collection[int]) -> list[NeededRows]:
        """Return the event times of rows that come from outside and belong to dropped windows only.

        Args:
            dropped: Numbers of dropped windows.
        """
        if self.sides:
            return unneeded_of_sides(self.sides, self.window, dropped)
        return unneeded_times([*self.below, self.window], dropped)

    def early_share_at(self, drop_share: float) -> float:
        """Return the same where the share p of epochs is dropped: then some follow one another.

        Of two that do, the second is saved as a whole. As the coin is even, epochs that are kept are single ones where
        p is more than a half, each of which takes (E + ω − δ)/E epochs. Longer than B·δ no gap is in any case.

        >>> sliding = DroppableQuery(
        ...     query="q", definition_id=1, stream="s", window=WindowSpecification(20, 5), gap_windows=24, epoch=60,
        ...     weight=1,
        ... )
        >>> sliding.early_share_at(0.4), sliding.early_share_at(0.8)
        (0.75, 0.9375)
        >>> far = replace(sliding, epoch=5)
        >>> far.lone_epochs, far.early_share_at(0.7), far.early_share_at(0.9)
        (4.0, 0.0, 0.6666666666666667)
        """
        if drop_share <= 0.5 or not self.may_follow:
            return self.early_share
        return max(0.0, (1 - (1 - drop_share) * self.lone_epochs) / drop_share)

    @property
    def lone_epochs(self) -> float:
        """How many epochs of rows an epoch needs that is kept between dropped ones: (E + ω − δ)/E."""
        reach = self.reach
        return 1 + (reach.size_microseconds - reach.slide_microseconds) / self.epoch

    @property
    def spares_rows_when_rare(self) -> bool:
        """Whether rows are spared where epochs that are dropped follow one another, as few being kept as may be."""
        return self.may_follow and self.lone_epochs < self.gap_windows + 1

    @property
    def may_follow(self) -> bool:
        """Whether an epoch that is dropped may follow another one."""
        return 2 * self.epoch <= self.gap_windows * self.window.slide_microseconds

    @property
    def coin(self) -> GapCoin:
        """The coin that decides on its windows, before it has decided anything."""
        turn = 0.0 if self.cohort is None else self.cohort / COHORTS
        return GapCoin(SEED, self.gap_windows, self.window, self.epoch, turn=turn)


def early_share_of_epoch(window: WindowSpecification, gap_windows: int, epoch: int) -> float:
    """Return which share of a dropped epoch belongs to dropped windows only: 1 − (ω − δ)/E, at least 0.

    The last window before it reaches ω − δ into it. In an epoch longer than B·δ every (B+1)-th window is kept, and of
    (B+1)·δ there are B·δ − (ω − δ) left.

    >>> [early_share_of_epoch(WindowSpecification(20, 5), *told) for told in ((12, 60), (12, 10), (7, 60))]
    [0.75, 0.0, 0.5]
    """
    slide = window.slide_microseconds
    overlap = window.size_microseconds - slide
    if epoch > gap_windows * slide:
        return max(0.0, (gap_windows * slide - overlap) / ((gap_windows + 1) * slide))
    return max(0.0, 1 - overlap / epoch)


def reach_of(windows: Sequence[WindowSpecification], sides: Sequence[SideReach] = ()) -> WindowSpecification:
    """Return windows over a stream's rows that hold what windows of nested aggregates need.

    Args:
        windows: Those of the aggregates, the one next to the stream first.
        sides: Of a joined stream, what they need of either side: the longest counts.

    >>> reach_of([WindowSpecification(3, 2), WindowSpecification(3, 3)])
    WindowSpecification(size_microseconds=5, slide_microseconds=3, offset_microseconds=0, is_numbered=False)
    """
    outermost, deviation = windows[-1], extent(windows)
    size = outermost.size_microseconds + deviation.beyond - deviation.lead
    longest = max(size, outermost.slide_microseconds, *(side.size for side in sides))
    return replace(outermost, size_microseconds=longest)


def droppable_queries(network: QueryNetwork) -> tuple[DroppableQuery, ...]:
    """Return the queries whose windows may be dropped.

    What another query, which tolerates no gaps, asks as well is computed anyway, and dropped for nobody. Where one that
    asks the same misses all groups of a window at once, so do the others. Over a join all queries have to tolerate
    gaps: one that does not needs all rows of both sides, and next to nothing would be saved. A query's own
    epoch is B·δ at most, so that one coin drops no more windows than may be dropped, and shorter where that saves
    nearly as much: a tumbling window is decided on by itself. Queries over one stream share an epoch, for only rows
    that nobody needs are saved.

    Example:
        >>> from streamshed.network.model.network import network
        >>> from streamshed.network.source.sources import rate
        >>> from streamshed.network.model.declared_stream import stream
        >>> ticks = stream("ticks", rate(1), time="timestamp")
        >>> short = ticks.window("10 s").agg(n="count(*)").query("short", mode="subset", max_gap=6)
        >>> long = ticks.window("20 s", every="5 s").agg(n="count(*)").query("long", mode="subset", max_gap=60)
        >>> [(one.query, one.epoch // 1_000_000) for one in droppable_queries(network(short, long))]
        [('short', 65), ('long', 65)]
    """
    tolerant: dict[int, list[Query]] = {}
    whole = {one.stream for one in network.queries if one.is_joined and one.gap_windows == 0}
    for query in network.queries:
        tolerant.setdefault(query.asked_definition_id, []).append(query)
    tolerant_queries = [
        _droppable(
            query,
            min(other.gap_windows for other in alike),
            is_by_group=all(other.gaps_by is GapsBy.GROUP for other in alike),
        )
        for alike in tolerant.values()
        if all(query.gap_windows > 0 and query.stream not in whole for query in alike)
        for query in alike
    ]
    return tuple(_in_common_epochs(tolerant_queries))


def tolerant_parts(queries: Iterable[DroppableQuery]) -> dict[str, frozenset[str]]:
    """Return, by stream, what is decided on by itself of the queries whose windows may be dropped, by its name.

    Args:
        queries: Those queries.
    """
    parts: dict[str, set[str]] = {}
    for query in queries:
        parts.setdefault(query.stream, set()).update(query.parts)
    return {stream: frozenset(of_stream) for stream, of_stream in parts.items()}


def streams_needed_whole(network: QueryNetwork, tolerant: Container[str]) -> frozenset[str]:
    """Return the streams with a query that always needs every row.

    Args:
        network: The network.
        tolerant: The names of queries whose windows may be dropped.

    Example:
        >>> from streamshed.network.model.network import network
        >>> from streamshed.network.source.sources import rate
        >>> from streamshed.network.model.declared_stream import stream
        >>> ticks = stream("ticks", rate(1), time="timestamp").window("10 s").agg(n="count(*)")
        >>> of_ticks = network(ticks.query("some"), ticks.query("whole", mode="subset", max_gap=6))
        >>> streams_needed_whole(of_ticks, ()), streams_needed_whole(of_ticks, {"whole"})
        (frozenset({'ticks'}), frozenset())
    """
    protected = protected_streams(network)
    return frozenset(name for name, queries in protected.items() if any(query not in tolerant for query in queries))


def _droppable(query: Query, gap_windows: int, *, is_by_group: bool) -> DroppableQuery:
    *below, window = query.asked_windows
    keys = () if query.aggregate is None else query.aggregate.keys
    sides = side_reaches(query.stream, query.asked_windows)
    return DroppableQuery(
        query=query.name,
        definition_id=query.asked_definition_id,
        stream=query.stream.name,
        window=window,
        gap_windows=gap_windows,
        epoch=_epoch(reach_of(query.asked_windows, sides), gap_windows),
        weight=max(query.weight, LEAST_WEIGHT),
        below=tuple(below),
        work=(query.rows.address, *[str(key.expression) for key in keys]),
        is_by_group=is_by_group,
        sides=sides,
        collects_rows=any(call.user is not None for _, call in _innermost_calls(query)),
    )


def _innermost_calls(query: Query) -> Sequence[NamedCall]:
    """What is aggregated of a stream's rows."""
    innermost = next((node for node in query.node.path if isinstance(node, Aggregate)), None)
    return () if innermost is None else innermost.calls


def _epoch(window: WindowSpecification, gap_windows: int) -> int:
    slide = window.slide_microseconds
    longest = gap_windows * slide
    overlap = window.size_microseconds - slide
    if overlap == 0:
        return slide
    enough = overlap / (1 - AS_GOOD * early_share_of_epoch(window, gap_windows, longest))
    return min(longest, math.ceil(enough / slide) * slide)


def _in_common_epochs(queries: Sequence[DroppableQuery]) -> list[DroppableQuery]:
    """Let a stream's queries share an epoch: the one among theirs that serves all of them best.

    The longest one serves each at least half as well as its own, see `early_share_of_epoch`. Of those that serve
    equally well, the shortest in which each query begins a window: in others, the windows of one would lie across those
    that another one drops.
    """
    aligned = []
    for stream in dict.fromkeys(query.stream for query in queries):
        of_stream = [query for query in queries if query.stream == stream]
        longest_slide = max(query.window.slide_microseconds for query in of_stream)

        def serves(
            epoch: int, of_stream: Sequence[DroppableQuery] = of_stream, least: int = longest_slide
        ) -> tuple[float, bool]:
            return round(min(_served(query, epoch) for query in of_stream), 9), epoch >= least

        common = max(sorted({query.epoch for query in of_stream}), key=serves)
        aligned += [replace(query, epoch=common) for query in of_stream]
    return aligned


def _served(query: DroppableQuery, epoch: int) -> float:
    """What an epoch saves a query, as a share of what its own would."""
    most = query.early_share
    return 1.0 if most <= 0 else early_share_of_epoch(query.reach, query.gap_windows, epoch) / most
