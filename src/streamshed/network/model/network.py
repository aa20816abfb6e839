"""The query network: all queries, and with them the operators and streams they share."""

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, fields, replace
from functools import cached_property
from typing import Any, ClassVar, TypeVar

from streamshed.errors import InvalidNetworkError, Problem, unknown_name
from streamshed.network.model.foundation import chains
from streamshed.network.model.lookup import Lookup
from streamshed.network.model.node import Node
from streamshed.network.model.query import Query
from streamshed.network.model.relation import Relation
from streamshed.network.model.rows import Rows
from streamshed.network.model.stream import Stream
from streamshed.network.words.given import is_a, is_whole_number
from streamshed.network.words.notebook import preformatted, shortened

_Named = TypeVar("_Named", Stream, Relation)
_GOALS = tuple(field.name for field in fields(Query) if field.name not in {"name", "node"})


@dataclass(frozen=True, slots=True)
class TimeDomain:
    """Streams that share a clock, and so run together; sorted by name."""

    clock: str
    streams: tuple[Stream, ...]

    @property
    def sources(self) -> tuple[Stream, ...]:
        """Those whose rows come from outside."""
        return tuple(stream for stream in self.streams if stream.joined is None)

    @property
    def joined(self) -> tuple[Stream, ...]:
        """Those that join others of them."""
        return tuple(stream for stream in self.streams if stream.joined is not None)

    @property
    def sides(self) -> frozenset[str]:
        """The names of the streams that are sides of joins."""
        sources = [stream.joined for stream in self.streams if stream.joined is not None]
        return frozenset(side.stream.name for source in sources for side in (source.left, source.right))

    @property
    def is_numbered(self) -> bool:
        """Whether windows lie along numbers, not in time."""
        return self.streams[0].is_numbered


