"""A time domain of a network as DataFrames: one pass over each stream, shared slices, windows, answers."""

from __future__ import annotations

import functools
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from pyspark.accumulators import Accumulator
from pyspark.errors import AnalysisException
from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F
from pyspark.sql import types as T

from streamshed.answering.output import Output, Shape
from streamshed.answering.value_kind import Carriage, Notation, ValueKind
from streamshed.errors import InvalidExpressionError, InvalidNetworkError
from streamshed.network.aggregate import AggregateCall, AggregateKind
from streamshed.network.query import Query
from streamshed.network.stream import Stream
from streamshed.sharing.inlining import inlined_tests
from streamshed.sharing.instructions import Match, Test
from streamshed.sharing.large_values import sized_of_stream
from streamshed.sharing.network_work import AggregateSlot, StreamWork, stream_work
from streamshed.spark.analysis import complaint, first_refused, readable, refused_instruction, written_names
from streamshed.spark.call_costs import CallCosts
from streamshed.spark.group_keys import is_long_key
from streamshed.spark.internal_names import CARRIER_FROM, CARRIER_OPENED, OPEN, OPENED
from streamshed.spark.manifest import Routed
from streamshed.spark.passing import passes
from streamshed.spark.retained_rows import whole_words
from streamshed.spark.row_answers import row_partials
from streamshed.spark.sampled_rows import Admission, sampled_rows
from streamshed.spark.sketches import Sketches
from streamshed.spark.slice_columns import slice_start
from streamshed.spark.slice_partials import slice_partials
from streamshed.spark.slice_placement import common_grid, has_one_grid, placed
from streamshed.spark.state_layout import StateLayout
from streamshed.spark.straight_line import StraightLine, Taker, run_instructions
from streamshed.spark.stream_rows import ValueTypes, stream_rows
from streamshed.spark.unfused import MOST_FUSED
from streamshed.spark.value_kind import MOST_DIGITS, is_carried_exactly, value_kind
from streamshed.spark.window_partials import window_partials

_SUMS = frozenset(
    {
        AggregateKind.SUM,
        AggregateKind.AVG,
        AggregateKind.VARIANCE,
        AggregateKind.VAR_POP,
        AggregateKind.STDDEV,
        AggregateKind.STDDEV_POP,
    }
)
_NUMERIC = _SUMS | {AggregateKind.QUANTILE}
_EXTREMES = frozenset({AggregateKind.MIN, AggregateKind.MAX})
_DISPERSIONS = _SUMS - {AggregateKind.SUM, AggregateKind.AVG}


@dataclass(frozen=True)
class CompiledStream:
    """One stream's straight line on Spark, analyzed.

    Attributes:
        work: What is to be done.
        line: How.
        values: Types of keys and values.
        outputs: What its queries answer.
        plan: What a micro-batch is told, one row; None: nothing, as in batch mode.
    """

    work: StreamWork
    line: StraightLine
    values: ValueTypes
    outputs: tuple[Output, ...]
    plan: DataFrame | None = None

    def rows(self, layout: StateLayout) -> DataFrame:
        """The rows on their way into slices; see `stream_rows`."""
        return stream_rows(self.line, self.work, self.values, layout)


def compile_stream(
    stream: Stream,
    queries: Sequence[Query],
    source: DataFrame,
    admission: Admission,
    costs: Accumulator[CallCosts] | None = None,
) -> CompiledStream:
    """Lay the queries over a stream out on a DataFrame of its source.

    Args:
        stream: The stream.
        queries: Those of the network; others' are passed over.
        source: Its rows.
        admission: How they are admitted.
        costs: Told what user functions take; None: nobody is.

    Raises:
        InvalidNetworkError: Listing aggregates of types that they do not take, and keys that cannot be grouped by.
        InvalidExpressionError: An expression that Spark can parse, but makes no sense of: an unknown function, types
            that do not go together.
    """
    work = stream_work(stream, queries)
    told = _admission(admission, work)
    admitted = sampled_rows(source, stream, told)
    fused = work.expression_count <= MOST_FUSED
    inlined = frozenset() if fused else inlined_tests(work.program.instructions, work.selections)
    try:
        line = run_instructions(
            admitted,
            work.program.instructions,
            inlined,
            fused=fused,
            gates=_gates(work, told.plan),
            costs=costs,
            takers=_takers(work),
        )
    except AnalysisException as error:
        raise refused_instruction(
            work.program, lambda first: run_instructions(admitted, first, frozenset(), fused=fused).rows
        ) from error
    types = _types(line, work)
    problems = [problem for slot in work.slots for problem in _type_problems(slot, types)]
    if problems:
        raise InvalidNetworkError(*problems)
    outputs = (
        *(_output(slot, types) for slot in work.slots),
        *(_row_output(query) for query in work.row_queries),
    )
    return CompiledStream(work, line, ValueTypes(types, _presence_only(work.slots)), outputs, told.plan)


