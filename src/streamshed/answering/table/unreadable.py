"""How a row that cannot be read travels to where it is set aside: as one text of its stream, reason, identity, text."""

from __future__ import annotations

FIELD_SEPARATOR = "\x1e"
"""Between the fields; the text, the last of them, may hold it."""
FIELDS = ("stream", "reason", "identity", "text")


def unreadable_fields(described: str) -> list[str]:
    r"""Return the fields of one.

    >>> unreadable_fields("s\x1ebroken\x1e4\x1ea\x1eb")
    ['s', 'broken', '4', 'a\x1eb']
    """
    return described.split(FIELD_SEPARATOR, len(FIELDS) - 1)
