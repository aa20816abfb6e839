"""What a predicate looks at: predicates that compare one value with constants have few outcomes together."""

from __future__ import annotations

from functools import lru_cache

import sqlglot
from sqlglot import exp

from streamshed.network.sql.sql_syntax import Tree

_COMPARISONS = (exp.EQ, exp.NEQ, exp.GT, exp.GTE, exp.LT, exp.LTE, exp.NullSafeEQ)


@lru_cache(maxsize=16384)
def dimension(predicate: str) -> str:
    """Return the text of the value that a predicate compares with constants, or else the predicate's own.

    n predicates of one dimension split the values into about n + 1 parts, n of different ones the rows into up to 2ⁿ.

    >>> dimension("size > 1000"), dimension("NOT (size = 3)"), dimension("size IN (1, 2)")
    ('size', 'size', 'size')
    >>> dimension("80 = `port` % 128"), dimension("size > port")
    ('`port` % 128', 'size > port')
    """
    value = _compared(sqlglot.parse_one(predicate, dialect="spark"))
    return predicate if value is None else value.sql(dialect="spark")


def _compared(tree: Tree) -> Tree | None:
    value: Tree = tree.this
    constants: list[Tree] = []
    if isinstance(tree, exp.Paren | exp.Not):
        return _compared(value)
    if isinstance(tree, exp.In):
        constants = tree.expressions or [value]
    elif isinstance(tree, exp.Between):
        constants = [tree.args["low"], tree.args["high"]]
    elif isinstance(tree, _COMPARISONS):
        constants = [tree.expression]
        if _is_constant(value):
            value, constants = tree.expression, [value]
    elif not isinstance(tree, exp.Is):
        return None
    return value if all(map(_is_constant, constants)) and not _is_constant(value) else None


def _is_constant(tree: Tree) -> bool:
    return tree.find(exp.Column, exp.Anonymous, exp.Rand) is None
