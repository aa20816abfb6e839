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
_DIGIT = re.compile(r"\d")
_ARITHMETIC = (exp.Add, exp.Sub, exp.Mul, exp.Div, exp.Mod, exp.IntDiv)
_FIRST_PRESENT = frozenset({"coalesce", "ifnull", "nvl"})
_COMPARISONS = (exp.EQ, exp.NEQ, exp.NullSafeEQ, exp.GT, exp.GTE, exp.LT, exp.LTE)
_WHAT: Mapping[str, tuple[str, Callable[[str], object]]] = {
    **dict.fromkeys(("bigint", "int", "smallint", "tinyint"), ("whole number", _WHOLE_NUMBER.fullmatch)),
    **dict.fromkeys(("float", "double", "decimal"), ("number", _NUMBER.fullmatch)),
    "boolean": ("truth value", _TRUTH.fullmatch),
    # Of times there are many forms, all with digits.
    **dict.fromkeys(("date", "timestamp", "timestamp_ntz"), ("time", _DIGIT.search)),
}


def unfit_literals(expression: Expression, columns: Mapping[str, str | None]) -> list[Problem]:
    """Tell of texts that stand beside a column of numbers, truth values or times, and are none.

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
            form = (kind or "").partition("(")[0]
            # Where errors are nulls, Spark computes with fractions in texts.
            is_computed = isinstance(node, _ARITHMETIC) and form in _WHAT and _WHAT[form] == _WHAT["int"]
            what, fits = _WHAT.get("double" if is_computed else form, ("", bool))
            if what and not fits(text):
                says = f'column "{name}" is {kind}, and \'{text}\' is no {what} in "{expression.text}"'
                problems.append(Problem(says, name=name))
    return problems


def _compared(node: Tree) -> Iterator[tuple[str, str]]:
    """The columns and texts that a node brings together: one of them gets the type of the other."""
    for first, second in _pairs(node):
        column, value = _operand(first), second.unnest()
        is_text = isinstance(value, exp.Literal) and value.is_string
        if is_text and isinstance(column, exp.Column) and len(column.parts) == 1:
            yield column.name, value.name


def _pairs(node: Tree) -> list[tuple[Tree, Tree]]:
    match node:
        case exp.In():
            return [(node.this, value) for value in node.expressions]
        case exp.Between():
            return [(node.this, node.args["low"]), (node.this, node.args["high"])]
        case exp.Case() if node.this is not None:
            return [(node.this, branch.this) for branch in node.args["ifs"]]
        case exp.Anonymous() if node.name.lower() in _FIRST_PRESENT and node.expressions:
            first, *others = node.expressions
            return [(first, value) for value in others]
    if isinstance(node, (*_COMPARISONS, *_ARITHMETIC)):
        return [(node.this, node.expression), (node.expression, node.this)]
    return []


def _operand(node: Tree) -> Tree:
    """What a value is of whose type it has: within parentheses, behind a sign, at the left of arithmetic."""
    inner = node.unnest()
    while isinstance(inner, (exp.Neg, *_ARITHMETIC)):
        inner = inner.this.unnest()
    return inner
