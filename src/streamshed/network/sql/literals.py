"""Text beside a column of another type, as in `port = 'tcp'`: Spark would find out at the first row."""

import re
from collections.abc import Callable, Iterator, Mapping

from sqlglot import exp

from streamshed.errors import Problem
from streamshed.network.sql.expression import Expression
from streamshed.network.sql.sql_syntax import Tree, read_sql
from streamshed.network.words.columns import declared_name

_WHOLE_NUMBER = re.compile(r"\s*[+-]?\d+\s*")
_NUMBER = re.compile(r"\s*[+-]?((\d+\.?\d*|\.\d+)([eE][+-]?\d+)?[dDfF]?|inf(inity)?|nan)\s*", re.IGNORECASE)
_TRUTH = re.compile(r"\s*(t|true|y|yes|1|f|false|n|no|0)\s*", re.IGNORECASE)
_COMPARISONS = (exp.EQ, exp.NEQ, exp.NullSafeEQ, exp.GT, exp.GTE, exp.LT, exp.LTE)
_WHAT: Mapping[str, tuple[str, Callable[[str], object]]] = {
    **dict.fromkeys(("bigint", "int", "smallint", "tinyint"), ("whole number", _WHOLE_NUMBER.fullmatch)),
    **dict.fromkeys(("float", "double", "decimal"), ("number", _NUMBER.fullmatch)),
    "boolean": ("truth value", _TRUTH.fullmatch),
}


def unfit_literals(expression: Expression, columns: Mapping[str, str | None]) -> list[Problem]:
    """Tell of texts that are compared with a column of numbers or truth values and are none.

    Args:
        expression: Over one row.
        columns: The types of columns by name, as DDL; None: not known.

    Example:
        >>> from streamshed.network.sql.expression import parse_expression
        >>> print(*unfit_literals(parse_expression("port in (80, '443', 'tcp')"), {"port": "int"}))
        column "port" is int, and 'tcp' is no whole number in "port in (80, '443', 'tcp')"
    """
    problems = []
    for node in read_sql(expression.text).nodes:
        for column, text in _compared(node):
            name = declared_name(column, columns)
            kind = None if name is None else columns[name]
            what, fits = _WHAT.get((kind or "").partition("(")[0], ("", bool))
            if what and not fits(text):
                says = f'column "{name}" is {kind}, and \'{text}\' is no {what} in "{expression.text}"'
                problems.append(Problem(says, name=name))
    return problems


def _compared(node: Tree) -> Iterator[tuple[str, str]]:
    """The columns and texts that a node compares with each other."""
    if isinstance(node, _COMPARISONS):
        pairs = [(node.this, node.expression), (node.expression, node.this)]
    elif isinstance(node, exp.In):
        pairs = [(node.this, value) for value in node.expressions]
    elif isinstance(node, exp.Between):
        pairs = [(node.this, node.args["low"]), (node.this, node.args["high"])]
    else:
        return
    for column, value in pairs:
        is_text = isinstance(value, exp.Literal) and value.is_string
        if is_text and isinstance(column, exp.Column) and len(column.parts) == 1:
            yield column.name, value.name
