"""The instructions of a stream as columns of one DataFrame."""

from __future__ import annotations

import functools
import operator
from collections.abc import Mapping, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass, field, replace
from typing import assert_never

from pyspark.accumulators import Accumulator
from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F
from pyspark.sql import types as T

from streamshed.errors import InvalidNetworkError
from streamshed.network.sql.expression import quoted
from streamshed.sharing.instructions import Call, Define, Instruction, Match, Test
from streamshed.sharing.layers import layers
from streamshed.spark.common.call_costs import CallCosts
from streamshed.spark.common.collation import collation_of, collation_problems
from streamshed.spark.common.internal_names import SUMS, TIME, UNREADABLE
from streamshed.spark.common.unfused import unfused
from streamshed.spark.common.valid_texts import valid_text
from streamshed.spark.operators.user_function import guarded_call
from streamshed.spark.relations.relation_frame import relation_frame


@dataclass(frozen=True)
class Taker:
    """Who takes rows at the end of a straight line.

    Attributes:
        passes: Whether a row passes its sampler.
        conditions: What a row has to pass besides.
    """

    passes: Column
    conditions: tuple[str, ...]


@dataclass(frozen=True)
class StraightLine:
    """The rows of a stream with all that is computed for them.

    Attributes:
        rows: The rows, with `TIME` and `UNREADABLE`.
        inlined: The conditions that are evaluated where they are used; the others are columns.
        gates: By the column it computes, whether a row passes the sampler before an instruction.
        costs: Told what user functions take.
        takers: Who takes rows at its end.
    """

    rows: DataFrame
    inlined: Mapping[str, Column]
    gates: Mapping[str, Column] = field(default_factory=dict)
    costs: Accumulator[CallCosts] | None = None
    takers: Sequence[Taker] = ()

    def pass_all(self, conditions: Sequence[str]) -> Column:
        """Whether a row, which may be unreadable, passes all of some conditions."""
        return functools.reduce(operator.and_, self.columns(conditions), F.col(UNREADABLE).isNull())

    def reaches(self, instruction: Instruction) -> Column | None:
        """Whether a row reaches an instruction; None: all do."""
        gate = self.gates.get(instruction.matched if isinstance(instruction, Match) else instruction.column)
        if gate is None:
            return self.pass_all(instruction.guard) if instruction.guard or self._has_sums else None
        return gate & self.pass_all(instruction.guard)

    @property
    def _has_sums(self) -> bool:
        """Whether there are rows that have no columns: nothing is to be computed of them."""
        return SUMS in self.rows.columns

    def columns(self, conditions: Sequence[str]) -> list[Column]:
        """The conditions, each as a column that is never null."""
        return [self.inlined.get(name, F.col(name)) for name in conditions]


def run_instructions(
    rows: DataFrame,
    instructions: Sequence[Instruction],
    inlined: frozenset[str],
    *,
    fused: bool,
    gates: Mapping[str, Column] | None = None,
    costs: Accumulator[CallCosts] | None = None,
    takers: Sequence[Taker] = (),
) -> StraightLine:
    """Add the columns that the instructions compute.

    Args:
        rows: The rows, with `TIME` and `UNREADABLE`.
        instructions: In an order that satisfies their dependencies.
        inlined: The tests that are not to be columns.
        fused: Whether there are few enough expressions to be compiled as one.
        gates: By the column that an instruction adds (of a lookup, `matched`), the sampler before it.
        costs: Told what user functions take; None: nobody is.
        takers: Who takes rows at its end: one that none of them can take any more does not go to user functions.
    """
    line = StraightLine(rows, {}, gates or {}, costs, takers)
    computed_columns: set[str] = set()
    for layer in layers(instructions, inlined):
        if takers and any(isinstance(instruction, Call) for instruction in layer.columns):
            line = replace(line, rows=_still_wanted(line, computed_columns))
        matched = functools.reduce(functools.partial(_matched, line), layer.matches, line.rows)
        columns: dict[str, Column] = {}
        for instruction in layer.columns:
            column = _column(instruction, line)
            if instruction.column in inlined:
                line = replace(line, inlined={**line.inlined, instruction.column: column})
            else:
                columns[instruction.column] = column
        if not fused and len(columns) > _FEW:
            columns[TIME] = unfused(F.col(TIME))
        line = replace(line, rows=matched.withColumns(columns) if columns else matched)
        computed_columns |= {one.column for one in layer.columns} | {one.matched for one in layer.matches}
    return line


