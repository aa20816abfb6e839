"""Aggregates over answers of other aggregates: what each level makes of the window partials of the one below."""

from __future__ import annotations

import functools
import operator
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from pyspark.errors import AnalysisException
from pyspark.sql import Column, DataFrame, SparkSession
from pyspark.sql import functions as F
from pyspark.sql import types as T

from streamshed.answering.table.answer_schema import ANSWER
from streamshed.answering.table.output import Output
from streamshed.network.model.grouping import Aggregate
from streamshed.network.model.query import Query
from streamshed.network.terms.aggregate import AggregateKind
from streamshed.network.terms.derivation import Derivation
from streamshed.network.words.numbering import MICROSECONDS_PER_NUMBER
from streamshed.planning.load.join_delay import delay_of_stream
from streamshed.sharing.instructions import StreamProgram
from streamshed.sharing.nested_work import Level, Nesting, aggregate_of, nested_levels
from streamshed.sharing.resolution import answer_place
from streamshed.sharing.stream_work import AggregateSlot
from streamshed.spark.common.group_keys import key_columns
from streamshed.spark.common.internal_names import TIME, UNREADABLE
from streamshed.spark.common.state_key import held, state_key_columns
from streamshed.spark.common.unfused import MOST_FUSED, unfused
from streamshed.spark.common.value_kind import CarriedValue, carried, presence
from streamshed.spark.operators.analysis import refused_instruction
from streamshed.spark.operators.slot_types import (
    aggregate_type,
    presence_only,
    slot_call,
    slot_output,
    slot_types,
    typed_text,
)
from streamshed.spark.operators.straight_line import StraightLine, run_instructions
from streamshed.spark.plan.known_drops import NOTHING_KNOWN, KnownDrops
from streamshed.spark.windows.eviction import closing_time
from streamshed.spark.windows.finished_answers import (
    FEED,
    FEED_KEYS,
    FEED_TIME,
    FEED_VALUES,
    FEED_WANTED,
    MOST_BITS,
    Asker,
    FeedingAggregate,
    Listener,
    finished_answers,
)
from streamshed.spark.windows.merged_partials import merged_partials, partials_of_a_value
from streamshed.spark.windows.nested_windows import Closing, Nested, closing_of
from streamshed.spark.windows.window_partials import WINDOW_KEY

Types = Mapping[str, T.DataType]
"""By SQL text of a key or value."""

_FEED_SCHEMA = T.StructType(
    [
        T.StructField(FEED, T.LongType()),
        T.StructField(FEED_TIME, T.LongType()),
        T.StructField(FEED_WANTED, T.LongType()),
        T.StructField(FEED_KEYS, T.ArrayType(T.StringType())),
        T.StructField(FEED_VALUES, T.ArrayType(T.StringType())),
    ]
)


