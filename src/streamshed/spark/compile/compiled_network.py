"""A time domain of a network as DataFrames: its streams, and what is done with their answers, level by level."""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from types import MappingProxyType

from pyspark.accumulators import Accumulator
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F
from pyspark.sql import types as T

from streamshed.answering.table.output import Output
from streamshed.answering.table.value_kind import Carriage, ValueKind
from streamshed.network.model.foundation import Foundation
from streamshed.network.model.network import QueryNetwork, TimeDomain
from streamshed.network.model.stream import Stream
from streamshed.network.terms.aggregate import AggregateKind
from streamshed.planning.load.join_delay import delay_of_stream
from streamshed.planning.window_drop.windows.provenance import extent
from streamshed.sharing.counted_rows import Role, role_of
from streamshed.sharing.instructions import Instruction
from streamshed.sharing.large_values import sized_of_stream
from streamshed.sharing.probes import is_probe
from streamshed.sharing.stream_work import AggregateSlot
from streamshed.spark.admit.admission import Admission
from streamshed.spark.checkpoint.state_layout import StateLayout
from streamshed.spark.columns.summed_rows import SUMS_TYPE
from streamshed.spark.common.call_costs import CallCosts
from streamshed.spark.common.internal_names import SUMS
from streamshed.spark.compile.row_answers import row_partials
from streamshed.spark.count_windows.bounded_count_partials import bounded_count_partials
from streamshed.spark.joins.join_drawing import draws_by_chance
from streamshed.spark.operators.slot_types import DISPERSIONS
from streamshed.spark.plan.known_drops import NOTHING_KNOWN, KnownDrops
from streamshed.spark.source.domain_rows import DomainRows
from streamshed.spark.windows.compiled_stream import CompiledStream, StreamSource, compile_stream
from streamshed.spark.windows.finished_answers import Listener
from streamshed.spark.windows.manifest import Routed
from streamshed.spark.windows.nested_levels import CompiledLevel, Types, compile_levels
from streamshed.spark.windows.nested_windows import Closing
from streamshed.spark.windows.sketches import Sketches
from streamshed.spark.windows.slice_folding import Merging, with_folded
from streamshed.spark.windows.slice_partials import slice_partials
from streamshed.spark.windows.slice_placement import placed
from streamshed.spark.windows.slice_routing import Carried, CarriedWindows
from streamshed.spark.windows.window_partials import window_partials

CountStage = Callable[[Sequence[CompiledStream], T.StructType], DataFrame]
_EXTREMES = frozenset({AggregateKind.MIN, AggregateKind.MAX})
_MEASURED = DISPERSIONS | {AggregateKind.AVG, AggregateKind.SUM}


@dataclass(frozen=True)
class CompiledNetwork:
    """A time domain, analyzed.

    Attributes:
        streams: Its streams.
        levels: What is done with answers that are rows of further aggregates.
        missing: `Query.definition_id` of queries that miss windows which are open, or may, whether they tolerate gaps
            or not.
        again: By name, the streams whose rows are computed a second time, for their set-valued queries.
    """

    streams: tuple[CompiledStream, ...]
    levels: tuple[CompiledLevel, ...]
    missing: frozenset[int] = frozenset()
    again: Mapping[str, CompiledStream] = field(default_factory=dict)

    @cached_property
    def outputs(self) -> tuple[Output, ...]:
        """The outputs that its queries ask of the window partials."""
        foundations = self.foundations
        of_rows = (output for output in self.row_outputs if output.definition_id not in foundations)
        of_counts = (output for stream in self.streams for output in stream.count_outputs)
        return (*of_rows, *of_counts, *(output for level in self.levels for output in level.outputs))

    @cached_property
    def row_outputs(self) -> tuple[Output, ...]:
        """What is computed from rows; of a query over nested aggregates, its first aggregate."""
        return tuple(output for stream in self.streams for output in stream.outputs)

    @cached_property
    def merging(self) -> Merging:
        """The user-defined aggregates that are computed from slices."""
        return Merging(self.row_outputs, [one for stream in self.streams for one in stream.work.classes])

    @property
    def all_outputs(self) -> tuple[Output, ...]:
        """What is computed at all."""
        feeds = (output for level in self.levels for feed in level.feeds for output in feed.outputs)
        return (*self.row_outputs, *feeds, *self.outputs)

    @property
    def instructions(self) -> Iterator[Instruction]:
        """All that is done with rows and answers."""
        for stream in self.streams:
            yield from stream.work.program.instructions
        for level in self.levels:
            for program in level.level.programs:
                yield from program.instructions

    @cached_property
    def foundations(self) -> frozenset[int]:
        """`Query.definition_id` of what is computed only for queries over its answers."""
        queries = (slot.query for stream in self.streams for slot in stream.work.slots)
        return frozenset(query.definition_id for query in queries if isinstance(query, Foundation))

    @property
    def nested(self) -> dict[int, Closing]:
        """When windows close, by `Query.definition_id`, where that is later than their end."""
        closings = {
            member.definition_id: Closing((member.window,), delay)
            for stream in self.streams
            if (delay := delay_of_stream(stream.work.stream))
            for sharing_class in stream.work.classes
            for member in sharing_class.members
        }
        return closings | {definition: closing for level in self.levels for definition, closing in level.nested.items()}

    @property
    def typed_slots(self) -> Iterator[tuple[AggregateSlot, Types]]:
        """The aggregates of queries, of rows and of answers, with the types of their keys and values."""
        for stream in self.streams:
            for slot in (*stream.work.slots, *stream.work.count_slots):
                yield slot, stream.values.types
        for level in self.levels:
            for slot in level.slots:
                yield slot, level.types

    @property
    def carried(self) -> Carried:
        """The windows that carriers report: all of ungrouped queries, and those of queries that may miss some."""
        tolerant = {slot.query.definition_id for slot, _ in self.typed_slots if slot.query.gap_windows} | self.missing
        routes: dict[str, list[CarriedWindows]] = {}
        for stream, is_grouped, windows in self._windows_asked():
            if not is_grouped or windows.definition_id in tolerant:
                routes.setdefault(stream, []).append(windows)
        return Carried({stream: tuple(own) for stream, own in routes.items()}, self.nested)

    def _windows_asked(self) -> Iterator[tuple[str, bool, CarriedWindows]]:
        """Name of the stream, whether the query is grouped, and windows of each value of a query."""
        for stream in self.streams:
            for sharing_class in stream.work.classes:
                for member in sharing_class.members:
                    is_value = role_of(member.slot) is Role.VALUES and not is_probe(member.slot)
                    if is_value and member.definition_id not in self.foundations:
                        is_grouped = bool(sharing_class.keys)
                        windows = CarriedWindows(member.definition_id, member.slot, member.window, is_grouped)
                        yield sharing_class.stream, is_grouped, windows
        for level in self.levels:
            for nesting in level.level.nestings:
                is_grouped, beyond = bool(nesting.aggregate.keys), extent(nesting.windows).beyond
                for slot in {slot.slot for slot in nesting.slots} if nesting.is_asked else ():
                    windows = CarriedWindows(nesting.taker.definition_id, slot, nesting.windows[-1], is_grouped, beyond)
                    yield nesting.taker.stream.name, is_grouped, windows


