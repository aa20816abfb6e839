"""Which expressions can be evaluated for any row without an error, whatever they cost."""

from __future__ import annotations

from collections.abc import Mapping

from sqlglot import exp

from streamshed.sharing.totality import parsed

_KINDS = {
    **dict.fromkeys(("tinyint", "smallint", "int", "bigint"), "whole"),
    **dict.fromkeys(("float", "double"), "real"),
    "string": "text",
    "boolean": "boolean",
}
_NUMBERS = frozenset({"whole", "real", "literal"})
_COMPARED = _NUMBERS | {"text", "boolean"}
_LOGICAL = (exp.And, exp.Or, exp.Not)
_COMPARISONS = (exp.EQ, exp.NEQ, exp.GT, exp.GTE, exp.LT, exp.LTE, exp.NullSafeEQ, exp.In, exp.Between)
_OF_TEXT: Mapping[type[exp.Expr], str] = {exp.Length: "whole", exp.Upper: "text", exp.Lower: "text", exp.Trim: "text"}
_ARITHMETIC = (exp.Add, exp.Sub, exp.Mul, exp.Div, exp.Mod)
_CASTS = {
    exp.DType.DOUBLE: ("real", _NUMBERS),
    exp.DType.BIGINT: ("whole", frozenset({"whole"})),
    exp.DType.TEXT: ("text", frozenset({"whole", "real", "boolean", "text"})),
}


def never_fails(sql: str, types: Mapping[str, str]) -> bool:
    """Tell whether an expression gives the same value of a row at every evaluation, and an error for none.

    Whatever is not known to be safe is not: arithmetic on whole numbers may overflow under ANSI SQL.

    Args:
        sql: The expression over columns of the straight line.
        types: All of their types.

    >>> never_fails("length(host) % 8", {"host": "string"}), never_fails("coalesce(a, 0) > 3", {"a": "bigint"})
    (True, True)
    >>> [never_fails(sql, {"a": "bigint", "x": "double"}) for sql in ("a + 1", "x * 2 / 3", "1 / x")]
    [False, True, False]
    """
    return _kind(parsed(sql), {name.lower(): kind for name, kind in types.items()}) is not None


def _kind(tree: exp.Expr, types: Mapping[str, str]) -> str | None:
    """The kind of values of an expression that never fails; None: it may, or nothing is known of it."""
    if isinstance(tree, exp.Paren):
        return _kind(tree.this, types)
    if isinstance(tree, exp.Column):
        kind = types.get(tree.name.lower()) if len(tree.parts) == 1 else None
        return None if kind is None else _KINDS.get(kind, kind)
    if isinstance(tree, exp.Boolean):
        return "boolean"
    if isinstance(tree, exp.Literal):
        return "text" if tree.is_string else "literal"
    if isinstance(tree, exp.Neg):
        return "literal" if isinstance(tree.this, exp.Literal) and not tree.this.is_string else None
    return _of_operands(tree, [_kind(child, types) for child in tree.iter_expressions()])


def _of_operands(tree: exp.Expr, kinds: list[str | None]) -> str | None:
    if isinstance(tree, exp.Is):
        return None if kinds[0] is None else "boolean"
    if isinstance(tree, _LOGICAL):
        return "boolean" if set(kinds) == {"boolean"} else None
    if isinstance(tree, _COMPARISONS):
        return "boolean" if tree.args.get("query") is None and _common(kinds) in _COMPARED else None
    if isinstance(tree, exp.Coalesce):
        return _common(kinds)
    if isinstance(tree, exp.Cast):
        into, taken = _CASTS.get(tree.to.this, (None, frozenset()))
        return into if kinds[0] in taken else None
    if isinstance(tree, exp.Binary) and isinstance(tree, _ARITHMETIC):
        return _of_numbers(tree, *kinds)
    return _OF_TEXT.get(type(tree)) if kinds == ["text"] else None


def _of_numbers(tree: exp.Binary, left: str | None, right: str | None) -> str | None:
    """The kind of an operation on numbers; None: it may divide by 0, or overflow as sums of whole numbers do."""
    if isinstance(tree, (exp.Div, exp.Mod)) and not _is_positive(tree.right):
        return None
    if left == "whole" and _is_whole(tree.right) and isinstance(tree, (exp.Div, exp.Mod)):
        return "whole" if isinstance(tree, exp.Mod) else "real"
    if isinstance(tree, exp.Mod):
        return None
    return "real" if "real" in (left, right) and {left, right} <= _NUMBERS else None


def _is_positive(tree: exp.Expr) -> bool:
    return isinstance(tree, exp.Literal) and not tree.is_string and float(tree.name) > 0


def _is_whole(tree: exp.Expr) -> bool:
    return isinstance(tree, exp.Literal) and bool(tree.is_int)


def _common(kinds: list[str | None]) -> str | None:
    """The kind that several values have in common."""
    distinct_kinds = set(kinds)
    if None in distinct_kinds or not distinct_kinds:
        return None
    if distinct_kinds <= _NUMBERS:
        return next(kind for kind in ("real", "whole", "literal") if kind in distinct_kinds)
    return distinct_kinds.pop() if len(distinct_kinds) == 1 else None
