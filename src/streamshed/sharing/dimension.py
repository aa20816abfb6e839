"""What a predicate looks at: predicates that compare one value with constants have few outcomes together."""

from __future__ import annotations

from functools import lru_cache

import sqlglot
from sqlglot import exp

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
    tree = sqlglot.parse_one(predicate, dialect="spark")
    value = _compared(tree)
    return predicate if value is None else value.sql(dialect="spark")


def _compared(tree: exp.Expression) -> exp.Expression | None:
    if isinstance(tree, exp.Paren | exp.Not):
        return _compared(tree.this)
    if isinstance(tree, exp.Is):
        return tree.this
    if isinstance(tree, exp.In):
        return tree.this if tree.expressions and all(map(_is_constant, tree.expressions)) else None
    if isinstance(tree, exp.Between):
        return tree.this if _is_constant(tree.args["low"]) and _is_constant(tree.args["high"]) else None
    if isinstance(tree, _COMPARISONS):
        left, right = tree.this, tree.expression
        if _is_constant(left) is not _is_constant(right):
            return right if _is_constant(left) else left
    return None


def _is_constant(tree: exp.Expression) -> bool:
    return tree.find(exp.Column, exp.Anonymous, exp.Rand) is None
