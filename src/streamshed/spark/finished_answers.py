"""Between two levels of nested aggregates: window partials become answers, one row each, in Python."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from pyspark.sql import DataFrame
from pyspark.sql import types as T

from streamshed.answering.answer_rows import answer_rows
from streamshed.answering.answer_schema import ANSWER, LATE
from streamshed.answering.output import Output
from streamshed.answering.window_partials import WindowPartials
from streamshed.network.grouping import Aggregate

FEED, FEED_TIME, FEED_KEYS, FEED_VALUES = "__feed", "__feed_time", "__feed_keys", "__feed_values"
"""Columns of an answer that is a row: of which aggregate (`Query.definition_id`; null: it is none), where its window
starts, and the texts of its keys and values."""

_TEXTS = T.ArrayType(T.StringType())
_ADDED = (
    T.StructField(FEED, T.LongType()),
    T.StructField(FEED_TIME, T.LongType()),
    T.StructField(FEED_KEYS, _TEXTS),
    T.StructField(FEED_VALUES, _TEXTS),
)
_GROUP = ("window_start", "definition_id", "key_long", "key_text")


@dataclass(frozen=True)
class Feed:
    """An aggregate whose answers are rows.

    Attributes:
        definition_id: Where its partials are found in state.
        aggregate: What it aggregates.
        outputs: Its values, in order.
        key_types: Types of its keys, in order.
        value_types: Of its values.
        askers: `Query.definition_id` of the queries that rest on it.
    """

    definition_id: int
    aggregate: Aggregate
    outputs: tuple[Output, ...]
    key_types: tuple[T.DataType, ...]
    value_types: tuple[T.DataType, ...]
    askers: tuple[int, ...]

    @property
    def slots(self) -> frozenset[int]:
        """The slots of its values."""
        return frozenset(output.slot for output in self.outputs)


Listener = Callable[[WindowPartials], None]
"""Told the partials behind the answers of a task."""


def finished_answers(partials: DataFrame, feeds: Sequence[Feed], listener: Listener | None = None) -> DataFrame:
    """Turn the window partials of some aggregates into rows, and let all others pass.

    The partials of a window and group for several values lie in several partitions, but close together: they are
    brought together within the micro-batch. What came late for such an aggregate is told of those who ask for it.

    Args:
        partials: Window partials.
        feeds: The aggregates.
        listener: Called once per task; None: nobody is told.

    Returns:
        The columns of `partials`, null in rows that are answers, and `FEED`, `FEED_TIME`, `FEED_KEYS`, `FEED_VALUES`.
    """
    fields = [T.StructField(field.name, field.dataType) for field in partials.schema.fields]
    schema = T.StructType([*fields, *_ADDED])
    together = partials.repartition(*_GROUP) if any(len(feed.slots) > 1 for feed in feeds) else partials
    by_definition = {feed.definition_id: feed for feed in feeds}

    def finished(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        waiting: list[pa.RecordBatch] = []
        for batch in batches:
            ours = pc.is_in(batch.column("definition_id"), pa.array(list(by_definition), pa.int64()))
            kinds = batch.column("kind")
            is_feed, is_late = pc.and_(ours, pc.equal(kinds, ANSWER)), pc.and_(ours, pc.equal(kinds, LATE))
            passing = batch.filter(pc.invert(pc.or_(is_feed, is_late)))
            for told in (passing, *_late(batch.filter(is_late), by_definition)):
                if told.num_rows:
                    yield _widened(told)
            waiting.append(batch.filter(is_feed))
        found = pa.Table.from_batches(waiting).combine_chunks() if waiting else None
        if found is None or not found.num_rows:
            return
        together = WindowPartials(found.to_batches()[0])
        if listener is not None:
            listener(together)
        definitions = together.longs("definition_id")
        for definition in np.unique(definitions).tolist():
            own = together.take(np.flatnonzero(definitions == definition))
            yield _answers(own, by_definition[definition])

    return together.mapInArrow(finished, schema)


def _widened(batch: pa.RecordBatch) -> pa.RecordBatch:
    return _with_added(batch.schema, batch.columns, [pa.nulls(batch.num_rows)] * len(_ADDED), batch.num_rows)


def _answers(partials: WindowPartials, feed: Feed) -> pa.RecordBatch:
    rows = answer_rows(feed.outputs, partials)
    count = len(rows.starts)
    own = [pa.array(np.full(count, feed.definition_id)), pa.array(rows.starts), rows.keys, rows.values]
    schema = partials.columns.schema
    return _with_added(schema, [pa.nulls(count, field.type) for field in schema], own, count)


def _with_added(
    schema: pa.Schema, columns: Sequence[pa.Array], added: Sequence[pa.Array], count: int
) -> pa.RecordBatch:
    types = (pa.int64(), pa.int64(), pa.list_(pa.string()), pa.list_(pa.string()))
    typed = [pa.nulls(count, kind) if pa.types.is_null(a.type) else a for a, kind in zip(added, types, strict=True)]
    names = [*schema.names, *(field.name for field in _ADDED)]
    return pa.RecordBatch.from_arrays([*columns, *typed], names=names)


def _late(late: pa.RecordBatch, feeds: Mapping[int, Feed]) -> Iterator[pa.RecordBatch]:
    """What came late, once for each query that rests on the aggregate it came late for."""
    definitions = late.column("definition_id")
    place = late.schema.get_field_index("definition_id")
    for definition in pc.unique(definitions).to_pylist():
        own = late.filter(pc.equal(definitions, definition))
        for asker in feeds[definition].askers:
            told = pa.array(np.full(own.num_rows, asker, np.int64))
            yield own.set_column(place, own.schema.field(place), told)
