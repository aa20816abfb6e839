"""Exact answers of a bounded input: the same compile step on static DataFrames."""

from __future__ import annotations

import functools
from collections.abc import Mapping
from dataclasses import replace

from pyspark.sql import DataFrame, SparkSession

from streamshed.answering.answer.answering import Answering
from streamshed.errors import InvalidNetworkError, near_miss
from streamshed.network.model.network import QueryNetwork, TimeDomain
from streamshed.network.model.stream import Stream
from streamshed.spark.admit.avro_reader import require_readable
from streamshed.spark.cluster.session import require_classic, require_settings, use_this_python
from streamshed.spark.common.call_sites import without_call_sites
from streamshed.spark.compile.compiled_network import compile_network, compiled_partials, needed_layout
from streamshed.spark.compile.join_frame import with_joined
from streamshed.spark.compile.side_answers import compiled_sides
from streamshed.spark.relations.relation_frame import read_relations
from streamshed.spark.sinks.answer_stage import answer_frame
from streamshed.spark.source.source_frame import bounded_frame, files_read_by_tasks, folder_frame


@without_call_sites()
def answers(network: QueryNetwork, spark: SparkSession, inputs: Mapping[str, DataFrame] | None = None) -> DataFrame:
    """Answer a network's queries exactly over bounded input.

    Args:
        network: The network.
        spark: The session.
        inputs: A static DataFrame per stream, by name; streams over folders and tables may be left out: all that
            lies there is read.

    Returns:
        Rows of the answer schema.

    Raises:
        InvalidNetworkError: A session of Spark Connect, a stream that does not exist, or aggregates of types that they
            do not take.
        SourceUnavailableError: A stream without input, a relation that cannot be read or repeats a key of a lookup.
    """
    require_classic(spark)
    for name, rows in (inputs or {}).items():
        require_classic(rows, f'the input of "{name}"')
    require_settings(spark)
    use_this_python(spark)
    given = dict(inputs or {})
    names = [stream.name for stream in network.all_streams if stream.joined is None]
    if unknown := [name for name in given if name not in names]:
        raise InvalidNetworkError(*(f'no stream "{name}"{near_miss(name, names)}' for name in unknown))
    domains = [_domain_answers(network, domain, spark, given) for domain in network.time_domains]
    return functools.reduce(DataFrame.unionByName, domains)


def _domain_answers(
    network: QueryNetwork, domain: TimeDomain, spark: SparkSession, given: Mapping[str, DataFrame]
) -> DataFrame:
    require_readable(domain.sources)
    sources = {stream.name: _source(spark, stream, given) for stream in domain.sources}
    files = files_read_by_tasks(spark, domain, sources.keys() - given.keys(), is_streaming=False)
    rows = replace(with_joined(spark, domain, sources, network), files=files)
    compiled = compile_network(network, domain, rows, spark)
    for compiled_network in (compiled, *compiled_sides(spark, domain, sources)):
        read_relations(compiled_network.instructions)
    layout = needed_layout(compiled)
    classes = [sharing_class for stream in compiled.streams for sharing_class in stream.work.classes]
    on_their_way = {stream.work.stream.name: stream.rows(layout) for stream in compiled.streams}
    partials = compiled_partials(compiled, on_their_way, classes, layout)
    answering = Answering(compiled.outputs, confidence=0.95, is_numbered=domain.is_numbered)
    return answer_frame(partials, answering, compiled.nested)


def _source(spark: SparkSession, stream: Stream, given: Mapping[str, DataFrame]) -> DataFrame:
    rows = given.get(stream.name)
    return folder_frame(spark, stream) if rows is None else bounded_frame(stream, rows)
