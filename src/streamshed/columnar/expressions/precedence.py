"""Where the parser and Spark may bind operators in another order, an expression is left to Spark."""

from collections.abc import Mapping

from sqlglot import exp

from streamshed.columnar.untranslatable import Untranslatable
from streamshed.network.sql.sql_syntax import Syntax, Tree

_UNARY, _PRODUCT, _SUM, _TEXTS, _BITS, _PREDICATE, _NOT, _AND, _OR = 9, 8, 7, 6, 5, 4, 3, 2, 1
_PRECEDENCES: Mapping[type[Tree], int] = {
    **dict.fromkeys((exp.Neg, exp.BitwiseNot), _UNARY),
    **dict.fromkeys((exp.Mul, exp.Div, exp.IntDiv, exp.Mod), _PRODUCT),
    **dict.fromkeys((exp.Add, exp.Sub), _SUM),
    **dict.fromkeys((exp.BitwiseAnd, exp.BitwiseOr, exp.BitwiseXor), _BITS),
    **dict.fromkeys((exp.BitwiseLeftShift, exp.BitwiseRightShift), _BITS),
    **dict.fromkeys((exp.EQ, exp.NEQ, exp.GT, exp.GTE, exp.LT, exp.LTE), _PREDICATE),
    **dict.fromkeys((exp.NullSafeEQ, exp.NullSafeNEQ), _PREDICATE),
    **dict.fromkeys((exp.Is, exp.In, exp.Between, exp.Like, exp.ILike, exp.RegexpLike), _PREDICATE),
    exp.DPipe: _TEXTS,
    exp.Not: _NOT,
    exp.And: _AND,
    exp.Or: _OR,
}
_FROM_THE_LEFT = frozenset({_PRODUCT, _SUM, _TEXTS, _AND, _OR})
"""Of these, both read several beside each other from the left."""
_UNCLEAR = frozenset({_TEXTS, _BITS})
"""Spark orders these among each other and beside sums, the parser otherwise."""


def check_precedence(syntax: Syntax) -> None:
    """Check that operators without parentheses bind as Spark has it.

    Raises:
        Untranslatable: It is not sure.

    Example:
        >>> from streamshed.network.sql.sql_syntax import read_sql
        >>> check_precedence(read_sql("a - b - c * 2 > 3 AND NOT d = (e & f)"))
        >>> check_precedence(read_sql("a = b = c"))
        Traceback (most recent call last):
        streamshed.columnar.untranslatable.Untranslatable: operators beside each other without parentheses are ...
    """
    for node in syntax.nodes:
        if node.parent is None or type(node) not in _PRECEDENCES or type(node.parent) not in _PRECEDENCES:
            continue
        if not _is_clear(node, _PRECEDENCES[type(node)], _PRECEDENCES[type(node.parent)]):
            raise Untranslatable("operators beside each other without parentheses are evaluated by Spark: add some")


def _is_clear(node: Tree, inner: int, outer: int) -> bool:
    """Whether an operator is an operand of another one in Spark as well."""
    if inner == outer:
        return inner in (_NOT, _UNARY) or (inner in _FROM_THE_LEFT and node.arg_key == "this")
    if outer in _UNCLEAR:
        return inner == _UNARY
    if inner in _UNCLEAR:
        return outer <= _PREDICATE
    return inner > outer
