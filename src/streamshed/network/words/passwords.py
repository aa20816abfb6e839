"""Passwords in texts that are shown: nobody is to read them there."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any
from urllib.parse import unquote

_KEYWORD = re.compile(
    r"(?P<before>(?:^|[\s?&'\"])(?:ssl)?password\s*=\s*)(?P<secret>'(?:[^'\\]|\\.)*'|[^\s'\"&]+)", re.IGNORECASE
)
_ADDRESS = re.compile(r"(?P<before>\b[a-z][a-z0-9+.-]*://[^/@:\s]*:)(?P<secret>[^/@\s]+)(?=@)", re.IGNORECASE)
_SECRET_KEY = re.compile(r"(?:.*[._-])?(?:password|secret|token|credential)", re.IGNORECASE)


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

    In a mapping, what its key calls a password, a secret, a token or a credential is one.

    Example:
        >>> without_passwords({"connection": "host=db password=secret"})
        {'connection': 'host=db password=******'}
        >>> without_passwords("postgresql://streams:secret@db/flows")
        'postgresql://streams:******@db/flows'
        >>> without_passwords({"catalog": {"uri": "https://lake", "s3.session-token": "secret"}, "tokens": "n"})
        {'catalog': {'uri': 'https://lake', 's3.session-token': '******'}, 'tokens': 'n'}
    """
    if isinstance(value, Mapping):
        return {
            key: "*" * len(element)
            if isinstance(element, str) and _SECRET_KEY.fullmatch(str(key))
            else without_passwords(element)
            for key, element in value.items()
        }
    if not isinstance(value, str):
        return value
    for pattern in (_KEYWORD, _ADDRESS):
        value = pattern.sub(lambda match: match["before"] + "*" * len(match["secret"]), value)
    return value
