"""Names, texts and settings as SQL writes them."""

from __future__ import annotations

import re
from collections.abc import Mapping

_PLAIN = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
_RESERVED = frozenset(
    (
        *("all", "and", "anti", "any", "apply", "as", "asc", "between", "by", "case"),
        *("cast", "cluster", "create", "cross", "desc", "distinct", "distribute", "drop", "else", "emit"),
        *("end", "except", "exists", "false", "fetch", "filter", "for", "from", "full", "group"),
        *("having", "hop", "in", "inner", "insert", "intersect", "interval", "into", "is", "join"),
        *("lateral", "left", "like", "limit", "natural", "not", "null", "offset", "on", "or"),
        *("order", "outer", "over", "parse", "primary", "qualify", "right", "select", "semi", "session"),
        *("set", "some", "sort", "table", "then", "true", "tumble", "union", "using", "values"),
        *("watermark", "when", "where", "window", "with"),
    )
)


def identifier(name: str) -> str:
    """Write a name, in backquotes where it needs them.

    Example:
        >>> identifier("size"), identifier("tcp-bytes"), identifier("group")
        ('size', '`tcp-bytes`', '`group`')
    """
    if _PLAIN.fullmatch(name) and name.lower() not in _RESERVED:
        return name
    return "`" + name.replace("`", "``") + "`"


def literal(value: object) -> str:
    r"""Write a value of a setting: a text, number, truth value, list, or settings again.

    Example:
        >>> literal("it's"), literal(["topic", "offset"]), literal({"header": True, "a.b": 5})
        ("'it''s'", "('topic', 'offset')", "(header = true, 'a.b' = 5)")
    """
    match value:
        case bool():
            return str(value).lower()
        case Mapping():
            return f"({', '.join(f'{_key(key)} = {literal(item)}' for key, item in value.items())})"
        case list() | tuple():
            return f"({', '.join(map(literal, value))})"
        case str():
            escaped = value.replace("\\", "\\\\").replace("'", "''")
            return f"'{escaped}'"
    return repr(value)


def _key(key: object) -> str:
    name = str(key)
    return name if _PLAIN.fullmatch(name) else literal(name)
