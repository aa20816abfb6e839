"""Which sharing classes of a joined stream are summed up where pairs are found, and by which columns of its sides."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from collections.abc import Set as AbstractSet

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F
from pyspark.sql import types as T

from streamshed.answering.table.value_kind import Carriage
from streamshed.joins.model.side import Side
from streamshed.joins.sums.summed_class import KeyPart, PairSelection, SummedClass, SummedValue, ValueForm
from streamshed.network.sql.expression import parse_expression, quoted
from streamshed.network.terms.aggregate import AggregateKind
from streamshed.sharing.counted_rows import ALWAYS
from streamshed.sharing.instructions import Define, Test
from streamshed.sharing.never_failing import never_fails
from streamshed.sharing.probes import PROBED
from streamshed.sharing.sharing_class import SharingClass
from streamshed.sharing.stream_work import StreamWork
from streamshed.spark.common.group_keys import as_long, as_text, is_long_key, joined_text
from streamshed.spark.common.internal_names import EVENT_TIME, TIME
from streamshed.spark.common.value_kind import value_kind
from streamshed.spark.joins.join_work import NO_SUMS, JoinSums
from streamshed.spark.operators.slot_types import presence_only, slot_call

_SUMMED = frozenset({AggregateKind.COUNT, AggregateKind.SUM, AggregateKind.AVG, AggregateKind.MIN, AggregateKind.MAX})
_EXTREMES = frozenset({AggregateKind.MIN, AggregateKind.MAX})
_FORMS = {Carriage.LONG: ValueForm.WHOLE, Carriage.DOUBLE: ValueForm.FLOATING}


def join_sums(work: StreamWork, sides: Mapping[Side, DataFrame]) -> tuple[JoinSums, dict[Side, DataFrame]]:
    """Return what is summed up, and the rows of both sides with the columns that this takes.

    A class is summed up if each of its conditions and keys, and its value, reads columns of one side alone. Spark
    evaluates them on the rows of that side: so they must fail for no row, whether it joins another or not.

    Args:
        work: Of the joined stream.
        sides: The rows of its sides, their columns named as in results.
    """
    side_columns = _SideColumns(sides)
    if not work.may_drop_windows:
        for instruction in work.program.instructions:
            if isinstance(instruction, (Define, Test)):
                side_columns.take(instruction)
    counted = presence_only((*work.slots, *work.count_slots))
    classes = [
        summed_class
        for sharing_class in work.classes
        if (summed_class := _summed(sharing_class, work, side_columns, counted)) is not None
    ]
    if not classes:
        return NO_SUMS, dict(sides)
    needs_rows = bool(work.row_queries) or len(classes) < len(work.classes)
    added = {side: side_columns.needed(side, classes) for side in Side}
    rows = {
        side: side_columns.rows[side].select(*[F.col(quoted(name)) for name in (*sides[side].columns, *added[side])])
        for side in Side
    }
    return JoinSums(classes=tuple(classes), columns=added, needs_rows=needs_rows, gating=work.gating), rows


class _SideColumns:
    """The columns of each side, and the expressions that it can evaluate by itself."""

    def __init__(self, sides: Mapping[Side, DataFrame]) -> None:
        self.rows = dict(sides)
        self.always: set[str] = set()
        self.later: set[str] = set()
        self._types = {side: _types_of(rows) for side, rows in sides.items()}
        self._given = {side: frozenset(types) for side, types in self._types.items()}

    def take(self, instruction: Define | Test) -> None:
        """Let the side that can evaluate an instruction do so, for all of its rows; what is guarded needs no guard."""
        name, sql = instruction.column, instruction.sql
        if isinstance(instruction, Test) and sql == ALWAYS:
            self.always.add(name)
        elif name == PROBED:
            self.later.add(name)
            for side in Side:
                self._add(side, name, F.expr(sql))
        elif (evaluating_side := self.side_of(sql)) is not None:
            value = F.expr(sql)
            self._add(
                evaluating_side, name, F.coalesce(value, F.lit(False)) if isinstance(instruction, Test) else value
            )

    def side_of(self, sql: str) -> Side | None:
        """Return the side that can evaluate an expression by itself, without fail; None: neither."""
        names = {name.lower() for name in parse_expression(sql).columns}
        for side in Side:
            if names and names <= self._types[side].keys() and never_fails(sql, self._types[side]):
                return side
        return None

    def condition(self, name: str) -> tuple[str, Side | None] | None:
        """Return what a condition is a column of; None: of neither side."""
        for side in Side:
            if name.lower() in self._types[side]:
                return name, None if name in self.later else side
        return None

    def column(self, side: Side, sql: str, made: Column | None = None, what: str = "value") -> str:
        """Return the column of a side that has a value: one of its own, or one that is added.

        Args:
            side: The side.
            sql: The value.
            made: What is made of the value, where that is needed in its place.
            what: Says what that is, in the column's name.
        """
        bare = sql.strip("`")
        if made is None and bare.lower() in self._given[side]:
            return next(name for name in self.rows[side].columns if name.lower() == bare.lower())
        kind = self.kind(side, sql)
        digest = hashlib.blake2b(repr((what, sql, kind.simpleString())).encode(), digest_size=8).hexdigest()
        name = f"__{what}_{digest}"
        if name not in self._types[side]:
            self._add(side, name, F.expr(sql) if made is None else made)
        return name

    def kind(self, side: Side, sql: str) -> T.DataType:
        """Return the type of an expression over a side."""
        return self.rows[side].select(F.expr(sql)).schema[0].dataType

    def needed(self, side: Side, classes: Sequence[SummedClass]) -> tuple[str, ...]:
        """Return the columns that classes need of a side, beside those that it had."""
        columns: dict[str, None] = {}
        for summed_class in classes:
            for selection in summed_class.selections:
                conditions = selection.left if side is Side.LEFT else selection.right
                columns |= dict.fromkeys((*conditions, *selection.later))
            columns |= dict.fromkeys(part.column for part in summed_class.keys if part.side is side)
            if summed_class.value is not None and summed_class.value.side is side:
                columns[summed_class.value.column] = None
        return tuple(sorted(name for name in columns if name.lower() not in self._given[side]))

    def _add(self, side: Side, name: str, column: Column) -> None:
        self.rows[side] = self.rows[side].withColumn(name, column)
        self._types[side] = _types_of(self.rows[side])


def _types_of(rows: DataFrame) -> dict[str, str]:
    """Of a side's own columns: its times are called otherwise in results."""
    types = {field.name.lower(): field.dataType.simpleString() for field in rows.schema}
    return {name: kind for name, kind in types.items() if name not in {EVENT_TIME, TIME}}