def _admission(admission: Admission, work: StreamWork) -> Admission:
    """Say what rows may be chosen by, and in which slices what the plan tells of lies.

    That is found out on the plan's one row, not on every row of the stream.
    """
    if admission.plan is None:
        return admission
    size_columns = admission.size_columns or tuple(sorted({found.column for found in sized_of_stream(work)}))
    classes = work.classes
    grid = common_grid(classes)
    opened = slice_start(grid, F.col(OPEN)) if has_one_grid(classes) else F.col(OPEN)
    carried = slice_start(grid, F.greatest(OPEN, CARRIER_FROM))
    plan = admission.plan.withColumns({OPENED: opened, CARRIER_OPENED: carried})
    return Admission(plan, size_columns, whole_words(work) if work.may_drop_windows else ())


def _gates(work: StreamWork, plan: DataFrame | None) -> dict[str, Column]:
    """The samplers before those instructions that are worth one."""
    if plan is None:
        return {}
    gated = zip(work.program.instructions, work.gating.instructions, strict=True)
    return {
        one.matched if isinstance(one, Match) else one.column: passes(work.gating.instruction_place(index))
        for index, (one, users) in enumerate(gated)
        if users
    }


def _takers(work: StreamWork) -> list[Taker]:
    """The bits of masks, and the set-valued queries."""
    of_bits = [
        Taker(passes((index, bit)), conditions)
        for index, sharing_class in enumerate(work.classes)
        for bit, conditions in enumerate(sharing_class.selections)
    ]
    of_rows = [
        Taker(passes(work.gating.row_query_place(query.definition_id)), work.program.places[query.rows].conditions)
        for query in work.row_queries
    ]
    return [*of_bits, *of_rows]


def needed_layout(streams: Sequence[CompiledStream]) -> StateLayout:
    """Return the state layout that the queries need at least."""
    outputs = [output for stream in streams for output in stream.outputs]
    return StateLayout(
        decimals=any(_travels(o, Carriage.DECIMAL) and o.shape.function is not AggregateKind.COUNT for o in outputs),
        texts=any(_travels(o, Carriage.TEXT) and o.shape.function in _EXTREMES for o in outputs),
        dispersions=any(o.shape.function in _DISPERSIONS for o in outputs),
        quantiles=any(o.shape.share is not None for o in outputs),
        distincts=any(o.shape.function is AggregateKind.DISTINCT for o in outputs),
        rows=any(stream.work.row_queries for stream in streams),
    )


def compiled_partials(
    streams: Sequence[CompiledStream],
    rows: Mapping[str, DataFrame],
    classes: Sequence[Routed],
    layout: StateLayout,
) -> DataFrame:
    """Return the window partials of a time domain, and the rows of its set-valued queries among them.

    Args:
        streams: Its streams.
        rows: Per stream, its rows on their way into slices, watermarked where they stream.
        classes: Sharing classes whose slices may be in state.
        layout: The state layout.
    """
    present = [sharing_class for stream in streams for sharing_class in stream.work.classes]
    kept = [placed(rows[stream.work.stream.name], stream.work.classes, stream.work.gating) for stream in streams]
    extremes = any(output.shape.function in _EXTREMES for output in outputs_of_streams(streams))
    sketches = Sketches.of(outputs_of_streams(streams), present)
    united = functools.reduce(DataFrame.unionByName, kept)
    sizes = any(tuple(sized_of_stream(stream.work)) for stream in streams)
    spreads = any(output.shape.function in _DISPERSIONS for output in outputs_of_streams(streams))
    slices = slice_partials(united, layout, extremes=extremes, spreads=spreads, sizes=sizes, sketches=sketches)
    tolerant = {slot.query.definition_id for stream in streams for slot in stream.work.slots if slot.query.gap_windows}
    partials = window_partials(slices, classes, present, layout, sketches, tolerant)
    if layout.rows:
        branches = [row_partials(stream.line, stream.work, partials) for stream in streams]
        partials = functools.reduce(DataFrame.unionByName, branches, partials)
    return partials


def readings(layout: StateLayout) -> int:
    """Return how often `compiled_partials` reads each row: once more where rows themselves are answers."""
    return 2 if layout.rows else 1


def types_of_streams(streams: Sequence[CompiledStream]) -> dict[int, dict[str, str]]:
    """Return, by `Query.definition_id`, the types that Spark found for the keys and values of the queries."""
    found: dict[int, dict[str, str]] = {}
    for stream in streams:
        for slot in stream.work.slots:
            texts = {f"key {number}": key for number, key in enumerate(slot.keys, 1)}
            if slot.value is not None:
                texts[f"value {slot.slot + 1}"] = slot.value
            named = {what: stream.values.types[sql].simpleString() for what, sql in texts.items()}
            found.setdefault(slot.query.definition_id, {}).update(named)
    return found


