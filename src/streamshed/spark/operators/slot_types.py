"""What Spark makes of the keys and values of queries: their types, and so the shapes of answers."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from pyspark.errors import AnalysisException
from pyspark.sql import Column
from pyspark.sql import functions as F
from pyspark.sql import types as T

from streamshed.answering.table.output import Output, Shape
from streamshed.answering.table.user_methods import MERGE, METHODS, UserAggregateError, UserMethods, UserShape
from streamshed.answering.table.value_kind import Notation
from streamshed.errors import InvalidExpressionError, InvalidNetworkError
from streamshed.network.model.grouping import Aggregate
from streamshed.network.terms.aggregate import AggregateCall, AggregateKind, UserFunction, hashed_argument
from streamshed.network.terms.derivation import Answered, Derivation
from streamshed.sharing.instructions import StreamProgram, Test
from streamshed.sharing.stream_work import AggregateSlot
from streamshed.spark.common.collation import collation_problems
from streamshed.spark.common.group_keys import is_long_key
from streamshed.spark.common.value_kind import MOST_DIGITS, is_carried_exactly, value_kind
from streamshed.spark.operators.analysis import complaint, first_refused, readable, written_names
from streamshed.spark.operators.straight_line import StraightLine

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
DISPERSIONS = _SUMS - {AggregateKind.SUM, AggregateKind.AVG}
"""The aggregates for which windows keep the moments of slices."""
_COMPARED = frozenset({AggregateKind.DISTINCT, AggregateKind.COUNT_DISTINCT, AggregateKind.MIN, AggregateKind.MAX})
_LARGEST_PRECISION = 38


def slot_types(line: StraightLine, program: StreamProgram, slots: Sequence[AggregateSlot]) -> dict[str, T.DataType]:
    """Ask Spark for the types of all keys and values at once, and to check the tests that are not columns.

    Args:
        line: The straight line.
        program: What it runs.
        slots: The aggregates of what it runs to.

    Returns:
        Type by SQL text.

    Raises:
        InvalidNetworkError: Listing aggregates of types that they do not take, and keys that cannot be grouped by.
        InvalidExpressionError: An expression that Spark can parse, but makes no sense of.
    """
    texts = sorted({sql for slot in slots for sql in (*slot.keys, slot.value, compared_value(slot)) if sql is not None})
    columns = [*(F.expr(sql).alias(f"c{index}") for index, sql in enumerate(texts)), *line.inlined.values()]
    if not columns:
        return {}
    try:
        schema = line.rows.select(*columns).schema
    except AnalysisException as error:
        raise _refused_expression(line, program, slots, texts) from error
    types = {sql: field.dataType for sql, field in zip(texts, schema.fields[: len(texts)], strict=True)}
    if problems := [problem for slot in slots for problem in type_problems(slot, types)]:
        raise InvalidNetworkError(*problems)
    used = {sql for slot in slots for sql in (*slot.keys, slot.value)}
    return {sql: kind for sql, kind in types.items() if sql in used}


def _refused_expression(
    line: StraightLine, program: StreamProgram, slots: Sequence[AggregateSlot], texts: Sequence[str]
) -> InvalidExpressionError:
    names = written_names(program)
    tests = {one.column: one.sql for one in program.instructions if isinstance(one, Test)}
    columns = {sql: F.expr(sql) for sql in texts} | {tests[name]: column for name, column in line.inlined.items()}
    refused, why = first_refused(list(columns), lambda some: line.rows.select(*[columns[sql] for sql in some]))
    users = {slot.query.name for slot in slots if refused in (*slot.keys, slot.value, compared_value(slot))}
    whose = f'query "{min(users)}"' if users else f'stream "{program.stream.name}"'
    return InvalidExpressionError(f'{whose}, "{readable(refused, names)}": {complaint(why, names)}')


def slot_call(slot: AggregateSlot) -> AggregateCall:
    """Return the call that a slot is the argument of."""
    return dict(_aggregate(slot).calls)[slot.aggregate]


def _aggregate(slot: AggregateSlot) -> Aggregate:
    aggregate = slot.query.aggregate
    if aggregate is None:
        raise TypeError("a set-valued query has no aggregates")
    return aggregate


def presence_only(slots: Sequence[AggregateSlot]) -> frozenset[str]:
    """Return the aggregated values of which only the presence matters."""
    functions: dict[str, set[AggregateKind]] = {}
    for slot in slots:
        if slot.value is not None:
            functions.setdefault(slot.value, set()).add(slot_call(slot).kind)
    return frozenset(value for value, kinds in functions.items() if kinds == {AggregateKind.COUNT})


def compared_value(slot: AggregateSlot) -> str | None:
    """Return the SQL of the values that an aggregate compares, which may be hashed for it; None: it compares none."""
    kind = slot_call(slot).kind
    if slot.value is None or kind not in _COMPARED:
        return None
    return hashed_argument(slot.value) if kind is AggregateKind.DISTINCT else slot.value


def type_problems(slot: AggregateSlot, types: Mapping[str, T.DataType]) -> list[str]:
    """Tell which of the keys and the value of an aggregate are of types that it cannot be answered for.

    Args:
        slot: The aggregate.
        types: Type by SQL text.
    """
    kind = slot_call(slot).kind
    problems = [
        f'query "{slot.query.name}": cannot group by {types[key].simpleString()} ("{key}")'
        for key in slot.keys
        if isinstance(types[key], (T.MapType, T.VariantType))
    ]
    problems += collation_problems({(f'query "{slot.query.name}" groups by', key): types[key] for key in slot.keys})
    if slot.value is None or kind is AggregateKind.COUNT:
        return problems
    value_type = types[slot.value]
    if (compared := compared_value(slot)) is not None:
        problems += collation_problems({(f'query "{slot.query.name}": {kind} of', compared): types[compared]})
    if kind is AggregateKind.COUNT_DISTINCT:
        return [*problems, *_distinct_problems(slot, value_type)]
    if slot_call(slot).user is not None:
        return [*problems, *_user_problems(slot, value_type)]
    travels = value_kind(value_type)
    if not is_carried_exactly(value_type):
        problems.append(
            f'query "{slot.query.name}": {kind} does not take {value_type.simpleString()} (aggregate'
            f' "{slot.aggregate}"): cast it to a decimal of at most {MOST_DIGITS} digits after the point'
        )
    is_number = kind in _NUMERIC or slot.aggregate in _aggregate(slot).parts
    if travels is None or (is_number and kind is not AggregateKind.DISTINCT and not travels.is_summable):
        problems.append(
            f'query "{slot.query.name}": {kind} does not take {value_type.simpleString()} (aggregate'
            f' "{slot.aggregate}"): cast it to a number first?'
        )
    return problems


def slot_output(slot: AggregateSlot, types: Mapping[str, T.DataType]) -> Output:
    """Return what a query asks of the window partials of a slot."""
    call = slot_call(slot)
    user = None if call.user is None or slot.value is None else _user_shape(call.user, types[slot.value])
    counts_rows = call.argument is None
    part = _aggregate(slot).parts.get(slot.aggregate)
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
            user=user,
            in_cohorts=slot.query.stream.is_sampled_join,
            parts=1 if part is None else len(part.derivation.calls),
        ),
        definition_id=slot.query.definition_id,
        slot=slot.slot,
        is_by_count=slot.query.is_by_count,
        part=part,
    )


def _distinct_problems(slot: AggregateSlot, value_type: T.DataType) -> list[str]:
    """Values that are told apart in Python, as what they are there."""
    kinds = [field.dataType for field in value_type.fields] if isinstance(value_type, T.StructType) else []
    return [
        f'query "{slot.query.name}": {slot_call(slot)} does not take {kind.simpleString()} (aggregate'
        f' "{slot.aggregate}"): cast it to a string first?'
        for kind in kinds
        if value_kind(kind) is None
    ]


def _user_problems(slot: AggregateSlot, value_type: T.DataType) -> list[str]:
    """What is wrong with an aggregate of the user's own: found out before anything runs."""
    user = slot_call(slot).user
    where = f'query "{slot.query.name}", aggregate "{slot.aggregate}"'
    if user is None or not isinstance(value_type, T.StructType):
        return [f"{where}: a {value_type.simpleString()} is not what its columns are in"]
    problems = [
        f'{where}: "{name}" is a {field.dataType.simpleString()}, which incr cannot be given: name a part of it'
        for name, field in zip(user.columns, value_type.fields, strict=True)
        if value_kind(field.dataType) is None
    ]
    made = user.function.resolve()()
    missing = [method for method in METHODS if not callable(getattr(made, method, None))]
    problems += [f"{where}: what {user.function.name} makes has no method {method}" for method in missing]
    merge = getattr(made, MERGE, None)
    if merge is not None and not callable(merge):
        problems.append(f"{where}: {MERGE} of what {user.function.name} makes is no method: {merge!r}")
    return problems if missing else [*problems, *_merging_problems(_user_shape(user, value_type), where)]


