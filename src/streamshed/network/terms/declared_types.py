"""What the declared types of columns tell before Spark is asked: aggregates and keys that it would refuse."""

import re
from collections.abc import Mapping

from streamshed.network.sql.expression import Expression
from streamshed.network.terms.aggregate import AggregateCall, AggregateKind
from streamshed.network.words.columns import declared_name

_NUMBERS = frozenset({"tinyint", "smallint", "int", "bigint", "float", "double", "decimal"})
_ORDERED = _NUMBERS | {"string", "char", "varchar", "binary", "boolean", "date", "timestamp", "timestamp_ntz"}
_NO_KEYS = frozenset({"map", "variant"})
_EXTREMES = frozenset({AggregateKind.MIN, AggregateKind.MAX})


def declared_type(expression: Expression, columns: Mapping[str, str | None]) -> str | None:
    """Return the type of an expression that is a column and nothing else; None where only Spark knows it.

    Args:
        expression: The expression.
        columns: Type by column name.
    """
    if len(expression.columns) != 1:
        return None
    (written,) = expression.columns
    name = declared_name(written, columns)
    is_column = expression.canonical.strip("`") == written.lower()
    return columns[name] if name is not None and is_column else None


def aggregate_problem(name: str, call: AggregateCall, columns: Mapping[str, str | None]) -> str | None:
    """Tell that an aggregate does not take the column it is of; None where it does, or only Spark will know.

    Args:
        name: The aggregate's name.
        call: The call.
        columns: Type by column name.

    Example:
        >>> from streamshed.network.terms.aggregate import parse_aggregate
        >>> aggregate_problem("n", parse_aggregate("sum(host)"), {"host": "string"})
        'sum does not take string (aggregate "n" of "host"): cast it to a number first?'
    """
    kind = None if call.argument is None else declared_type(call.argument, columns)
    if call.argument is None or kind is None or call.kind in {AggregateKind.COUNT, AggregateKind.DISTINCT}:
        return None
    complaint = f'{call.kind} does not take {kind} (aggregate "{name}" of "{call.argument}")'
    if call.kind in _EXTREMES:
        return None if _head(kind) in _ORDERED else f"{complaint}: it has no order, name a field or element of it?"
    return None if _head(kind) in _NUMBERS else f"{complaint}: cast it to a number first?"


def aggregate_type(call: AggregateCall, columns: Mapping[str, str | None]) -> str | None:
    """Return the type of an aggregate, where it follows from declared types; None where only Spark knows it.

    Example:
        >>> from streamshed.network.terms.aggregate import parse_aggregate
        >>> columns = {"size": "int", "host": "string"}
        >>> [aggregate_type(parse_aggregate(text), columns) for text in ("sum(size)", "max(host)", "avg(size * 2)")]
        ['bigint', 'string', 'double']
    """
    argument = None if call.argument is None else declared_type(call.argument, columns)
    if call.user is not None:
        return call.user.returns
    match call.kind:
        case AggregateKind.COUNT | AggregateKind.DISTINCT:
            return "bigint"
        case AggregateKind.MIN | AggregateKind.MAX:
            return argument
        case AggregateKind.SUM:
            return _SUMMED.get(argument or "")
        case _:
            return "double"


_SUMMED = {
    **dict.fromkeys(("tinyint", "smallint", "int", "bigint"), "bigint"),
    **dict.fromkeys(("float", "double"), "double"),
}


def key_problem(name: str, expression: Expression, columns: Mapping[str, str | None]) -> str | None:
    """Tell that rows cannot be grouped by a column of its type; None where they can, or only Spark will know."""
    kind = declared_type(expression, columns)
    if kind is None or _head(kind) not in _NO_KEYS:
        return None
    return f'the key "{name}" is of type {kind}, which rows cannot be grouped by: name an entry of it?'


def is_numeric(kind: str) -> bool:
    """Whether values of a type are numbers.

    >>> is_numeric("decimal(10,2)"), is_numeric("string")
    (True, False)
    """
    return _head(kind) in _NUMBERS


def _head(kind: str) -> str:
    match = re.match(r"\w+", kind)
    return match.group() if match else kind