def _summed(
    sharing_class: SharingClass, work: StreamWork, side_columns: _SideColumns, counted: AbstractSet[str]
) -> SummedClass | None:
    """How a class is summed up; None: it is not."""
    kinds = {(slot.query.definition_id, slot.slot): set[AggregateKind]() for slot in work.slots}
    for slot in work.slots:
        kinds[slot.query.definition_id, slot.slot].add(slot_call(slot).kind)
    aggregate_kinds = set[AggregateKind]().union(
        *(kinds.get((m.definition_id, m.slot), set()) for m in sharing_class.members)
    )
    selections = [_selection(conditions, side_columns) for conditions in sharing_class.selections]
    sides = [side_columns.side_of(sql) for sql in sharing_class.keys]
    if not aggregate_kinds <= _SUMMED or None in selections or None in sides:
        return None
    value = None
    if (
        sharing_class.value is not None
        and (value := _value(sharing_class.value, side_columns, is_counted=sharing_class.value in counted)) is None
    ):
        return None
    keys = [
        _key(sql, side, side_columns, of=len(sharing_class.keys))
        for sql, side in zip(sharing_class.keys, sides, strict=True)
        if side
    ]
    return SummedClass(
        class_id=sharing_class.class_id,
        edges=tuple((edge.period_microseconds, edge.phase_microseconds) for edge in sharing_class.grid.edges),
        selections=tuple(selection for selection in selections if selection is not None),
        counting_mask=sharing_class.counting_mask,
        value_mask=sharing_class.value_mask,
        keys=tuple(keys),
        value=value,
        extremes=bool(aggregate_kinds & _EXTREMES),
    )


def _selection(conditions: Sequence[str], side_columns: _SideColumns) -> PairSelection | None:
    columns_of_side: dict[Side | None, list[str]] = {Side.LEFT: [], Side.RIGHT: [], None: []}
    for name in conditions:
        if name in side_columns.always:
            continue
        column_and_side = side_columns.condition(name)
        if column_and_side is None:
            return None
        columns_of_side[column_and_side[1]].append(column_and_side[0])
    return PairSelection(
        left=tuple(columns_of_side[Side.LEFT]),
        right=tuple(columns_of_side[Side.RIGHT]),
        later=tuple(columns_of_side[None]),
    )


def _value(sql: str, side_columns: _SideColumns, *, is_counted: bool) -> SummedValue | None:
    side = side_columns.side_of(sql)
    if side is None:
        return None
    if is_counted:
        present = F.when(F.expr(sql).isNotNull(), F.lit(True))
        return SummedValue(
            side=side, column=side_columns.column(side, sql, present, "present"), form=ValueForm.PRESENCE
        )
    kind = side_columns.kind(side, sql)
    travels = value_kind(kind)
    form = None if travels is None else _FORMS.get(travels.carriage)
    if form is None:
        return None
    return SummedValue(side=side, column=side_columns.column(side, sql, *_zoneless(sql, kind)), form=form)


def _key(sql: str, side: Side, side_columns: _SideColumns, *, of: int) -> KeyPart:
    kind = side_columns.kind(side, sql)
    if of > 1:
        part = joined_text([(F.expr(sql), kind)])
        return KeyPart(side=side, column=side_columns.column(side, sql, part, "part"), is_number=False)
    if is_long_key(kind):
        return KeyPart(side=side, column=side_columns.column(side, sql, *_zoneless(sql, kind)), is_number=True)
    text = None if kind == T.StringType() else as_text(F.expr(sql), kind)
    return KeyPart(side=side, column=side_columns.column(side, sql, text, "text"), is_number=False)


def _zoneless(sql: str, kind: T.DataType) -> tuple[Column | None, str]:
    """A time without zone as a number; whole numbers of all other types Arrow has as they are."""
    return (as_long(F.expr(sql), kind) if isinstance(kind, T.TimestampNTZType) else None), "value"