def _merging_problems(shape: UserShape, where: str) -> list[str]:
    """Whether states can travel, as far as the state of no rows tells."""
    methods = UserMethods(shape)
    if methods.merges:
        try:
            methods.pickled(methods.init())
        except UserAggregateError as error:
            return [f"{where}: {error}"]
    return []


def _user_shape(user: UserFunction, value_type: T.DataType) -> UserShape:
    fields = value_type.fields if isinstance(value_type, T.StructType) else []
    kinds = tuple(field.dataType.simpleString() for field in fields)
    return UserShape(user.function, kinds, user.returns)


def _key_notation(kind: T.DataType) -> Notation:
    if not is_long_key(kind):
        return Notation.TEXT
    travels = value_kind(kind)
    return Notation.NUMBER if travels is None else travels.notation


def aggregate_type(call: Answered, argument: T.DataType | None) -> T.DataType:
    """Return the type in which a view shows an aggregate, and other aggregates take it.

    Args:
        call: The aggregate, or arithmetic over several.
        argument: Type of what is aggregated; None for count(*) and arithmetic.
    """
    if isinstance(call, Derivation):
        return T.DoubleType()
    if call.user is not None:
        return T.DataType.fromDDL(call.user.returns)
    match call.kind, argument:
        case AggregateKind.COUNT, _:
            return T.LongType()
        case AggregateKind.SUM, T.DecimalType():
            return T.DecimalType(min(argument.precision + 10, _LARGEST_PRECISION), argument.scale)
        case AggregateKind.SUM, T.IntegralType():
            return T.LongType()
        case ((AggregateKind.MIN | AggregateKind.MAX), T.DataType()):
            return argument
        case _:
            return T.DoubleType()


def typed_text(text: Column, kind: T.DataType) -> Column:
    """Read a value back from the text of it in an answer."""
    match kind:
        case T.BinaryType():
            return F.unhex(text)
        case T.ArrayType() | T.StructType() | T.MapType():
            return text
        case _:
            return text.cast(kind)
