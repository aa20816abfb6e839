"""Writing a network as a YAML document, or as SQL, that loads to an equal one."""

from collections import Counter
from collections.abc import Iterable, Mapping
from typing import Any, TypeAlias

from streamshed.errors import InvalidNetworkError
from streamshed.network.document.document_run import written_run
from streamshed.network.document.document_schema import DOCUMENT_SCHEMA, DOCUMENT_VERSION
from streamshed.network.document.document_values import said
from streamshed.network.document.document_written_joins import join_body, unwritable_join
from streamshed.network.document.schema_operators import GOALS
from streamshed.network.document.schema_streams import PARSE, SOURCES, TABLE_RELATIONS
from streamshed.network.document.yaml_text import write_yaml
from streamshed.network.model.grouping import Aggregate, GroupKey
from streamshed.network.model.join_source import JoinSource
from streamshed.network.model.lookup import Lookup, LookupKind
from streamshed.network.model.network import QueryNetwork
from streamshed.network.model.node import Node
from streamshed.network.model.operators import Apply, Filter, Map
from streamshed.network.model.query import Query
from streamshed.network.model.relation import Relation
from streamshed.network.model.stream import Source, Stream, default_clock
from streamshed.network.run.run_settings import RunSettings
from streamshed.network.source.identity import Identity, IdentityKind
from streamshed.network.source.sources import DataFrameSource, RateSource
from streamshed.network.sql.expression import parse_expression, quoted
from streamshed.network.sql_text.sql_writer import written_sql
from streamshed.network.terms.aggregate import AggregateCall, AggregateKind
from streamshed.network.terms.derivation import Answered
from streamshed.network.terms.window import WindowSpecification
from streamshed.network.words.columns import Column, format_schema
from streamshed.network.words.duration import format_duration
from streamshed.network.words.numbering import MICROSECONDS_PER_NUMBER, format_rows

_Body: TypeAlias = dict[str, Any]
_DEFINED: Mapping[str, Any] = DOCUMENT_SCHEMA["$defs"]


def network_to_document(network: QueryNetwork, run: RunSettings | None = None) -> str:
    """Write a network, and perhaps how it is to be run, as a YAML document.

    Operators get made-up names, each after its stream and what it does.

    Args:
        network: The network.
        run: How it is to be run; None: nothing is said of it.

    Raises:
        InvalidNetworkError: Listing what no document can say: DataFrames, and functions without a name.

    Example:
        >>> from streamshed.network.model.network import network
        >>> from streamshed.network.source.sources import rate
        >>> from streamshed.network.model.declared_stream import stream
        >>> ticks = stream("ticks", rate(10), time="timestamp")
        >>> print(network_to_document(network(ticks.filter("value > 3").query("large"))), end="")
        streamshed: 1
        streams:
          ticks:
            source:
              rate:
                rows_per_second: 10
            time: timestamp
            identity:
            - value
        operators:
          ticks_filter_1:
            from: ticks
            filter: value > 3
        queries:
          large:
            from: ticks_filter_1
    """
    return write_yaml(document_value(network, run))


def network_to_sql(network: QueryNetwork, run: RunSettings | None = None) -> str:
    """Write a network, and perhaps how it is to be run, as SQL statements that read as an equal one.

    Args:
        network: The network.
        run: How it is to be run; None: nothing is said of it.

    Raises:
        InvalidNetworkError: As of `network_to_document`.

    Example:
        >>> from streamshed.network.model.network import network
        >>> from streamshed.network.source.sources import rate
        >>> from streamshed.network.model.declared_stream import stream
        >>> ticks = stream("ticks", rate(10), time="timestamp")
        >>> print(network_to_sql(network(ticks.filter("value > 3").query("large", mode="exact"))), end="")
        CREATE STREAM ticks
        WATERMARK FOR timestamp AS timestamp
        WITH (rows_per_second = 10);
        <BLANKLINE>
        CREATE QUERY large AS
        SELECT * FROM ticks WHERE value > 3
        ON OVERLOAD KEEP EXACT;
    """
    document = document_value(network, run)
    for stream in network.all_streams:
        if stream.joined is not None:
            document["operators"][stream.name]["prefixes"] = [*stream.joined.prefixes]
    return written_sql(document)


def document_value(network: QueryNetwork, run: RunSettings | None = None) -> dict[str, Any]:
    """Return what a document says of a network, by its keys; see `network_to_document`."""
    if problems := [*_unwritable(network)]:
        raise InvalidNetworkError(*problems)
    names = _node_names(network)
    operators = [node for node in names if not isinstance(node, Stream) or node.joined is not None]
    document = {
        "streamshed": DOCUMENT_VERSION,
        "streams": {stream.name: _stream(stream) for stream in network.all_streams if stream.joined is None},
        "relations": {relation.name: _relation(relation) for relation in network.relations},
        "operators": {names[node]: _operator(node, names) for node in operators},
        "queries": {query.name: _query(query, names) for query in network.queries},
        **said({"max_depth": network.max_depth}, DOCUMENT_SCHEMA),
        "run": {} if run is None else written_run(run),
    }
    return {key: value for key, value in document.items() if value != {}}


def _unwritable(network: QueryNetwork) -> Iterable[str]:
    for stream in network.all_streams:
        if stream.joined is not None:
            yield from unwritable_join(stream.name, stream.joined)
        elif type(stream.source) not in {*SOURCES, RateSource}:
            says = "only folders, tables, topics of Kafka and rate sources can be written"
            yield f'stream "{stream.name}" is over a DataFrame: {says}'
    for relation in network.relations:
        if isinstance(relation.source, DataFrameSource):
            yield f'relation "{relation.name}" is a DataFrame: only files and tables can be written'
    for node in network.nodes:
        users = [call.user for _, call in node.calls] if isinstance(node, Aggregate) else []
        functions = [node.function] if isinstance(node, Apply) else [user.function for user in users if user]
        for function in functions:
            if function.state_digest:
                yield f'the function "{function.name}" cannot be imported: define it at the top of a module'


