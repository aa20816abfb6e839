"""The windowing attribute of a stream ([T06] §2): a column, or a time that is computed from columns."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from streamshed.errors import InvalidExpressionError, Problem
from streamshed.network.sql.expression import Expression, parse_expression, quoted
from streamshed.network.sql.sql_meaning import changing_functions
from streamshed.network.sql.sql_syntax import read_sql
from streamshed.network.terms.problems import column_problems, declared_columns, unknown_column
from streamshed.network.words.columns import declared_name
from streamshed.network.words.numbering import MICROSECONDS_PER_NUMBER, WHOLE_NUMBER_TYPES

_TIME_TYPES = frozenset({"timestamp", "timestamp_ntz"})
_EPOCH_UNITS = {"timestamp_seconds": 1_000_000, "timestamp_millis": 1_000, "timestamp_micros": 1}
"""Spark's functions of a number since the epoch, with what one of it is in microseconds."""


@dataclass(frozen=True, slots=True)
class StoredColumn:
    """A column that a windowing attribute follows: the larger the one, the later the other.

    Attributes:
        name: The column.
        microseconds_per_number: What a whole number in it stands for; of a column of times, which tell their unit
            themselves, it means nothing.
    """

    name: str
    microseconds_per_number: int = MICROSECONDS_PER_NUMBER


@dataclass(frozen=True, slots=True)
class WindowingAttribute:
    """What windows lie along, as an expression over the columns of a stream, of which a column is the simplest.

    Attributes:
        expression: The expression, its columns as they are declared.
        column: The column that it is; None: it is computed.
        stored: What the first and the last of it in a file follow from; None: nothing does.
    """

    expression: Expression
    column: str | None
    stored: StoredColumn | None

    @property
    def text(self) -> str:
        """The column, or the expression as it was written."""
        return self.column or self.expression.text

    @property
    def canonical(self) -> str:
        """What is the same however it is spelled."""
        return self.expression.canonical if self.column is None else self.column.lower()


def windowing_attribute(text: str, columns: Mapping[str, str | None]) -> WindowingAttribute:
    """Read what windows lie along.

    Args:
        text: A column's name, or an SQL expression.
        columns: Type by column name.

    Raises:
        InvalidExpressionError: It is neither.

    Example:
        >>> columns = {"Ms": "bigint", "ts": "timestamp"}
        >>> windowing_attribute("TS", columns).text
        'ts'
        >>> windowing_attribute("timestamp_millis(ms)", columns).stored
        StoredColumn(name='Ms', microseconds_per_number=1000)
        >>> windowing_attribute("greatest(ts, timestamp_millis(ms))", columns).stored is None
        True
    """
    column = declared_name(text, columns)
    if column is not None:
        expression = declared_columns(parse_expression(quoted(column)), columns)
        return WindowingAttribute(expression, column, StoredColumn(column))
    expression = declared_columns(parse_expression(text), columns)
    if (column := _lone_column(expression)) is not None:
        return windowing_attribute(column, columns)
    return WindowingAttribute(expression, None, _stored(expression))


def _lone_column(expression: Expression) -> str | None:
    """The column that an expression is and nothing else, such as one in backquotes."""
    return next((name for name in expression.columns if expression == parse_expression(quoted(name))), None)


def _stored(expression: Expression) -> StoredColumn | None:
    if len(expression.columns) != 1:
        return None
    (column,) = expression.columns
    for function, unit in _EPOCH_UNITS.items():
        if expression == parse_expression(f"{function}({quoted(column)})"):
            return StoredColumn(column, unit)
    return None


def attribute_problems(text: str, columns: Mapping[str, str | None], *, is_numbered: bool) -> Iterator[str]:
    """Tell what keeps a text from being the windowing attribute of a stream.

    Args:
        text: A column's name, or an SQL expression.
        columns: Type by column name.
        is_numbered: Whether windows lie along numbers, which are a column, and not in time.

    Example:
        >>> list(attribute_problems("ms", {"ms": "bigint"}, is_numbered=False))[0].partition(":")[0]
        'its time "ms" is a bigint, expected a timestamp'
        >>> list(attribute_problems("timestamp_millis(mss)", {"ms": "bigint"}, is_numbered=False))
        ['its time: unknown column "mss" (did you mean "ms"?) in "timestamp_millis(mss)"']
    """
    column = declared_name(text, columns)
    if is_numbered:
        yield from _number_problems(text, column, columns)
    elif column is not None:
        yield from _time_problems(column, columns[column])
    else:
        yield from _computed_problems(text, columns)


def _number_problems(text: str, column: str | None, columns: Mapping[str, str | None]) -> Iterator[str]:
    kind = None if column is None else columns[column]
    if column is None:
        yield Problem.of(unknown_column(text, columns), lead="its number")
    elif kind is not None and kind not in WHOLE_NUMBER_TYPES:
        yield f'its number "{column}" is a {kind}, expected a whole number: cast it to a bigint, which may scale it'


def _time_problems(name: str, kind: str | None) -> Iterator[str]:
    if kind is None or kind in _TIME_TYPES:
        return
    written, advice = _written(name), "cast it, or declare it so in the schema"
    if kind in WHOLE_NUMBER_TYPES:
        advice = (
            f'write time="timestamp_millis({written})" if it counts milliseconds since 1970 (or timestamp_seconds,'
            f' timestamp_micros), or, for windows of so many rows, number="{name}"'
        )
    elif kind == "string":
        advice = f"write time=\"to_timestamp({written}, 'yyyy-MM-dd HH:mm:ss')\", or declare it so in the schema"
    elif kind == "date":
        advice = f'write time="cast({written} as timestamp)"'
    yield f'its time "{name}" is a {kind}, expected a timestamp: {advice}'


def _written(name: str) -> str:
    return name if name.isidentifier() else quoted(name)


def _computed_problems(text: str, columns: Mapping[str, str | None]) -> Iterator[str]:
    try:
        expression = parse_expression(text)
    except InvalidExpressionError as error:
        yield Problem.of(error.problems[0], lead="its time is neither a column nor an expression")
        return
    unknown = column_problems(expression, columns)
    if unknown and (name := _lone_column(expression)) is not None:
        yield Problem.of(unknown_column(name, columns), lead="its time")
        return
    yield from (Problem.of(problem, lead="its time") for problem in unknown)
    if changing := changing_functions(read_sql(text)):
        yield f'its time "{text}" may be another when a row is read again, by {changing[0]}: use what the row holds'
    elif not expression.columns:
        yield f'its time "{text}" is the same for all rows: use a column'
    elif (name := _lone_column(declared_columns(expression, columns))) is not None:
        yield from _time_problems(name, columns[name])
