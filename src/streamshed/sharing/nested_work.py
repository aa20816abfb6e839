"""Aggregates over answers of other aggregates, level by level."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from streamshed.network.model.foundation import chains
from streamshed.network.model.grouping import Aggregate
from streamshed.network.model.query import Query
from streamshed.network.model.stream import Stream
from streamshed.network.terms.window import WindowSpecification
from streamshed.sharing.instructions import LinePosition, StreamProgram
from streamshed.sharing.resolution import resolve_answers
from streamshed.sharing.stream_work import AggregateSlot, aggregate_slots


@dataclass(frozen=True)
class Nesting:
    """An aggregate over answers of another one.

    Attributes:
        feed: The aggregate below whose answers it takes: a `Foundation`.
        taker: Who asks for it: a query, or a `Foundation` of one.
        slots: Its aggregates.
        conditions: What answers have to pass on the way.
        askers: Names of the queries that rest on it.
    """

    feed: Query
    taker: Query
    slots: tuple[AggregateSlot, ...]
    conditions: tuple[str, ...]
    askers: tuple[str, ...]

    @property
    def aggregate(self) -> Aggregate:
        """What it aggregates."""
        return aggregate_of(self.taker)

    @property
    def windows(self) -> tuple[WindowSpecification, ...]:
        """The windows on the way to it, the one next to the stream first."""
        return self.taker.windows

    @property
    def is_asked(self) -> bool:
        """Whether it is itself a query."""
        return self.taker.asked_definition_id == self.taker.definition_id


@dataclass(frozen=True)
class Level:
    """The operators and aggregates over answers of one depth.

    Attributes:
        programs: Per stream, the operators over these answers.
        nestings: The aggregates over them; those of one definition are there once.
    """

    programs: tuple[StreamProgram, ...]
    nestings: tuple[Nesting, ...]

    @property
    def feeds(self) -> tuple[Query, ...]:
        """The aggregates whose answers are its rows, each definition once."""
        return tuple({one.feed.definition_id: one.feed for one in self.nestings}.values())


def nested_levels(queries: Sequence[Query], streams: Sequence[Stream]) -> tuple[Level, ...]:
    """Return the levels above the windows of rows.

    Args:
        queries: Of a network.
        streams: Those of a time domain; queries over others are passed over.
    """
    domain_chains = [chain for chain in chains(queries) if chain[-1].stream in streams]
    return tuple(_level(domain_chains, depth) for depth in range(1, max(map(len, domain_chains), default=1)))


def aggregate_of(query: Query) -> Aggregate:
    """Return the aggregate of a query that has one."""
    if query.aggregate is None:
        raise TypeError("a set-valued query has no aggregate")
    return query.aggregate


def _level(domain_chains: Sequence[tuple[Query, ...]], depth: int) -> Level:
    pairs = [(chain[depth - 1], chain[depth], chain[-1].name) for chain in domain_chains if len(chain) > depth]
    streams = {taker.stream.name: taker.stream for _, taker, _ in pairs}
    programs = {
        name: resolve_answers(
            stream,
            [aggregate_of(feed) for feed, _, _ in pairs if feed.stream == stream],
            [taker.rows for _, taker, _ in pairs if taker.stream == stream],
        )
        for name, stream in sorted(streams.items())
    }
    nestings: dict[int, Nesting] = {}
    for feed, taker, asker in pairs:
        place = programs[taker.stream.name].places[taker.rows]
        nesting = nestings.get(taker.definition_id)
        of_taker = () if nesting is None or not _is_asked(taker) else nesting.slots
        nestings[taker.definition_id] = Nesting(
            feed=feed,
            taker=taker if nesting is None else nesting.taker,
            slots=(*of_taker, *_slots(taker, place)),
            conditions=place.conditions,
            askers=(*(() if nesting is None else nesting.askers), asker),
        )
    return Level(tuple(programs.values()), tuple(nestings.values()))


def _is_asked(taker: Query) -> bool:
    return taker.asked_definition_id == taker.definition_id


def _slots(taker: Query, place: LinePosition) -> tuple[AggregateSlot, ...]:
    return tuple(aggregate_slots(taker, aggregate_of(taker), place))