def compile_network(
    network: QueryNetwork,
    domain: TimeDomain,
    sources: DomainRows,
    spark: SparkSession,
    *,
    admissions: Sequence[Admission] = (),
    depth: int = 1,
    costs: Accumulator[CallCosts] | None = None,
    types: Mapping[str, Types] = MappingProxyType({}),
) -> CompiledNetwork:
    """Lay the queries over the streams of a time domain out on DataFrames.

    Args:
        network: The network.
        domain: Whose streams.
        sources: Their rows.
        spark: The session.
        admissions: Of each stream, in order, how its rows are admitted; none: all rows are.
        depth: How many aggregates may follow one another, where that is more than the network nests.
        costs: Receives what user functions cost; None: that is not measured.
        types: By stream, what Spark makes of keys and values, where it was asked before.

    Raises:
        InvalidNetworkError: As `compile_stream`.
        InvalidExpressionError: As `compile_stream`.
    """
    queries = network.foundation.queries
    stream_admissions = admissions or [Admission()] * len(sources.frames)

    def compiled(stream: Stream, source: DataFrame, admission: Admission) -> CompiledStream:
        rows = StreamSource(
            source, sources.files.get(stream.name), sources.tasks, sources.summed.get(stream.name, frozenset())
        )
        return compile_stream(stream, queries, rows, admission, costs, types.get(stream.name))

    admitted = list(zip(domain.streams, stream_admissions, strict=True))
    streams = [
        compiled(stream, source, admission)
        for (stream, admission), source in zip(admitted, sources.frames, strict=True)
    ]
    again = {
        stream.name: compiled(stream, sources.again[stream.name], admission)
        for stream, admission in admitted
        if stream.name in sources.again
    }
    first = {stream.work.stream.name: (stream.work.slots, stream.values.types) for stream in streams}
    levels = compile_levels(spark, network.queries, first, max(depth, network.depth))
    return CompiledNetwork(tuple(streams), levels, again=again)


def needed_layout(network: CompiledNetwork) -> StateLayout:
    """Return the state layout that the queries need at least."""
    streams, outputs = network.streams, network.all_outputs
    return StateLayout(
        decimals=any(_travels(o, Carriage.DECIMAL) and o.shape.function is not AggregateKind.COUNT for o in outputs),
        texts=any(_travels(o, Carriage.TEXT) and o.shape.function in _EXTREMES for o in outputs),
        dispersions=any(o.shape.function in DISPERSIONS for o in outputs),
        quantiles=any(o.shape.share is not None for o in outputs),
        distincts=any(o.shape.function is AggregateKind.DISTINCT for o in outputs),
        collected=any(o.shape.user is not None for o in outputs),
        distinct_values=any(o.shape.function is AggregateKind.COUNT_DISTINCT for o in outputs),
        rows=any(stream.work.set_valued for stream in streams),
        count_windows=any(stream.work.count_slots for stream in streams),
        cohorts=any(stream.work.stream.is_sampled_join for stream in streams),
        answer_rows=any(stream.work.set_valued and delay_of_stream(stream.work.stream) for stream in streams),
    )