@dataclass(frozen=True)
class CompiledLevel:
    """One level, analyzed.

    Attributes:
        level: What is to be done.
        feeds: The aggregates whose answers are its rows.
        types: Of keys and values.
        values: The aggregated values of which only the presence matters.
    """

    level: Level
    feeds: tuple[FeedingAggregate, ...]
    types: Types
    presence_only: frozenset[str]

    @property
    def slots(self) -> tuple[AggregateSlot, ...]:
        """The aggregates of its takers."""
        return tuple(slot for nesting in self.level.nestings for slot in nesting.slots)

    @property
    def outputs(self) -> tuple[Output, ...]:
        """What its queries ask of its partials, which later levels hand on to the last one."""
        asked_nestings = (nesting for nesting in self.level.nestings if nesting.is_asked)
        return tuple(slot_output(slot, self.types) for nesting in asked_nestings for slot in nesting.slots)

    @property
    def nested(self) -> dict[int, Closing]:
        """When the windows of its takers close, by their `Query.definition_id`."""
        return {
            nesting.taker.definition_id: Closing(nesting.windows, delay_of_stream(nesting.taker.stream))
            for nesting in self.level.nestings
        }

    def answers(
        self, below: DataFrame, drop_decisions: KnownDrops = NOTHING_KNOWN, listener: Listener | None = None
    ) -> StraightLine:
        """Return the answers that are its rows, with what the operators over them make of these.

        Args:
            below: The window partials of the level below. They stay among the rows, but for those of its feeds.
            drop_decisions: Which windows are dropped.
            listener: Told what is behind the answers.
        """
        return _line(finished_answers(below, self.feeds, drop_decisions, listener), self.level.programs, self.feeds)

    def partials(self, below: DataFrame, drop_decisions: KnownDrops, listener: Listener | None = None) -> DataFrame:
        """Return the window partials of its takers, and those of all others as they were.

        Args:
            below: The window partials of the level below.
            drop_decisions: Which windows are dropped.
            listener: Told what is behind the answers that are its rows.
        """
        if not self.feeds:
            return _merged(_with_windows(_without_feeds(below), below.schema, {}), below.schema)
        line = self.answers(below, drop_decisions, listener)
        entries = [
            self._entry(line, number, nesting, slot)
            for number, nesting in enumerate(self.level.nestings)
            for slot in _distinct(nesting.slots)
        ]
        # Answers are few, and their entries grow with the number of takers: none of it is fused.
        for_all = F.when(F.col(FEED).isNotNull(), F.array(*entries)).alias("entries")
        said = line.rows.select(*below.columns, FEED, unfused(F.col(FEED_TIME)).alias(FEED_TIME), for_all)
        wanted = said.select(*below.columns, FEED, FEED_TIME, F.explode_outer("entries").alias("entry")).where(
            F.col(FEED).isNull() | F.col("entry").isNotNull()
        )
        return _merged(_with_windows(wanted, below.schema, self.nested), below.schema)

    def _entry(self, line: StraightLine, number: int, nesting: Nesting, slot: AggregateSlot) -> Column:
        """What an answer says to a taker; null where it does not get there, or is not wanted."""
        bit = F.lit(1 << min(number, MOST_BITS)).cast("bigint")
        is_wanted = (F.col(FEED) == nesting.feed.definition_id) & (F.col(FEED_WANTED).bitwiseAND(bit) != 0)
        passes = functools.reduce(operator.and_, line.columns(nesting.conditions), is_wanted)
        keys = [(F.when(passes, F.expr(sql)), self.types[sql]) for sql in slot.keys]
        key_long, key_text = key_columns(keys)
        value = self._value(slot, passes)
        collected = {one.slot for one in nesting.slots if slot_call(one).user is not None}
        window = nesting.windows[-1]
        entry = F.struct(
            F.lit(nesting.taker.definition_id).cast("bigint").alias("definition_id"),
            F.lit(slot.slot).cast("bigint").alias("slot"),
            key_long.alias("key_long"),
            key_text.alias("key_text"),
            *[getattr(value, name).alias(name) for name in ("number", "long", "decimal", "text")],
            F.when(F.lit(slot.slot in collected), F.col(FEED_TIME)).alias("instant"),
            *[
                F.lit(length).cast("bigint").alias(name)
                for name, length in (
                    ("size", window.size_microseconds),
                    ("slide", window.slide_microseconds),
                    ("offset", window.offset_microseconds),
                )
            ],
        )
        return F.when(passes, entry)

    def _value(self, slot: AggregateSlot, passes: Column) -> CarriedValue:
        if slot.value is None:
            return carried(None, None)
        guarded = F.when(passes, F.expr(slot.value))
        return presence(guarded) if slot.value in self.presence_only else carried(guarded, self.types[slot.value])


def compile_levels(
    spark: SparkSession,
    queries: Sequence[Query],
    first: Mapping[str, tuple[Sequence[AggregateSlot], Types]],
    depth: int,
) -> tuple[CompiledLevel, ...]:
    """Lay the levels above the windows of rows out.

    Args:
        spark: The session.
        queries: Of the network.
        first: Per stream of the time domain, the slots of its aggregates, foundations among them, and their types.
        depth: How many aggregates follow one another at most, as state is made for.

    Raises:
        InvalidNetworkError: As `slot_types`.
        InvalidExpressionError: As `slot_types`.
    """
    slots = [slot for of_stream, _ in first.values() for slot in of_stream]
    types = {sql: kind for _, of_stream in first.values() for sql, kind in of_stream.items()}
    streams = [query.stream for query in queries if query.stream.name in first]
    levels = nested_levels(queries, list(dict.fromkeys(streams)))
    compiled_levels: list[CompiledLevel] = []
    for level in levels:
        compiled_levels.append(_compiled(spark, level, slots, types, queries))
        slots, types = list(compiled_levels[-1].slots), dict(compiled_levels[-1].types)
    nothing = CompiledLevel(Level((), ()), (), {}, frozenset())
    return (*compiled_levels, *[nothing] * (depth - 1 - len(compiled_levels)))