def _node_names(network: QueryNetwork) -> dict[Node, str]:
    names: dict[Node, str] = {}
    taken = {stream.name.lower() for stream in network.all_streams}
    counts: Counter[str] = Counter()
    sides = {node for stream in network.streams if stream.joined is not None for node in stream.joined.nodes}
    named = sides.union(network.row_nodes)
    for node in network.nodes:
        if node not in named:
            continue
        if isinstance(node, Stream):
            names[node] = node.name
        else:
            stem = f"{node.stream.name}_{type(node).__name__.lower()}"
            counts[stem] += 1
            while f"{stem}_{counts[stem]}".lower() in taken:
                counts[stem] += 1
            names[node] = f"{stem}_{counts[stem]}"
            taken.add(names[node].lower())
    return names


def _stream(stream: Stream) -> _Body:
    body: _Body = {"source": _source(stream.source)}
    if stream.parse is not None:
        body["parse"] = PARSE[stream.parse.format].said(stream.parse)
    body["number" if stream.is_numbered else "time"] = stream.time
    if stream.watermark_microseconds:
        body["watermark"] = _length(stream.watermark_microseconds, is_numbered=stream.is_numbered)
    body["identity"] = _identity(stream.identity)
    for key, length in (("idle_after", stream.idle_after_microseconds), ("max_ahead", stream.max_ahead_microseconds)):
        body[key] = None if length is None else format_duration(length)
    clock = default_clock(stream.name, is_numbered=stream.is_numbered)
    return said(body | {"clock": stream.clock}, _DEFINED["stream"], clock=clock)


def _window_length(microseconds: int, window: WindowSpecification) -> str | int:
    return format_rows(microseconds) if window.is_by_count else _length(microseconds, is_numbered=window.is_numbered)


def _length(microseconds: int, *, is_numbered: bool) -> str | int:
    return microseconds // MICROSECONDS_PER_NUMBER if is_numbered else format_duration(microseconds)


def _source(source: Source) -> _Body:
    if isinstance(source, RateSource):
        return {"rate": {"rows_per_second": source.rows_per_second}}
    return SOURCES[type(source)].said(source)


def _identity(identity: Identity) -> str | list[str]:
    return list(identity.columns) if identity.kind is IdentityKind.COLUMNS else str(identity.kind)


def _relation(relation: Relation) -> _Body:
    if (section := TABLE_RELATIONS.get(type(relation.source))) is not None:
        return section.said(relation.source)
    body = {"path": relation.source, "format": str(relation.format), "options": dict(relation.options)}
    return said(body | {"schema": _schema(relation.columns)}, _DEFINED["relation"])


def _schema(columns: tuple[Column, ...] | None) -> str | None:
    """The columns as DDL; None where the types of some are not known, so that they are found out again."""
    if not columns or any(column.type is None for column in columns):
        return None
    return format_schema(columns)


def _operator(node: Node, names: Mapping[Node, str]) -> _Body:
    match node:
        case Stream(source=JoinSource() as join):
            return join_body(join, names)
        case Filter(input, predicate):
            return {"from": names[input], "filter": predicate.text}
        case Map(input, assignments):
            return {"from": names[input], "map": {name: expression.text for name, expression in assignments}}
        case Lookup(input, relation, on, _, LookupKind.SEMIJOIN, negate):
            body = {"from": names[input], "semijoin": relation.name, "on": dict(on), "negate": negate}
            return said(body, _DEFINED["semijoin"])
        case Lookup(input, relation, on, added):
            return {"from": names[input], "lookup": relation.name, "on": dict(on), "columns": list(added)}
        case Aggregate(input):
            return {"from": names[input], **_aggregate(node)}
        case Apply(input, function, arguments, into, returns):
            body = {"from": names[input], "apply": function.name, "columns": list(arguments)}
            return body | {"into": into, "returns": returns}
    raise InvalidNetworkError(f"no operator that a document knows: {node}")


def _query(query: Query, names: Mapping[Node, str]) -> _Body:
    body: _Body = {"from": names[query.rows]}
    if query.aggregate is not None:
        body |= _aggregate(query.aggregate)
    return said(body | GOALS.written(query), _DEFINED["query"])


def _aggregate(aggregate: Aggregate) -> _Body:
    window = aggregate.over
    lengths = {
        "size": window.size_microseconds,
        "slide": window.slide_microseconds,
        "offset": window.offset_microseconds,
    }
    lengths = said(lengths, _DEFINED["window"], slide=window.size_microseconds, offset=0)
    body: _Body = {
        "window": {key: _window_length(length, window) for key, length in lengths.items()},
        "by": [_key(key) for key in aggregate.keys],
        "aggregates": {name: _answered(answer) for name, answer in aggregate.aggregates},
    }
    return said(body, _DEFINED["aggregate"])


def _answered(answer: Answered) -> str | _Body:
    if not isinstance(answer, AggregateCall) or answer.user is None or answer.kind is not AggregateKind.USER:
        return str(answer)
    user = answer.user
    where = {} if user.where is None else {"where": str(user.where)}
    return {"user": user.function.name, "columns": list(user.columns), "returns": user.returns, **where}


def _key(key: GroupKey) -> str | dict[str, str]:
    """A column by its name alone, other keys with their SQL."""
    is_column = key.expression == parse_expression(quoted(key.name))
    return key.name if is_column else {key.name: key.expression.text}