@dataclass(frozen=True, repr=False)
class QueryNetwork:
    """Queries over shared operators; made by `network`.

    What needs more than the network, `streamshed.api` makes methods of it: to run, explain, write and draw it.

    Attributes:
        queries: The queries, in the order given.
        max_depth: How many aggregates may follow one another, now and later under the same checkpoint; those of its
            queries do in any case, see `depth`.
    """

    queries: tuple[Query, ...]
    max_depth: int = 1

    start: ClassVar[Callable[..., Any]]
    answers: ClassVar[Callable[..., Any]]
    explain: ClassVar[Callable[..., Any]]
    to_sql: ClassVar[Callable[..., str]]
    render: ClassVar[Callable[..., str]]

    def __post_init__(self) -> None:
        object.__setattr__(self, "queries", tuple(self.queries))
        strangers = [query for query in self.queries if not is_a(query, Query)]
        if strangers:
            raise InvalidNetworkError(*(_stranger(thing) for thing in strangers))
        if problems := [*_setting_problems(self), *_query_problems(self.queries), *_name_problems(self)]:
            raise InvalidNetworkError(*problems)

    @cached_property
    def nodes(self) -> tuple[Node, ...]:
        """The nodes of all queries and joins, each after its input; equal nodes occur once."""
        nodes: dict[Node, None] = {}
        for query in self.queries:
            if query.stream.joined is not None:
                nodes.update(dict.fromkeys(query.stream.joined.nodes))
            nodes.update(dict.fromkeys(query.node.path))
        return tuple(nodes)

    @cached_property
    def row_nodes(self) -> tuple[Node, ...]:
        """Those of them that hand rows of `streams` on, to operators, aggregates or those who ask for rows."""
        handing_on = {node for query in self.queries for node in query.rows.path}
        return tuple(node for node in self.nodes if node in handing_on)

    @cached_property
    def foundation(self) -> "QueryNetwork":
        """What it asks of its streams: of nested aggregates the first, see `Foundation`."""
        return QueryNetwork(tuple(first for first, *_ in chains(self.queries)), self.max_depth)

    @cached_property
    def depth(self) -> int:
        """How many aggregates may follow one another."""
        return max(self.max_depth, *(len(query.windows) for query in self.queries))

    @cached_property
    def streams(self) -> tuple[Stream, ...]:
        """The streams that queries ask for, joined ones among them, sorted by name."""
        return tuple(sorted({query.stream for query in self.queries}, key=lambda stream: stream.name))

    @cached_property
    def all_streams(self) -> tuple[Stream, ...]:
        """Those, and the streams that are joined, sorted by name."""
        streams = {node for node in self.nodes if isinstance(node, Stream)}
        return tuple(sorted(streams, key=lambda stream: stream.name))

    @cached_property
    def relations(self) -> tuple[Relation, ...]:
        """The stored relations, sorted by name."""
        relations = {node.relation for node in self.nodes if isinstance(node, Lookup)}
        return tuple(sorted(relations, key=lambda relation: relation.name))

    @cached_property
    def time_domains(self) -> tuple[TimeDomain, ...]:
        """The streams by clock, sorted by clock."""
        streams = self.all_streams
        clocks = sorted({stream.clock for stream in streams})
        return tuple(
            TimeDomain(clock, tuple(stream for stream in streams if stream.clock == clock)) for clock in clocks
        )

    def query(self, name: str) -> Query:
        """Return the query of a name.

        Raises:
            KeyError: There is none.
        """
        return self._queries_by_name[name]

    def rows(self, stream: str) -> Rows:
        """Return the rows of one of its streams, to write more queries over, such as for `run.add`.

        Args:
            stream: Its name, of one that is joined as well.

        Raises:
            InvalidNetworkError: It has no such stream.

        Example:
            >>> from streamshed.network.model.declared_stream import stream
            >>> from streamshed.network.source.sources import rate
            >>> ticks = stream("ticks", rate(100), time="timestamp")
            >>> there = network(ticks.window("1 minute").agg(n="count(*)").query("count"))
            >>> largest = there.rows("ticks").window("1 minute").agg(most="max(value)").query("largest")
            >>> [query.name for query in there.with_queries(largest).queries]
            ['count', 'largest']
        """
        streams = {known.name: known for known in self.all_streams}
        if stream not in streams:
            raise InvalidNetworkError(unknown_name("stream", stream, streams))
        return Rows(streams[stream])

    @property
    def latency_seconds(self) -> float | None:
        """The least goal of its queries from a row's arrival to its answer; None: none has a goal of its own."""
        goals = [query.latency_seconds for query in self.queries if query.latency_seconds is not None]
        return min(goals, default=None)

    def with_queries(self, *queries: Query) -> "QueryNetwork":
        """Return the network with more queries.

        Args:
            *queries: Those that come.

        Raises:
            InvalidNetworkError: Listing all that is wrong, such as a name that is there already.
        """
        return replace(self, queries=(*self.queries, *queries))

    def without_queries(self, *names: str) -> "QueryNetwork":
        """Return the network without some queries.

        Args:
            *names: Those that go.

        Raises:
            InvalidNetworkError: There is no query of a name, or none would be left.
        """
        self._refuse_unknown(*names)
        return replace(self, queries=tuple(query for query in self.queries if query.name not in names))

    def with_goals(self, name: str, **goals: Any) -> "QueryNetwork":
        """Return the network with other goals of a query; what is asked stays.

        Args:
            name: The query.
            **goals: `weight`, `priority`, `mode`, `max_error`, `max_gap`, `gaps_by` or `latency`, as `.query(...)`
                takes them.

        Raises:
            InvalidNetworkError: There is no such query or goal, or a goal cannot be.

        Example:
            >>> from streamshed.network.source.sources import rate
            >>> from streamshed.network.model.declared_stream import stream
            >>> ticks = stream("ticks", rate(100), time="timestamp")
            >>> total = ticks.window("1 minute").agg(total="sum(value)").query("total")
            >>> network(total).with_goals("total", weight=3).query("total").weight
            3.0
        """
        self._refuse_unknown(name)
        if strangers := [goal for goal in goals if goal not in _GOALS]:
            raise InvalidNetworkError(*(unknown_name("goal", goal, _GOALS) for goal in strangers))
        changed = replace(self.query(name), **goals)
        return replace(self, queries=tuple(changed if query.name == name else query for query in self.queries))

    def _refuse_unknown(self, *names: str) -> None:
        if strangers := [name for name in names if name not in self._queries_by_name]:
            raise InvalidNetworkError(*(unknown_name("query", name, self._queries_by_name) for name in strangers))

    def __repr__(self) -> str:
        return shortened(self.render())

    def _repr_html_(self) -> str:
        return preformatted(self.render())

    @cached_property
    def _queries_by_name(self) -> dict[str, Query]:
        return {query.name: query for query in self.queries}


