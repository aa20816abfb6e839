"""Which way the rows of each stream of a network go, told before anything runs."""

from __future__ import annotations

from collections.abc import Mapping

from streamshed.columnar.column_work import column_work
from streamshed.columnar.expressions.dialect import Dialect
from streamshed.columnar.topics.topic_way import check_topics
from streamshed.columnar.untranslatable import Untranslatable
from streamshed.errors import StreamshedError
from streamshed.network.model.network import QueryNetwork
from streamshed.network.model.relation import Relation
from streamshed.network.source.kafka_source import KafkaSource
from streamshed.network.source.sources import FileFormat
from streamshed.network.words.footer import parquet_columns
from streamshed.sharing.instructions import Match
from streamshed.sharing.stream_work import StreamWork, stream_work

_USUAL = Dialect(ansi=True, time_zone="UTC")


def row_ways(network: QueryNetwork) -> dict[str, str | None]:
    """Return, for each stream, why its rows go through Spark one by one; None: they go by columns.

    It is told for Spark's usual settings. A run may know more of relations: it lets Spark look into their files.

    Args:
        network: With the foundations of its queries, see `QueryNetwork.foundation`.

    Example:
        >>> from streamshed.network.model.network import network
        >>> from streamshed.network.source.sources import folder
        >>> from streamshed.network.model.declared_stream import stream
        >>> from streamshed.network.terms.parsing import parse_json
        >>> broker = folder("in", "parquet", schema="value binary, id bigint, at timestamp")
        >>> text = parse_json("value", "size int")
        >>> rows = stream("packets", broker, time="at", parse=text, identity=["id"]).window("1 minute")
        >>> row_ways(network(rows.agg(bytes="sum(size)").query("bytes")))
        {'packets': None}
        >>> row_ways(network(rows.agg(spread="stddev(size)").query("spread")))
        {'packets': 'the query "spread" asks for spread, an aggregate that is made of single values'}
    """
    sides = _sides(network)
    return {
        stream.name: _reason(stream_work(stream, network.queries), network, is_side=stream.name in sides)
        for stream in network.streams
    }


def record_ways(network: QueryNetwork) -> dict[str, str | None]:
    """Return, for each stream over topics whose rows go by columns, why Spark reads its records; None: tasks do.

    Args:
        network: As of `row_ways`.

    Example:
        >>> from streamshed.network.model.network import network
        >>> from streamshed.network.source.kafka_source import kafka
        >>> from streamshed.network.model.declared_stream import stream
        >>> from streamshed.network.terms.parsing import parse_json
        >>> topic = kafka("packets", "host:9092", headers=True)
        >>> rows = stream("packets", topic, time="timestamp", parse=parse_json("value", "size int"))
        >>> record_ways(network(rows.window("1 minute").agg(bytes="sum(size)").query("bytes")))
        {'packets': 'the headers of records are read by Spark'}
    """
    ways, sides = row_ways(network), _sides(network)
    return {
        stream.name: _IN_JOINS if stream.name in sides else _reader(stream_work(stream, network.queries), network)
        for stream in network.streams
        if ways[stream.name] is None and isinstance(stream.source, KafkaSource)
    }


_IN_JOINS = "a join reads them, too"


def _sides(network: QueryNetwork) -> frozenset[str]:
    return frozenset[str]().union(*(domain.sides for domain in network.time_domains))


def _reader(work: StreamWork, network: QueryNetwork) -> str | None:
    try:
        check_topics(work, samples=_may_sample(work, network), drops=work.may_drop_windows)
    except Untranslatable as reason:
        return str(reason)
    return None


def _may_sample(work: StreamWork, network: QueryNetwork) -> bool:
    return any(query.may_be_sampled for query in network.queries if query.stream == work.stream)


def _reason(work: StreamWork, network: QueryNetwork, *, is_side: bool) -> str | None:
    relations = [one.relation for one in work.program.instructions if isinstance(one, Match)]
    types = {relation.name: _types(relation) for relation in relations}
    try:
        column_work(work, types, _USUAL, samples=_may_sample(work, network), drops=work.may_drop_windows)
    except Untranslatable as reason:
        return str(reason)
    return "a join reads their files, too" if is_side and work.stream.text is None else None


def _types(relation: Relation) -> Mapping[str, str | None]:
    if relation.types is not None:
        return relation.types
    try:
        is_parquet = isinstance(relation.source, str) and relation.format is FileFormat.PARQUET
        columns = parquet_columns(str(relation.source)) if is_parquet else ()
    except StreamshedError:
        columns = ()
    return {column.name: column.type for column in columns}
