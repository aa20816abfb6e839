"""Which expressions can be evaluated for any row: no error, no cost worth a guard."""

from __future__ import annotations

from collections.abc import Mapping
from functools import lru_cache

import sqlglot
from sqlglot import exp

_NUMERIC = frozenset({"tinyint", "smallint", "int", "bigint", "float", "double"})
_LOGICAL = (exp.And, exp.Or, exp.Not, exp.Paren)
_COMPARISONS = (exp.EQ, exp.NEQ, exp.GT, exp.GTE, exp.LT, exp.LTE, exp.NullSafeEQ, exp.In, exp.Between)


def is_total(sql: str, types: Mapping[str, str | None]) -> bool:
    """Tell whether an expression can neither fail nor cost much, whatever the row.

    Only comparisons between columns and literals of one family of types, and their Boolean combinations, are. All
    else (arithmetic, casts, functions) may raise under ANSI SQL for a row that an earlier filter has removed.

    Args:
        sql: The expression over columns of the straight line.
        types: Their types, where known.

    >>> is_total("size >= 0 AND dest_port IN (80, 443)", {"size": "int", "dest_port": "int"})
    True
    >>> is_total("1 / size > 3", {"size": "int"}), is_total("size = 3", {"size": "string"})
    (False, False)
    """
    lowered = {name.lower(): kind for name, kind in types.items()}
    return _is_total(parsed(sql), lowered)


@lru_cache(maxsize=16384)
def parsed(sql: str) -> exp.Expr:
    """Read an expression."""
    return sqlglot.parse_one(sql, dialect="spark")


def _is_total(tree: exp.Expr, types: Mapping[str, str | None]) -> bool:
    if isinstance(tree, _LOGICAL):
        return all(_is_total(child, types) for child in tree.iter_expressions())
    if isinstance(tree, exp.Is):
        return _family(tree.this, types) is not None
    if isinstance(tree, _COMPARISONS):
        if tree.args.get("query") is not None:
            return False
        families = {_family(child, types) for child in tree.iter_expressions()}
        return None not in families and len(families) == 1
    return _family(tree, types) == "boolean"


def _family(tree: exp.Expr, types: Mapping[str, str | None]) -> str | None:
    """The family of types of a column or literal; None for whatever else, or where it is not known."""
    if isinstance(tree, exp.Paren):
        return _family(tree.this, types)
    if isinstance(tree, exp.Neg):
        return "number" if isinstance(tree.this, exp.Literal) and not tree.this.is_string else None
    if isinstance(tree, exp.Literal):
        return "text" if tree.is_string else "number"
    if isinstance(tree, exp.Boolean):
        return "boolean"
    if isinstance(tree, exp.Column) and len(tree.parts) == 1:
        kind = types.get(tree.name.lower())
        if kind in _NUMERIC:
            return "number"
        return {"string": "text", "boolean": "boolean"}.get(kind or "")
    return None