def compiled_partials(
    network: CompiledNetwork,
    rows: Mapping[str, DataFrame],
    classes: Sequence[Routed],
    layout: StateLayout,
    known_drops: KnownDrops = NOTHING_KNOWN,
    listener: Callable[[int], Listener] | None = None,
    count_stage: CountStage = bounded_count_partials,
    *,
    folds: bool = True,
) -> DataFrame:
    """Return the window partials of a time domain, and the rows of its set-valued queries among them.

    Args:
        network: The time domain.
        rows: Per stream, its rows on their way into slices, watermarked where they stream.
        classes: Sharing classes whose slices may be in state.
        layout: The state layout.
        known_drops: Which windows are dropped.
        listener: Given the number of a level, returns the listener to what lies behind the answers that are its rows.
        count_stage: Returns the partials of count windows over the given streams, in the given schema.
        folds: Whether user-defined aggregates may make states from the values that slices have collected.
    """
    streams, outputs = network.streams, network.row_outputs
    present = [sharing_class for stream in streams for sharing_class in stream.work.classes]
    united = _placed_rows(streams, rows, layout)
    extremes = any(output.shape.function in _EXTREMES for output in outputs)
    sketches = Sketches.of(outputs, present)
    sizes = any(tuple(sized_of_stream(stream.work)) for stream in streams)
    reaches = any(output.shape.function in _MEASURED for output in outputs)
    slices = slice_partials(united, layout, extremes=extremes, reaches=reaches, sizes=sizes, sketches=sketches)
    slices = with_folded(slices, network.merging.foldings if layout.collected and folds else {})
    partials = window_partials(slices, classes, present, layout, sketches, network.carried)
    for number, level in enumerate(network.levels, 1):
        here = known_drops if number >= known_drops.from_level else NOTHING_KNOWN
        partials = level.partials(partials, here, None if listener is None else listener(number))
    if layout.rows:
        answered_streams = [one for one in streams if layout.answer_rows or not delay_of_stream(one.work.stream)]
        lines = [(network.again.get(one.work.stream.name, one).line, one.work) for one in answered_streams]
        branches = [row_partials(line, work, partials) for line, work in lines]
        partials = functools.reduce(DataFrame.unionByName, branches, partials)
    if layout.count_windows:
        partials = partials.unionByName(count_stage(streams, partials.schema))
    return partials


def _placed_rows(streams: Sequence[CompiledStream], rows: Mapping[str, DataFrame], layout: StateLayout) -> DataFrame:
    """The rows of all streams, each in its slice."""
    frames = [
        placed(
            rows[stream.work.stream.name],
            stream.work.classes,
            stream.work.gating,
            with_instants=layout.collected,
            of_pairs=stream.work.stream.is_sampled_join,
            in_blocks=layout.block_sums and stream.skips_blocks,
            delay=delay_of_stream(stream.work.stream),
        )
        for stream in streams
    ]
    if any(SUMS in frame.columns for frame in frames):
        no_sums = F.lit(None).cast(SUMS_TYPE)
        frames = [frame if SUMS in frame.columns else frame.withColumn(SUMS, no_sums) for frame in frames]
    if layout.block_sums:
        no_cohort = F.lit(None).cast("int")
        frames = [frame if "cohort" in frame.columns else frame.withColumn("cohort", no_cohort) for frame in frames]
    return functools.reduce(DataFrame.unionByName, frames)


def readings(domain: TimeDomain, layout: StateLayout) -> dict[str, int]:
    """Return how often each source is read: for itself, and once for each join, whose shuffled rows Spark reads again.

    For itself it is read once more for rows as answers, and for those that are numbered. So it is for a join one side
    of which draws by chance: Spark takes no shuffle for another that has drawn other rows.

    Args:
        domain: Whose sources.
        layout: Of its state.
    """
    copies = 1 + layout.rows + layout.count_windows
    by_source = dict.fromkeys((stream.name for stream in domain.sources), copies)
    for stream in domain.joined:
        if stream.joined is not None:
            is_done_again = layout.answer_rows and delay_of_stream(stream) > 0
            of_join = copies if draws_by_chance(stream.joined) else 1 + is_done_again
            for side in (stream.joined.left, stream.joined.right):
                by_source[side.stream.name] += of_join
    return by_source


def types_of_network(network: CompiledNetwork) -> dict[int, dict[str, str]]:
    """Return the types that Spark infers for keys and values of the queries, by `Query.definition_id`."""
    types_by_definition: dict[int, dict[str, str]] = {}
    for slot, types in network.typed_slots:
        texts = {f"key {number}": key for number, key in enumerate(slot.keys, 1)}
        if slot.value is not None:
            texts[f"value {slot.slot + 1}"] = slot.value
        named = {what: types[sql].simpleString() for what, sql in texts.items()}
        types_by_definition.setdefault(slot.query.definition_id, {}).update(named)
    return types_by_definition


def _travels(output: Output, carriage: Carriage) -> bool:
    return isinstance(output.shape.value, ValueKind) and output.shape.value.carriage is carriage