def outputs_of_streams(streams: Sequence[CompiledStream]) -> list[Output]:
    """Return what the queries ask of the window partials."""
    return [output for stream in streams for output in stream.outputs]


def _types(line: StraightLine, work: StreamWork) -> dict[str, T.DataType]:
    """Ask Spark for the types of all keys and values at once, and that tests that are no columns are true or false."""
    texts = sorted({sql for slot in work.slots for sql in (*slot.keys, slot.value) if sql is not None})
    asked = [*(F.expr(sql).alias(f"c{index}") for index, sql in enumerate(texts)), *line.inlined.values()]
    if not asked:
        return {}
    try:
        schema = line.rows.select(*asked).schema
    except AnalysisException as error:
        raise _refused_expression(line, work, texts) from error
    return {sql: field.dataType for sql, field in zip(texts, schema.fields[: len(texts)], strict=True)}


def _refused_expression(line: StraightLine, work: StreamWork, texts: Sequence[str]) -> InvalidExpressionError:
    names = written_names(work.program)
    tests = {one.column: one.sql for one in work.program.instructions if isinstance(one, Test)}
    columns = {sql: F.expr(sql) for sql in texts} | {tests[name]: column for name, column in line.inlined.items()}
    refused, why = first_refused(list(columns), lambda some: line.rows.select(*[columns[sql] for sql in some]))
    users = {slot.query.name for slot in work.slots if refused in (*slot.keys, slot.value)}
    whose = f'query "{min(users)}"' if users else f'stream "{work.stream.name}"'
    return InvalidExpressionError(f'{whose}, "{readable(refused, names)}": {complaint(why, names)}')


def _call(slot: AggregateSlot) -> AggregateCall:
    aggregate = slot.query.aggregate
    if aggregate is None:
        raise TypeError("a set-valued query has no aggregates")
    return dict(aggregate.aggregates)[slot.aggregate]


def _presence_only(slots: Sequence[AggregateSlot]) -> frozenset[str]:
    functions: dict[str, set[AggregateKind]] = {}
    for slot in slots:
        if slot.value is not None:
            functions.setdefault(slot.value, set()).add(_call(slot).kind)
    return frozenset(value for value, kinds in functions.items() if kinds == {AggregateKind.COUNT})


def _type_problems(slot: AggregateSlot, types: Mapping[str, T.DataType]) -> list[str]:
    kind = _call(slot).kind
    problems = [
        f'query "{slot.query.name}": cannot group by {types[key].simpleString()} ("{key}")'
        for key in slot.keys
        if isinstance(types[key], (T.MapType, T.VariantType))
    ]
    if slot.value is None or kind is AggregateKind.COUNT:
        return problems
    found = types[slot.value]
    travels = value_kind(found)
    if not is_carried_exactly(found):
        problems.append(
            f'query "{slot.query.name}": {kind} does not take {found.simpleString()} (aggregate "{slot.aggregate}"):'
            f" cast it to a decimal of at most {MOST_DIGITS} digits after the point"
        )
    if travels is None or (kind in _NUMERIC and not travels.is_summable):
        problems.append(
            f'query "{slot.query.name}": {kind} does not take {found.simpleString()} (aggregate "{slot.aggregate}"):'
            " cast it to a number first?"
        )
    return problems


def _output(slot: AggregateSlot, types: Mapping[str, T.DataType]) -> Output:
    call = _call(slot)
    counts_rows = call.argument is None
    return Output(
        query=slot.query.name,
        stream=slot.query.stream.name,
        aggregate=slot.aggregate,
        shape=Shape(
            function=call.kind,
            counts_rows=counts_rows,
            value=None if counts_rows or slot.value is None else value_kind(types[slot.value]),
            key_notations=tuple(_key_notation(types[key]) for key in slot.keys),
            share=call.share,
        ),
        definition_id=slot.query.definition_id,
        slot=slot.slot,
    )


def _row_output(query: Query) -> Output:
    return Output(
        query=query.name,
        stream=query.stream.name,
        aggregate="",
        shape=Shape(AggregateKind.COUNT, counts_rows=True, value=None, key_notations=()),
        definition_id=query.definition_id,
        slot=0,
    )


def _key_notation(kind: T.DataType) -> Notation:
    if not is_long_key(kind):
        return Notation.TEXT
    travels = value_kind(kind)
    return Notation.NUMBER if travels is None else travels.notation


def _travels(output: Output, carriage: Carriage) -> bool:
    return isinstance(output.shape.value, ValueKind) and output.shape.value.carriage is carriage