def _compiled(
    spark: SparkSession, level: Level, slots: Sequence[AggregateSlot], types: Types, queries: Sequence[Query]
) -> CompiledLevel:
    feeds = tuple(_feed(feed, slots, types, level, queries) for feed in level.feeds)
    empty = spark.createDataFrame([], _FEED_SCHEMA)
    line = _line(empty, level.programs, feeds)
    of_takers = [slot for nesting in level.nestings for slot in nesting.slots]
    by_stream = {program.stream.name: program for program in level.programs}
    level_types: dict[str, T.DataType] = {}
    for name, program in by_stream.items():
        level_types |= slot_types(line, program, [slot for slot in of_takers if slot.query.stream.name == name])
    return CompiledLevel(level, feeds, level_types, presence_only(of_takers))


def _feed(
    feed: Query, slots: Sequence[AggregateSlot], types: Types, level: Level, queries: Sequence[Query]
) -> FeedingAggregate:
    aggregate = aggregate_of(feed)
    feed_slots = {slot.aggregate: slot for slot in slots if slot.query.definition_id == feed.definition_id}
    in_order = [feed_slots[name] for name, _ in aggregate.calls]
    by_name = {query.name: query for query in queries}
    takers = {
        number: tuple(_asker(by_name[name], feed) for name in nesting.askers)
        for number, nesting in enumerate(level.nestings)
        if nesting.feed.definition_id == feed.definition_id
    }
    return FeedingAggregate(
        definition_id=feed.definition_id,
        aggregate=aggregate,
        outputs=tuple(slot_output(slot, types) for slot in in_order),
        key_types=tuple(types[sql] for sql in in_order[0].keys),
        value_types=tuple(
            T.DoubleType() if isinstance(answer, Derivation) else _value_type(feed_slots[name], types)
            for name, answer in aggregate.aggregates
        ),
        takers=takers,
    )


def _asker(query: Query, feed: Query) -> Asker:
    return Asker(query.definition_id, query.windows[len(feed.windows) :])


def _value_type(slot: AggregateSlot, types: Types) -> T.DataType:
    call = slot_call(slot)
    if call.kind is AggregateKind.COUNT or slot.value is None:
        return T.LongType()
    return aggregate_type(call, types[slot.value])


def _line(rows: DataFrame, programs: Sequence[StreamProgram], feeds: Sequence[FeedingAggregate]) -> StraightLine:
    """Give answers the columns that the operators over them know, and run these."""
    by_aggregate: dict[Aggregate, list[FeedingAggregate]] = {}
    for feed in feeds:
        by_aggregate.setdefault(feed.aggregate, []).append(feed)
    is_of = {
        answer_place(aggregate).conditions[0]: F.coalesce(
            F.col(FEED).isin([feed.definition_id for feed in alike]), F.lit(False)
        )
        for aggregate, alike in by_aggregate.items()
    }
    read = rows.withColumns({TIME: F.col(FEED_TIME), UNREADABLE: F.lit(None).cast("string"), **is_of})
    columns = dict(named for aggregate, alike in by_aggregate.items() for named in _answer_columns(aggregate, alike[0]))
    line = StraightLine(read.withColumns({TIME: unfused(F.col(TIME)), **columns}), {})
    for program in programs:
        fused = len(program.instructions) <= MOST_FUSED
        before = line.rows
        try:
            line = run_instructions(before, program.instructions, frozenset(), fused=fused)
        except AnalysisException as error:
            raise refused_instruction(
                program,
                lambda some, rows=before, fused=fused: run_instructions(rows, some, frozenset(), fused=fused).rows,  # type: ignore[misc]
            ) from error
    return line


