"""What is done with the rows of a stream by columns: all that a task has to know of its queries."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import pyarrow as pa

from streamshed.columnar.column_types import arrow_type, arrow_types
from streamshed.columnar.expressions.coercion import (
    BOOLEAN,
    DATE,
    INTEGERS,
    TIMESTAMP,
    TIMESTAMP_NTZ,
    type_name,
)
from streamshed.columnar.expressions.compiled import ColumnExpression, compiled
from streamshed.columnar.expressions.dialect import Dialect
from streamshed.columnar.file_way import OF_LISTING, check_csv_files, check_files
from streamshed.columnar.texts.csv_texts import CsvTexts
from streamshed.columnar.texts.json_texts import JsonTexts
from streamshed.columnar.untranslatable import Untranslatable
from streamshed.joins.sums.summed_class import Edge, ValueForm
from streamshed.network.terms.aggregate import AggregateKind
from streamshed.network.terms.parsing import Parse, TextFormat
from streamshed.sharing.early_drops import drops_before_parsing
from streamshed.sharing.instructions import Call, Define, Instruction, Match, Test
from streamshed.sharing.probes import PROBED
from streamshed.sharing.sharing_class import SharingClass
from streamshed.sharing.stream_work import AggregateSlot, StreamWork

_SUMMED = frozenset({AggregateKind.COUNT, AggregateKind.SUM, AggregateKind.AVG, AggregateKind.MIN, AggregateKind.MAX})
_EXTREMES = frozenset({AggregateKind.MIN, AggregateKind.MAX})
_MEANS = frozenset({AggregateKind.SUM, AggregateKind.AVG})


@dataclass(frozen=True, kw_only=True)
class ColumnClass:
    """What a sharing class takes of rows.

    Attributes:
        class_id: `SharingClass.class_id`.
        edges: Of its slices.
        selections: Per bit of the mask, the conditions that a row has to pass.
        counting_mask: Bits that a row passes only where the plan says so.
        key_mask: Bits whose rows have keys.
        value_mask: Bits whose rows need the value.
        keys: SQL of what rows are grouped by.
        value: SQL of what is aggregated; None: rows are only counted.
        form: How it travels.
        has_extremes: Whether the least and the greatest value are asked for.
        has_means: Whether means or sums are: of sampled rows, extremes tell how much a single one contributes.
    """

    class_id: int
    edges: tuple[Edge, ...]
    selections: tuple[tuple[str, ...], ...]
    counting_mask: int
    key_mask: int
    value_mask: int
    keys: tuple[str, ...]
    value: str | None
    form: ValueForm
    has_extremes: bool
    has_means: bool

    @property
    def every_bit(self) -> int:
        """The mask of a row that everybody wants."""
        return (1 << len(self.selections)) - 1


@dataclass(frozen=True, kw_only=True)
class ColumnWork:
    """What is done with the rows of a stream.

    Attributes:
        time: SQL of the event time, or of the number that stands in its place.
        is_numbered: Whether it is a number.
        text: The column whose text is parsed, and how; None: there is none.
        types: The columns after parsing, with their types.
        instructions: The straight line.
        relation_types: By lookup (`Match.matched`), the types of the relation's columns.
        classes: The sharing classes.
        cohort_keys: What queries group by whose windows may be dropped by group.
        dialect: The settings of the session.
    """

    time: str
    is_numbered: bool
    text: Parse | None
    types: Mapping[str, pa.DataType]
    instructions: tuple[Instruction, ...]
    relation_types: Mapping[str, Mapping[str, pa.DataType]]
    classes: tuple[ColumnClass, ...]
    cohort_keys: tuple[tuple[str, ...], ...]
    dialect: Dialect

    def texts(self) -> JsonTexts | CsvTexts | None:
        """Return what parses the texts; None: there are none.

        Raises:
            Untranslatable: Spark has to parse them.
        """
        if self.text is None:
            return None
        schema = pa.schema([(column.name, arrow_type(column.name, column.type)) for column in self.text.schema])
        options = {name: value for name, value in self.text.options if name.lower() not in OF_LISTING}
        reader = CsvTexts if self.text.format is TextFormat.CSV else JsonTexts
        return reader.of(schema, options, self.dialect.time_zone)

    def needed_columns(self) -> frozenset[str]:
        """Return the columns that anything reads, in lower case."""
        line = line_types(self)
        texts = [self.time, *(sql for c in self.classes for sql in (*c.keys, c.value) if sql is not None)]
        texts += [one.sql for one in self.instructions if isinstance(one, (Define, Test)) and one.column != PROBED]
        names = {name for sql in texts for name in compiled(sql, line, self.dialect).columns}
        names |= {ours for one in self.instructions if isinstance(one, Match) for ours, _ in one.on}
        return frozenset(name.lower() for name in names)


def column_work(
    work: StreamWork,
    relations: Mapping[str, Mapping[str, str | None]],
    dialect: Dialect,
    *,
    samples: bool = True,
    drops: bool = False,
) -> ColumnWork:
    """Lay out what is done with the rows of a stream by columns.

    Args:
        work: What is done with them.
        relations: By the name of a relation, the types of its columns, as Spark names them.
        dialect: The settings of the session that change results.
        samples: Whether rows may be sampled.
        drops: Whether rows may be left out by their times, as only dropped windows need them.

    Raises:
        Untranslatable: Some of it is left to Spark, and so is the whole stream: which, and why.
    """
    stream = work.stream
    _check_rows(work, samples=samples, drops=drops)
    columns = ColumnWork(
        time=stream.time,
        is_numbered=stream.is_numbered,
        text=stream.lines,
        types=arrow_types(stream.columns),
        instructions=work.program.instructions,
        relation_types={
            match.matched: _relation_types(match, relations)
            for match in work.program.instructions
            if isinstance(match, Match)
        },
        classes=(),
        cohort_keys=work.cohort_keys if drops else (),
        dialect=dialect,
    )
    columns.texts()
    types = line_types(columns)
    _check_time(columns, types)
    kinds = _aggregate_kinds(work.slots)
    classes = tuple(_column_class(one, kinds, types, dialect) for one in work.classes)
    return ColumnWork(**{**vars(columns), "classes": classes})


def _check_rows(work: StreamWork, *, samples: bool, drops: bool) -> None:
    """See that rows are in files or come as texts, and that what is shed of these is shed before parsing."""
    stream, text = work.stream, work.stream.lines
    if stream.joined is not None:
        raise Untranslatable("they are results of a join")
    if text is not None and text.format is TextFormat.AVRO:
        raise Untranslatable("they are values of AVRO")
    if work.row_queries:
        raise Untranslatable(f'the query "{work.row_queries[0].name}" takes rows one by one')
    if text is None:
        check_files(work, samples=samples, drops=drops)
    elif stream.text is None:
        check_csv_files(stream, samples=samples, drops=drops)
    if samples and not stream.is_identified_before_parsing:
        raise Untranslatable("what identifies a row is in its text")
    if drops and not drops_before_parsing(stream, work.cohort_keys, samples=samples):
        raise Untranslatable("windows may be dropped by what is in the text: the event time, or keys")


def line_types(work: ColumnWork) -> dict[str, pa.DataType]:
    """Return the types of all columns of the straight line.

    Raises:
        Untranslatable: An instruction is left to Spark.
    """
    types = dict(work.types)
    for instruction in work.instructions:
        match instruction:
            case Call():
                raise Untranslatable(f'the function "{instruction.function.name}" is called for each row')
            case Define():
                types[instruction.column] = compiled(instruction.sql, types, work.dialect).type
            case Test():
                if instruction.column != PROBED:
                    _check_truth(compiled(instruction.sql, types, work.dialect), instruction.sql)
                types[instruction.column] = pa.bool_()
            case Match():
                relation = work.relation_types[instruction.matched]
                _check_lookup(instruction, types, relation)
                types |= {output: relation[name.lower()] for name, output in instruction.outputs}
                types[instruction.matched] = pa.bool_()
    return types


def _check_truth(expression: ColumnExpression, sql: str) -> None:
    if not pa.types.is_boolean(expression.type):
        raise Untranslatable(f'the condition "{sql}" is no truth')


def _check_time(work: ColumnWork, types: Mapping[str, pa.DataType]) -> None:
    kind = compiled(work.time if not work.is_numbered else f"`{work.time}`", types, work.dialect).type
    if work.is_numbered != pa.types.is_integer(kind) or not (work.is_numbered or pa.types.is_timestamp(kind)):
        raise Untranslatable(f'the event time "{work.time}" is {kind}')


def _check_lookup(lookup: Match, types: Mapping[str, pa.DataType], relation: Mapping[str, pa.DataType]) -> None:
    if len(lookup.on) > 1:
        raise Untranslatable(f'the relation "{lookup.relation.name}" is looked up by several columns')
    for ours, theirs in lookup.on:
        kind = {name.lower(): of_column for name, of_column in types.items()}.get(ours.lower())
        if kind is None or kind != relation.get(theirs.lower()) or pa.types.is_floating(kind):
            raise Untranslatable(f'the lookup in "{lookup.relation.name}" compares columns of two types')


def _relation_types(lookup: Match, relations: Mapping[str, Mapping[str, str | None]]) -> dict[str, pa.DataType]:
    relation = lookup.relation
    if relation.is_read_by_spark:
        raise Untranslatable(f'the relation "{relation.name}" is {relation.place}, which only Spark can read')
    kinds = {name.lower(): kind for name, kind in relations[relation.name].items()}
    names = (*(theirs for _, theirs in lookup.on), *(name for name, _ in lookup.outputs))
    return {name.lower(): arrow_type(name, kinds.get(name.lower())) for name in names}


def _aggregate_kinds(slots: Sequence[AggregateSlot]) -> dict[tuple[int, int], set[AggregateKind]]:
    """By query (`Query.definition_id`) and slot, the aggregates that are computed from it."""
    kinds: dict[tuple[int, int], set[AggregateKind]] = {}
    for slot in slots:
        calls = () if slot.query.aggregate is None else slot.query.aggregate.calls
        call = dict(calls)[slot.aggregate]
        if call.user is not None or call.kind not in _SUMMED:
            raise Untranslatable(
                f'the query "{slot.query.name}" asks for {slot.aggregate}, an aggregate that is made of single values'
            )
        kinds.setdefault((slot.query.definition_id, slot.slot), set()).add(call.kind)
    return kinds


def _column_class(
    sharing_class: SharingClass,
    kinds: Mapping[tuple[int, int], set[AggregateKind]],
    types: Mapping[str, pa.DataType],
    dialect: Dialect,
) -> ColumnClass:
    aggregates = set[AggregateKind]().union(
        *(kinds.get((member.definition_id, member.slot), ()) for member in sharing_class.members)
    )
    for sql in sharing_class.keys:
        kind = compiled(sql, types, dialect).type
        if not (_is_whole(kind) or pa.types.is_string(kind)):
            raise Untranslatable(f'rows are grouped by "{sql}", which is {type_name(kind)}')
    value = sharing_class.value
    form = ValueForm.PRESENCE
    if value is not None and aggregates != {AggregateKind.COUNT}:
        form = _form(value, compiled(value, types, dialect).type)
    return ColumnClass(
        class_id=sharing_class.class_id,
        edges=tuple((edge.period_microseconds, edge.phase_microseconds) for edge in sharing_class.grid.edges),
        selections=sharing_class.selections,
        counting_mask=sharing_class.counting_mask,
        key_mask=sharing_class.key_mask,
        value_mask=sharing_class.value_mask,
        keys=sharing_class.keys,
        value=value,
        form=form,
        has_extremes=bool(aggregates & _EXTREMES),
        has_means=bool(aggregates & _MEANS),
    )


def _form(value: str, kind: pa.DataType) -> ValueForm:
    if pa.types.is_floating(kind):
        return ValueForm.FLOATING
    if not _is_whole(kind):
        raise Untranslatable(f'"{value}" is {type_name(kind)}, which is summed up by Spark')
    return ValueForm.WHOLE


def _is_whole(kind: pa.DataType) -> bool:
    """Whether a value travels as a whole number, see `as_wholes`: a decimal would lose its fraction."""
    return kind in (*INTEGERS, BOOLEAN, DATE, TIMESTAMP, TIMESTAMP_NTZ)
