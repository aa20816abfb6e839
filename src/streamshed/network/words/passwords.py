"""Passwords in texts that are shown: nobody is to read them there."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any
from urllib.parse import unquote

_KEYWORD = re.compile(
    r"(?P<before>(?:^|[\s?&'\"])(?:ssl)?password\s*=\s*)(?P<secret>'(?:[^'\\]|\\.)*'|[^\s'\"&]+)", re.IGNORECASE
)
_ADDRESS = re.compile(r"(?P<before>\bpostgres(?:ql)?://[^/@:\s]*:)(?P<secret>[^/@\s]+)(?=@)", re.IGNORECASE)


def holds_password(connection: str) -> bool:
    """Whether a connection to Postgres, as libpq takes it, holds a password.

    Example:
        >>> [holds_password(text) for text in ("host=db password=x", "postgres://u:x@db", "host=db user=password")]
        [True, True, False]
    """
    text = unquote(connection)
    return _KEYWORD.search(text) is not None or _ADDRESS.search(text) is not None


def without_passwords(value: Any) -> Any:
    """Return a text, or a mapping that holds texts, with as many asterisks in the place of each password.

    Example:
        >>> without_passwords({"connection": "host=db password=secret"})
        {'connection': 'host=db password=******'}
        >>> without_passwords("postgresql://streams:secret@db/flows")
        'postgresql://streams:******@db/flows'
    """
    if isinstance(value, Mapping):
        return {key: without_passwords(element) for key, element in value.items()}
    if not isinstance(value, str):
        return value
    for pattern in (_KEYWORD, _ADDRESS):
        value = pattern.sub(lambda match: match["before"] + "*" * len(match["secret"]), value)
    return value