def network(*queries: Query, max_depth: int = 1) -> QueryNetwork:
    """Put queries together.

    Args:
        *queries: The queries; those that ask the same share their work.
        max_depth: How many aggregates may follow one another, now and later under the same checkpoint; needed only
            where later queries are to be nested deeper than these.

    Raises:
        InvalidNetworkError: Listing all that is wrong: no query, a name used twice, one name for two streams.

    Example:
        >>> from streamshed.network.source.sources import rate
        >>> from streamshed.network.model.declared_stream import stream
        >>> ticks = stream("ticks", rate(100), time="timestamp")
        >>> even = ticks.filter("value % 2 = 0").window("1 minute").agg(n="count(*)").query("even")
        >>> total = ticks.window("1 minute").agg(total="sum(value)").query("total", weight=2)
        >>> [str(node) for node in network(even, total).nodes]
        ['ticks', 'filter value % 2 = 0', 'n = count(*) over 1 minute', 'total = sum(value) over 1 minute']
    """
    return QueryNetwork(queries, max_depth)


def _stranger(thing: object) -> str:
    text = f"a network is made of queries, got {type(thing).__name__}: {thing}"
    if isinstance(thing, Rows):
        return f'{text} (is .query("name") missing at its end?)'
    return text


def _setting_problems(network: QueryNetwork) -> Iterator[str]:
    if not network.queries:
        yield "a network needs at least one query"
    if not is_whole_number(network.max_depth, at_least=1):
        yield Problem("max_depth must be a whole number of at least 1", got=repr(network.max_depth))


def _query_problems(queries: tuple[Query, ...]) -> Iterator[str]:
    names: dict[str, str] = {}
    definitions: dict[int, Query] = {}
    for query in queries:
        if query.name.lower() in names:
            yield f'two queries are named "{names[query.name.lower()]}" and "{query.name}", the same to Spark'
        names[query.name.lower()] = query.name
        first = definitions.setdefault(query.definition_id, query)
        if first.definition != query.definition:
            yield f'"{first.name}" and "{query.name}" have the same id by chance: change one of them a little'


def _name_problems(network: QueryNetwork) -> Iterator[str]:
    yield from _clashes("stream", network.all_streams)
    for domain in network.time_domains:
        if len({stream.is_numbered for stream in domain.streams}) > 1:
            times, numbers = (
                next(stream.name for stream in domain.streams if stream.is_numbered is is_numbered)
                for is_numbered in (False, True)
            )
            yield (
                f'the streams "{times}" and "{numbers}" have the same clock, "{domain.clock}", but the one has time'
                " and the other numbers: give one of them another clock"
            )
    yield from _clashes("relation", network.relations)


def _clashes(kind: str, things: Iterable[_Named]) -> Iterator[str]:
    by_name: dict[str, _Named] = {}
    for thing in things:
        first = by_name.setdefault(thing.name.lower(), thing)
        if first.name != thing.name:
            yield f'two {kind}s are named "{first.name}" and "{thing.name}", the same to Spark'
        elif first is not thing:
            yield f'two different {kind}s are named "{thing.name}": {_difference(first, thing)}'


def _difference(first: _Named, second: _Named) -> str:
    fields = type(first).__dataclass_fields__
    differing = [name for name in fields if getattr(first, name) != getattr(second, name)]
    return f"they differ in {', '.join(differing)} (was it meant to be declared once?)"