def _still_wanted(line: StraightLine, computed_columns: AbstractSet[str]) -> DataFrame:
    """Let rows leave that nobody takes, whatever functions in Python would say of them.

    All rows that are left go to Python and back, which costs as much as a cheap function. A few stay in any case, to
    show to the watermark how far the stream has come. Spark would push the filter down to the source, and compute there
    once more all that it reads. It pushes no filter that may change from one reading to the next, such as one that
    reads the number of a task.
    """
    takes = [
        functools.reduce(
            operator.and_, line.columns([name for name in taker.conditions if name in computed_columns]), taker.passes
        )
        for taker in line.takers
    ]
    is_shown = F.pmod(F.xxhash64(TIME), F.lit(_SHOWN_ONE_IN)) == 0
    stays = functools.reduce(operator.or_, takes, F.col(UNREADABLE).isNotNull() | is_shown)
    return line.rows.where(F.when(F.spark_partition_id() >= 0, stays))


_SHOWN_ONE_IN = 256

_FEW = 4
"""So many expressions are not worth a projection of their own."""


def _column(instruction: Define | Test | Call, line: StraightLine) -> Column:
    reaches = line.reaches(instruction)
    match instruction:
        case Define():
            return _guarded(instruction, reaches)
        case Test():
            return F.coalesce(_guarded(instruction, reaches), F.lit(False))
        case Call():
            kinds = {field.name: field.dataType for field in line.rows.schema.fields}
            arguments = [valid_text(F.col(quoted(name)), kinds[name]) for name in instruction.arguments]
            return guarded_call(instruction, arguments, line.pass_all(()) if reaches is None else reaches, line.costs)
        case _:
            assert_never(instruction)


def _guarded(instruction: Define | Test, reaches: Column | None) -> Column:
    value = F.expr(instruction.sql)
    return value if reaches is None else F.when(reaches, value)


def _matched(line: StraightLine, rows: DataFrame, match: Match) -> DataFrame:
    """Join the relation's rows to the left; keys of the relation are unique, which its reader checks.

    A row that no query wants has a null key: it is not looked up, and its key is not computed.
    """
    theirs = relation_frame(match)
    _refuse_collations(match, rows, theirs)
    keys = [f"{match.matched}_{index}" for index in range(len(match.on))]
    renamed = theirs.select(
        *[F.col(quoted(theirs_name)).alias(key) for (_, theirs_name), key in zip(match.on, keys, strict=True)],
        *[F.col(quoted(column)).alias(output) for column, output in match.outputs],
        F.lit(True).alias(match.matched),
    )
    ours = [quoted(name) for name, _ in match.on]
    alike = [_reached_key(line, match, F.col(our)) == F.col(key) for our, key in zip(ours, keys, strict=True)]
    if _are_texts(rows, ours) and _are_texts(renamed, keys):
        # Spark looks a number up several times faster than a text, unless it sees that it could look up both.
        hashed = f"{match.matched}_hash"
        renamed = renamed.withColumn(hashed, F.xxhash64(*keys))
        same = [F.coalesce(F.col(our) == F.col(key), F.lit(False)) for our, key in zip(ours, keys, strict=True)]
        alike = [_reached_key(line, match, F.xxhash64(*ours)) == F.col(hashed), *same]
        keys.append(hashed)
    joined = rows.join(F.broadcast(renamed), functools.reduce(operator.and_, alike), "left").drop(*keys)
    return joined.withColumn(match.matched, F.coalesce(F.col(match.matched), F.lit(False)))


def _refuse_collations(match: Match, rows: DataFrame, theirs: DataFrame) -> None:
    names = [theirs_name for _, theirs_name in match.on]
    ours = rows.select(*[F.col(quoted(name)) for name, _ in match.on]).schema.fields
    fields = zip(names, ours, theirs.select(*map(quoted, names)).schema.fields, strict=True)
    use = f'a lookup in relation "{match.relation.name}" by'
    compared = {
        (use, name): our_field.dataType if collation_of(our_field.dataType) else their_field.dataType
        for name, our_field, their_field in fields
    }
    if problems := collation_problems(compared):
        raise InvalidNetworkError(*problems)


def _reached_key(line: StraightLine, match: Match, key: Column) -> Column:
    reaches = line.reaches(match)
    return key if reaches is None else F.when(reaches, key)


def _are_texts(rows: DataFrame, names: Sequence[str]) -> bool:
    return all(field.dataType == T.StringType() for field in rows.select(*names).schema)
