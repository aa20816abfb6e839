"""A time domain of a network as DataFrames: one pass over each stream, shared slices, windows, answers."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache, cached_property, partial

from pyspark.accumulators import Accumulator
from pyspark.errors import AnalysisException
from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F
from pyspark.sql import types as T

from streamshed.answering.table.output import Output, Shape
from streamshed.columnar.untranslatable import Untranslatable
from streamshed.network.model.query import Query
from streamshed.network.model.stream import Stream
from streamshed.network.terms.aggregate import AggregateKind
from streamshed.sharing.inlining import inlined_tests
from streamshed.sharing.instructions import Call, Match
from streamshed.sharing.large_values import sized_of_stream
from streamshed.sharing.stream_work import StreamWork, stream_work
from streamshed.spark.admit.admission import Admission
from streamshed.spark.admit.passing import passes
from streamshed.spark.admit.retained_rows import whole_words
from streamshed.spark.admit.sampled_rows import sampled_rows
from streamshed.spark.checkpoint.state_layout import StateLayout
from streamshed.spark.columns.summed_rows import ColumnWay, column_way
from streamshed.spark.common.call_costs import CallCosts
from streamshed.spark.common.internal_names import CARRIER_FROM, CARRIER_OPENED, NOW, OPEN, OPENED
from streamshed.spark.common.unfused import MOST_FUSED
from streamshed.spark.operators.analysis import refused_instruction
from streamshed.spark.operators.slot_types import presence_only, slot_output, slot_types
from streamshed.spark.operators.straight_line import StraightLine, Taker, run_instructions
from streamshed.spark.plan.plan_columns import Plan
from streamshed.spark.windows.slice_placement import common_grid, has_one_grid, slice_start
from streamshed.spark.windows.stream_rows import ValueTypes, stream_rows


@dataclass(frozen=True)
class CompiledStream:
    """One stream's straight line on Spark, analyzed.

    Attributes:
        work: What is to be done.
        lay_out: Lays out how.
        values: Types of keys and values.
        outputs: What its queries answer, from slices and rows.
        plan: What a micro-batch is told; None: nothing, as in batch mode.
        count_outputs: What its queries answer whose windows hold so many rows.
        summed: Of a joined stream, the sharing classes of which results may be summed up already.
        way: How its rows are taken by columns; None: they go through Spark one by one.
        row_by_row: Why they do.
    """

    work: StreamWork
    lay_out: Callable[[], StraightLine]
    values: ValueTypes
    outputs: tuple[Output, ...]
    plan: Plan | None = None
    count_outputs: tuple[Output, ...] = ()
    summed: frozenset[int] = frozenset()
    way: ColumnWay | None = None
    row_by_row: str | None = None

    @property
    def reads_files(self) -> bool:
        """Whether tasks read its rows themselves, and Spark has nothing to do for each."""
        return self.way is not None and self.way.reads_files

    @property
    def skips_blocks(self) -> bool:
        """Whether blocks of its files may be left unread, where state holds sums of their cohorts."""
        return self.way is not None and self.way.skips_blocks

    @property
    def reads_topics(self) -> bool:
        """Whether tasks read its records of topics, and bring its carrier with them."""
        return self.way is not None and self.way.reads_topics

    @cached_property
    def line(self) -> StraightLine:
        """How it is done. It is laid out when it is first asked for: that takes thousands of calls of Java."""
        return self.lay_out()

    def rows(self, layout: StateLayout) -> DataFrame:
        """The rows on their way into slices; see `stream_rows`."""
        return stream_rows(self.line, self.work, self.values, layout, self.summed)


@dataclass(frozen=True)
class StreamSource:
    """What the rows of a stream are read by.

    Attributes:
        rows: The rows.
        files: The files that they are in, if tasks may read them; in the place of `rows` then.
        tasks: How many tasks do; 0: as many as can run now.
        summed: See `CompiledStream`.
    """

    rows: DataFrame
    files: DataFrame | None = None
    tasks: int = 0
    summed: frozenset[int] = frozenset()


def compile_stream(
    stream: Stream,
    queries: Sequence[Query],
    source: StreamSource,
    admission: Admission,
    costs: Accumulator[CallCosts] | None = None,
    types: Mapping[str, T.DataType] | None = None,
) -> CompiledStream:
    """Lay the queries over a stream out on a DataFrame of its source.

    Args:
        stream: The stream.
        queries: Of the network; those over other streams are passed over.
        source: Its rows.
        admission: How they are admitted.
        costs: Collects what user functions cost; None: nothing does.
        types: What Spark makes of keys and values, by SQL text, where it was asked before; None: it is asked.

    Raises:
        InvalidNetworkError: Listing aggregates of types that they do not take, and keys that cannot be grouped by.
        InvalidExpressionError: An expression that Spark can parse, but makes no sense of: an unknown function, types
            that do not go together.
    """
    work = stream_work(stream, queries)
    stream_admission = _admission(admission, work)
    slots = (*work.slots, *work.count_slots)

    def laid_out(way: ColumnWay | None = None) -> StraightLine:
        rows = source.rows if way is None else way.source(source.rows)
        admitted = sampled_rows(rows, stream, stream_admission, None if way is None else way.rows)
        return _line(admitted, work, stream_admission.plan, costs)

    by_rows = cache(laid_out)
    types = slot_types(by_rows(), work.program, slots) if types is None else types
    way, row_by_row = None, None
    try:
        way = column_way(source.rows, work, types, stream_admission, source.files, source.tasks)
    except Untranslatable as reason:
        row_by_row = str(reason)
    return CompiledStream(
        work,
        by_rows if way is None else partial(laid_out, way),
        ValueTypes(types, presence_only(slots)),
        outputs=(
            *(slot_output(slot, types) for slot in work.slots),
            *(_row_output(query) for query in work.set_valued),
        ),
        plan=stream_admission.plan,
        count_outputs=tuple(slot_output(slot, types) for slot in work.count_slots),
        summed=source.summed,
        way=way,
        row_by_row=row_by_row,
    )


def _line(
    admitted: DataFrame, work: StreamWork, plan: Plan | None, costs: Accumulator[CallCosts] | None
) -> StraightLine:
    fused = work.expression_count <= MOST_FUSED
    inlined = frozenset() if fused else inlined_tests(work.program.instructions, work.selections)
    has_calls = any(isinstance(instruction, Call) for instruction in work.program.instructions)
    try:
        return run_instructions(
            admitted,
            work.program.instructions,
            inlined,
            fused=fused,
            gates=_gates(work, plan),
            costs=costs,
            takers=_takers(work) if has_calls else (),
        )
    except AnalysisException as error:
        raise refused_instruction(
            work.program, lambda first: run_instructions(admitted, first, frozenset(), fused=fused).rows
        ) from error


def _admission(admission: Admission, work: StreamWork) -> Admission:
    """Add the columns that rows may be chosen by, and the slices in which the plan's instants lie.

    These slices are computed on the plan's one row, not on every row of the stream.
    """
    if admission.plan is None:
        return admission
    size_columns = admission.size_columns or tuple(sorted({found.column for found in sized_of_stream(work)}))
    classes = work.classes
    grid = common_grid(classes)
    opened = slice_start(grid, F.col(OPEN)) if has_one_grid(classes) else F.col(OPEN)
    carried = slice_start(grid, F.greatest(OPEN, CARRIER_FROM))
    plan = admission.plan
    if not plan.prefix:
        plan = Plan(plan.row.withColumns({OPENED: opened, CARRIER_OPENED: carried, NOW: F.lit(None).cast("bigint")}))
    leaves_out = work.may_drop_windows or admission.drops_rows
    whole = whole_words(work) if leaves_out else ()
    return replace(admission, plan=plan, size_columns=size_columns, whole_words=whole, cohort_keys=work.cohort_keys)


def _gates(work: StreamWork, plan: Plan | None) -> dict[str, Column]:
    """The samplers before those instructions that are worth one."""
    if plan is None:
        return {}
    gated = zip(work.program.instructions, work.gating.instructions, strict=True)
    return {
        instruction.matched if isinstance(instruction, Match) else instruction.column: passes(
            work.gating.instruction_place(index)
        )
        for index, (instruction, users) in enumerate(gated)
        if users
    }


def _takers(work: StreamWork) -> list[Taker]:
    """The bits of masks, and the queries that take rows one by one."""
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


def _row_output(query: Query) -> Output:
    return Output(
        query=query.name,
        stream=query.stream.name,
        aggregate="",
        shape=Shape(AggregateKind.COUNT, counts_rows=True, value=None, key_notations=()),
        definition_id=query.definition_id,
        slot=0,
    )