def _answer_columns(aggregate: Aggregate, feed: FeedingAggregate) -> Iterator[tuple[str, Column]]:
    """The typed columns of answers, null in all other rows."""
    place = answer_place(aggregate)
    names = list(aggregate.columns)
    is_answer = F.col(place.conditions[0])
    start, end = F.col(FEED_TIME), F.col(FEED_TIME) + aggregate.over.size_microseconds
    for name, instant in zip(names, (start, end), strict=False):
        if aggregate.over.is_numbered:
            bound = (instant / MICROSECONDS_PER_NUMBER).cast("bigint")
        else:
            bound = F.timestamp_micros(instant)
        yield place.columns[name], F.when(is_answer, bound)
    keys = [(FEED_KEYS, index, kind) for index, kind in enumerate(feed.key_types)]
    values = [(FEED_VALUES, index, kind) for index, kind in enumerate(feed.value_types)]
    for name, (texts, index, kind) in zip(names[2:], [*keys, *values], strict=True):
        text = F.when(is_answer, F.get(texts, F.lit(index)))
        yield place.columns[name], typed_text(text, kind)


def _distinct(slots: Sequence[AggregateSlot]) -> list[AggregateSlot]:
    return list({slot.slot: slot for slot in slots}.values())


def _without_feeds(below: DataFrame) -> DataFrame:
    nothing = F.lit(None)
    columns = ("definition_id", "slot", "key_long", "size", "slide", "offset")
    entry = F.struct(
        *[nothing.cast("bigint").alias(name) for name in columns],
        nothing.cast("string").alias("key_text"),
        nothing.cast("double").alias("number"),
        nothing.cast("bigint").alias("long"),
        nothing.cast("bigint").alias("instant"),
        nothing.cast("decimal(38,0)").alias("decimal"),
        nothing.cast("string").alias("text"),
    )
    # Null in a way that Spark does not see through.
    is_feed = {FEED: F.when(F.col("slot") < 0, F.lit(0).cast("bigint")), FEED_TIME: F.lit(0).cast("bigint")}
    return below.select("*", *[column.alias(name) for name, column in is_feed.items()], entry.alias("entry"))


def _with_windows(rows: DataFrame, schema: T.StructType, nested: Nested) -> DataFrame:
    """Copy answers to all windows that hold them, as partials of one value each; all else stays as it is."""
    is_new = F.col(FEED).isNotNull()
    slide, offset = F.col("entry.slide"), F.col("entry.offset")
    last = F.col(FEED_TIME) - F.pmod(F.col(FEED_TIME) - offset, slide)
    room = F.col("entry.size") - (F.col(FEED_TIME) - last) - 1
    first = last - (room - F.pmod(room, slide))
    window_start = F.col("window_start")
    starts = F.when(is_new, F.sequence(first, last, slide)).otherwise(F.array(window_start))
    copied = rows.select("*", F.explode_outer(starts).alias("start"))
    definition = F.when(is_new, F.col("entry.definition_id")).otherwise(F.col("definition_id"))
    closes = F.when(is_new, closing_of(nested, F.col("entry.definition_id"), F.col("start"), F.col("start"))).otherwise(
        F.unix_micros("closes")
    )
    key = {name: F.when(is_new, F.col(f"entry.{name}")).otherwise(F.col(name)) for name in ("key_long", "key_text")}
    of_value = partials_of_a_value("entry", schema)
    kinds = {field.name: field.dataType for field in schema.fields}
    names = [name for name in schema.names if name not in WINDOW_KEY]
    return copied.select(
        closing_time(closes),
        unfused(F.col("start")).alias("window_start"),
        F.when(is_new, F.lit(ANSWER)).otherwise(F.col("kind")).alias("kind"),
        definition.alias("definition_id"),
        F.when(is_new, F.col("entry.slot")).otherwise(F.col("slot")).alias("slot"),
        *[column.alias(name) for name, column in held(key["key_long"], key["key_text"]).items()],
        *[
            F.when(is_new, of_value[name].cast(kinds[name])).otherwise(F.col(name)).alias(name)
            if name in of_value
            else F.col(name)
            for name in names
        ],
        F.when(is_new, F.col("entry.number")).alias("value_number"),
        F.when(is_new, F.col("entry.long")).alias("value_long"),
    )


def _merged(rows: DataFrame, schema: T.StructType) -> DataFrame:
    """Put partials of one window, group and value together."""
    names = [name for name in schema.names if name not in WINDOW_KEY]
    merged = rows.groupBy(*WINDOW_KEY).agg(*merged_partials([schema[name] for name in names]))
    return merged.withColumns(state_key_columns()).select(*schema.names)
