"""Between two levels of nested aggregates: window partials become answers, one row each, in Python."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from pyspark.sql import DataFrame
from pyspark.sql import types as T

from streamshed.answering.answer.answer_rows import answer_rows
from streamshed.answering.table.answer_schema import ANSWER, LATE
from streamshed.answering.table.output import Output
from streamshed.answering.table.window_partials import Longs, Truths, WindowPartials
from streamshed.network.model.grouping import Aggregate
from streamshed.network.terms.window import WindowSpecification
from streamshed.planning.window_drop.track.retention import unneeded_times
from streamshed.planning.window_drop.track.window_drops import WindowDrops
from streamshed.spark.common.in_arrow import in_arrow
from streamshed.spark.plan.known_drops import KnownDrops

FEED, FEED_TIME, FEED_WANTED = "__feed", "__feed_time", "__feed_wanted"
"""Columns of an answer that is a row: of which aggregate (`Query.definition_id`; null: it is none), where its window
starts, and which takers want it, a bit for each."""
FEED_KEYS, FEED_VALUES = "__feed_keys", "__feed_values"
"""The texts of its keys and values."""
MOST_BITS = 62
"""Further takers want every answer."""

_TEXTS = T.ArrayType(T.StringType())
_ADDED = (
    T.StructField(FEED, T.LongType()),
    T.StructField(FEED_TIME, T.LongType()),
    T.StructField(FEED_WANTED, T.LongType()),
    T.StructField(FEED_KEYS, _TEXTS),
    T.StructField(FEED_VALUES, _TEXTS),
)
_GROUP = ("window_start", "definition_id", "key_long", "key_text")


@dataclass(frozen=True)
class Asker:
    """A query that rests on an aggregate's answers.

    Attributes:
        definition_id: `Query.definition_id`.
        windows: Those on the way from these answers to it.
    """

    definition_id: int
    windows: tuple[WindowSpecification, ...]

    def needs(self, starts: Longs, drops: WindowDrops) -> Truths:
        """Tell, by the starts of their windows, which answers its kept windows are made of."""
        query_drops = drops.queries.get(str(self.definition_id))
        needed = np.ones(len(starts), np.bool_)
        if query_drops is not None and query_drops.dropped:
            for gone in unneeded_times(self.windows, query_drops.numbers()):
                needed &= (starts < gone.start) | (starts >= gone.end)
        return needed


@dataclass(frozen=True)
class FeedingAggregate:
    """An aggregate whose answers are rows.

    Attributes:
        definition_id: Where its partials are found in state.
        aggregate: What it aggregates.
        outputs: Its values and the parts of those that arithmetic yields, in order.
        key_types: Types of its keys, in order.
        value_types: Of its values.
        takers: By the bit that stands for them, the aggregates over its answers, and the queries that rest on these.
    """

    definition_id: int
    aggregate: Aggregate
    outputs: tuple[Output, ...]
    key_types: tuple[T.DataType, ...]
    value_types: tuple[T.DataType, ...]
    takers: Mapping[int, tuple[Asker, ...]]

    @property
    def askers(self) -> tuple[int, ...]:
        """`Query.definition_id` of the queries that rest on it."""
        return tuple(dict.fromkeys(asker.definition_id for askers in self.takers.values() for asker in askers))

    def wanted(self, starts: Longs, drops: WindowDrops) -> Longs:
        """Return the bits of the takers that want answers, by the starts of their windows."""
        bits = np.zeros(len(starts), np.int64)
        for bit, askers in self.takers.items():
            needed = np.logical_or.reduce([asker.needs(starts, drops) for asker in askers])
            bits |= needed.astype(np.int64) << min(bit, MOST_BITS)
        return bits

    @property
    def slots(self) -> frozenset[int]:
        """The slots of its values."""
        return frozenset(output.slot for output in self.outputs)


Listener = Callable[[WindowPartials], None]
"""Told the partials behind the answers of a task."""


def finished_answers(
    partials: DataFrame, feeds: Sequence[FeedingAggregate], drop_decisions: KnownDrops, listener: Listener | None = None
) -> DataFrame:
    """Turn the window partials of some aggregates into rows, and let all others pass.

    An answer that only dropped windows need may be wrong: it goes no further.

    The partials of a window and group for several values lie in several partitions, but close together: they are
    brought together within the micro-batch. Late rows of such an aggregate are counted for every query that rests on
    it.

    Args:
        partials: Window partials.
        feeds: The aggregates.
        drop_decisions: Which windows are dropped.
        listener: Called once per task; None: nobody is told.

    Returns:
        The columns of `partials`, null in rows that are answers, and `FEED` to `FEED_VALUES`.
    """
    fields = [T.StructField(field.name, field.dataType) for field in partials.schema.fields]
    schema = T.StructType([*fields, *_ADDED])
    together = partials.repartition(*_GROUP) if any(len(feed.slots) > 1 for feed in feeds) else partials
    by_definition = {feed.definition_id: feed for feed in feeds}

    def finished(record_batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        waiting: list[pa.RecordBatch] = []
        for record_batch in record_batches:
            ours = pc.is_in(record_batch.column("definition_id"), pa.array(list(by_definition), pa.int64()))
            kinds = record_batch.column("kind")
            is_feed, is_late = pc.and_(ours, pc.equal(kinds, ANSWER)), pc.and_(ours, pc.equal(kinds, LATE))
            passing = record_batch.filter(pc.invert(pc.or_(is_feed, is_late)))
            for passing_batch in (passing, *_late(record_batch.filter(is_late), by_definition)):
                if passing_batch.num_rows:
                    yield _widened(passing_batch)
            waiting.append(record_batch.filter(is_feed))
        feed_rows = pa.Table.from_batches(waiting).combine_chunks() if waiting else None
        if feed_rows is None or not feed_rows.num_rows:
            return
        together = WindowPartials(feed_rows.to_batches()[0])
        if listener is not None:
            listener(together)
        drops = drop_decisions.now()
        definitions = together.longs("definition_id")
        for definition in np.unique(definitions).tolist():
            partials_of_feed = together.take(np.flatnonzero(definitions == definition))
            yield _answers(partials_of_feed, by_definition[definition], drops)

    return in_arrow(together, finished, schema)


def _widened(record_batch: pa.RecordBatch) -> pa.RecordBatch:
    return _with_added(
        record_batch.schema,
        record_batch.columns,
        [pa.nulls(record_batch.num_rows)] * len(_ADDED),
        record_batch.num_rows,
    )


def _answers(partials: WindowPartials, feed: FeedingAggregate, drops: WindowDrops) -> pa.RecordBatch:
    wanted = feed.wanted(partials.longs("window_start"), drops)
    rows = answer_rows(feed.outputs, partials.take(np.flatnonzero(wanted)))
    count = len(rows.starts)
    numbers = (np.full(count, feed.definition_id), rows.starts, feed.wanted(rows.starts, drops))
    answer_columns = [*map(pa.array, numbers), rows.keys, rows.values]
    schema = partials.columns.schema
    return _with_added(schema, [pa.nulls(count, field.type) for field in schema], answer_columns, count)


def _with_added(
    schema: pa.Schema, columns: Sequence[pa.Array], added: Sequence[pa.Array], count: int
) -> pa.RecordBatch:
    types = (*[pa.int64()] * 3, *[pa.list_(pa.string())] * 2)
    typed = [pa.nulls(count, kind) if pa.types.is_null(a.type) else a for a, kind in zip(added, types, strict=True)]
    names = [*schema.names, *(field.name for field in _ADDED)]
    return pa.RecordBatch.from_arrays([*columns, *typed], names=names)


def _late(late: pa.RecordBatch, feeds: Mapping[int, FeedingAggregate]) -> Iterator[pa.RecordBatch]:
    """Late rows, once for each query that rests on the aggregate that they are late for."""
    definitions = late.column("definition_id")
    place = late.schema.get_field_index("definition_id")
    for definition in pc.unique(definitions).to_pylist():
        late_rows = late.filter(pc.equal(definitions, definition))
        for asker in feeds[definition].askers:
            asker_ids = pa.array(np.full(late_rows.num_rows, asker, np.int64))
            yield late_rows.set_column(place, late_rows.schema.field(place), asker_ids)
