"""Writing a network as a YAML document, or as SQL, that loads to an equal one."""

from collections import Counter
from collections.abc import Iterable, Mapping
from typing import Any, TypeAlias

from streamshed.errors import InvalidNetworkError
from streamshed.network.document.document_run import written_run
from streamshed.network.document.document_schema import DOCUMENT_SCHEMA, DOCUMENT_VERSION
from streamshed.network.document.document_values import said
from streamshed.network.document.operators.join_form import unwritable_join
from streamshed.network.document.operators.operator_forms import written_operator
from streamshed.network.document.operators.query_form import written_query
from streamshed.network.document.schema_streams import RELATION, SOURCES, STREAM, TABLE_RELATIONS
from streamshed.network.document.yaml_text import write_yaml
from streamshed.network.model.grouping import Aggregate
from streamshed.network.model.network import QueryNetwork
from streamshed.network.model.node import Node
from streamshed.network.model.operators import Apply
from streamshed.network.model.relation import Relation
from streamshed.network.model.stream import Stream
from streamshed.network.run.run_settings import RunSettings
from streamshed.network.source.sources import DataFrameSource, RateSource
from streamshed.network.sql_text.sql_writer import written_sql

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
        "streams": {stream.name: STREAM.said(stream) for stream in network.all_streams if stream.joined is None},
        "relations": {relation.name: _relation(relation) for relation in network.relations},
        "operators": {names[node]: _named(written_operator(node), names) for node in operators},
        "queries": {query.name: _named(written_query(query), names) for query in network.queries},
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


def _relation(relation: Relation) -> _Body:
    section = TABLE_RELATIONS.get(type(relation.source))
    return RELATION.said(relation) if section is None else section.said(relation.source)


def _named(body: _Body, names: Mapping[Node, str]) -> _Body:
    """What was written of an operator or query, with nodes by name."""
    return {key: names[value] if isinstance(value, Node) else value for key, value in body.items()}
