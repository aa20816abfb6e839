"""A time domain of a network, compiled to see whether it can run: nothing is written and nothing runs yet."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import cached_property

from pyspark.sql import DataFrame, SparkSession

from streamshed.network.model.network import QueryNetwork, TimeDomain
from streamshed.network.source.kafka_source import KafkaSource
from streamshed.planning.tree.scalability import protected_streams
from streamshed.planning.window_drop.track.droppable import droppable_queries, streams_needed_whole
from streamshed.sharing.stream_work import StreamWork
from streamshed.spark.compile.compiled_network import CompiledNetwork, compile_network, types_of_network
from streamshed.spark.compile.join_frame import with_joined
from streamshed.spark.compile.side_answers import compiled_sides
from streamshed.spark.loop.join_planner import refuse_what_joins_cannot
from streamshed.spark.relations.relation_frame import read_relations
from streamshed.spark.source.source_frame import files_read_by_tasks, streaming_frame
from streamshed.spark.windows.manifest import Types


@dataclass(frozen=True)
class DomainDraft:
    """What Spark makes of a time domain of a network.

    Attributes:
        network: The network.
        domain: The time domain.
        sources: The rows of each stream that comes from outside.
        files: By stream, the files that its rows are in, where tasks may read them; see `files_read_by_tasks`.
        compiled: The domain, without samplers and plans.
        sides: The aggregates that it joins answers of.
    """

    network: QueryNetwork
    domain: TimeDomain
    sources: Mapping[str, DataFrame]
    files: Mapping[str, DataFrame]
    compiled: CompiledNetwork
    sides: tuple[CompiledNetwork, ...]

    @classmethod
    def of(cls, network: QueryNetwork, domain: TimeDomain, spark: SparkSession) -> DomainDraft:
        """Compile a time domain.

        Args:
            network: The network.
            domain: One of its time domains.
            spark: The session.

        Raises:
            InvalidNetworkError: Types that aggregates do not take; joins that cannot be.
            SourceUnavailableError: A folder that is not there, or a relation that cannot be read.
        """
        refuse_what_joins_cannot(domain, protected_streams(network.foundation))
        sources = {stream.name: streaming_frame(spark, stream, in_pieces=True) for stream in domain.sources}
        files = files_read_by_tasks(spark, domain, sources, is_streaming=True)
        rows = replace(with_joined(spark, domain, sources, network), files=files)
        compiled = compile_network(network, domain, rows, spark)
        sides = tuple(compiled_sides(spark, domain, sources))
        for analyzed in (compiled, *sides):
            read_relations(analyzed.instructions)
        return cls(network, domain, sources, files, compiled, sides)

    @property
    def frames(self) -> dict[str, tuple[DataFrame, ...]]:
        """By stream that comes from outside, what its rows may be read by."""
        return {
            name: (rows, *([self.files[name]] if name in self.files and name not in self._topics else []))
            for name, rows in self.sources.items()
        }

    @property
    def _topics(self) -> frozenset[str]:
        """The streams over topics: what tells tasks of these brings no row of them."""
        return frozenset(stream.name for stream in self.domain.sources if isinstance(stream.source, KafkaSource))

    @cached_property
    def of_domain(self) -> QueryNetwork:
        """The queries of the time domain alone."""
        return QueryNetwork(tuple(query for query in self.network.queries if query.stream in self.domain.streams))

    @cached_property
    def works(self) -> dict[str, StreamWork]:
        """What is done for the rows of each stream."""
        return {stream.work.stream.name: stream.work for stream in self.compiled.streams}

    @property
    def wished_families(self) -> tuple[str, ...]:
        """The families of state that a new checkpoint has beyond those that are needed: it sheds better with them."""
        tolerant = {query.query for query in droppable_queries(self.of_domain)}
        whole = streams_needed_whole(self.of_domain, tolerant)
        skips = any(one.skips_blocks and one.work.stream.name not in whole for one in self.compiled.streams)
        return ("block_sums",) if skips else ()

    @property
    def types(self) -> Types:
        """The types of keys and values."""
        return {
            definition_id: types
            for compiled in (*self.sides, self.compiled)
            for definition_id, types in types_of_network(compiled).items()
        }
