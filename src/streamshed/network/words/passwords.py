"""Passwords in texts that are shown: nobody is to read them there."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any
from urllib.parse import unquote

_KEYWORD = re.compile(
    r"(?P<before>(?:^|[\s?&'\"])(?:ssl)?password\s*=\s*)(?P<secret>'(?:[^'\\]|\\.)*'|[^\s'\"&]+)", re.IGNORECASE
)
_SECRET_NAME = re.compile(
    r"password|passwd|secret|token|credential|jaas|user[._-]info|(?:access|account|private|api)[._-]?key"
    r"|keystore[._-]key|\b(?:basic|bearer)\.",
    re.IGNORECASE,
)
_SETTING = re.compile(
    rf"(?P<before>(?<![\w.-])(?=[\w-]+\.[\w-]+\.\w|(?:basic|bearer)\.)[\w.-]*(?:{_SECRET_NAME.pattern})[\w.-]*(?P<quote>['\"]?)\s*(?::\s|=)\s*)"
    r"(?P<secret>\[[^\]]*\]|\([^)]*\)|'(?:[^'\\]|\\.)*'|\"(?:[^\"\\]|\\.)*\"|[^\s'\",{}\[\]&]+)",
    re.IGNORECASE,
)
"""A name of Spark's and Kafka's, such as `kafka.ssl.key.password`, has two points: a column has none, or one.

What begins as who asks a registry does is hidden, however it goes on: `basic.auth.user.info` may be misspelt.
"""
_ALL_OPTIONS = re.compile(r"(?P<before>\boptions\s*(?::\s|=)\s*)(?P<secret>'[^']*'|\"[^\"]*\"|[^\s'\"{(][^\n,}]*)")
"""Options that are no mapping: what of it is a secret cannot be seen."""
_ADDRESS = re.compile(r"(?P<before>\b[a-z][a-z0-9+.-]*://[^/@:\s]*:)(?P<secret>[^/@\s]+)(?=@)", re.IGNORECASE)
_SECRET_KEY = re.compile(r"(?:.*[._-])?(?:password|secret|token|credential)", re.IGNORECASE)


HIDDEN = "******"
"""What stands in the place of a secret that is no text."""


def holds_password(connection: str) -> bool:
    """Whether a connection to Postgres, as libpq takes it, holds a password.

    Example:
        >>> [holds_password(text) for text in ("host=db password=x", "postgres://u:x@db", "host=db user=password")]
        [True, True, False]
    """
    text = unquote(connection)
    return _KEYWORD.search(text) is not None or _ADDRESS.search(text) is not None


def is_secret(name: object) -> bool:
    """Whether an option is called like one that holds a password, a key or a token.

    Example:
        >>> [is_secret(name) for name in ("kafka.sasl.jaas.config", "fs.s3a.secret.key", "startingVersion")]
        [True, True, False]
    """
    return isinstance(name, str) and _SECRET_NAME.search(name) is not None


def without_passwords(value: Any) -> Any:
    """Return a text, or a mapping that holds texts, with asterisks in the place of each password.

    What options with the name of a secret hold is one, in a mapping and in the text of a document. In a mapping, what
    its key calls a password, a secret, a token or a credential is one, too.

    Example:
        >>> without_passwords({"connection": "host=db password=secret"})
        {'connection': 'host=db password=******'}
        >>> without_passwords("postgresql://streams:secret@db/flows")
        'postgresql://streams:******@db/flows'
        >>> without_passwords({"options": {"kafka.ssl.key.password": ["a"], "kafka.acks": "all"}})
        {'options': {'kafka.ssl.key.password': '******', 'kafka.acks': 'all'}}
        >>> without_passwords('options: {kafka.ssl.key.password: "a b", kafka.acks: all}')
        'options: {kafka.ssl.key.password: *****, kafka.acks: all}'
        >>> without_passwords({"catalog": {"uri": "https://lake", "s3.session-token": "secret"}, "tokens": "n"})
        {'catalog': {'uri': 'https://lake', 's3.session-token': '******'}, 'tokens': 'n'}
    """
    if isinstance(value, Mapping):
        return {key: _without_secrets(key, element) for key, element in value.items()}
    if not isinstance(value, str):
        return value
    for pattern in (_KEYWORD, _ADDRESS, _SETTING, _ALL_OPTIONS):
        value = pattern.sub(lambda match: match["before"] + "*" * len(match["secret"]), value)
    return value


def _without_secrets(key: object, value: Any) -> Any:
    """Return what a mapping holds under a key."""
    if key == "options" and isinstance(value, Mapping):
        return {
            name: _hidden(option) if is_secret(name) else without_passwords(option) for name, option in value.items()
        }
    # A stream may be called "tokens"; names of options have several points.
    if str(key).count(".") > 1 and is_secret(key):
        return _hidden(value)
    return _hidden(value) if isinstance(value, str) and _SECRET_KEY.fullmatch(str(key)) else without_passwords(value)


def _hidden(value: object) -> str:
    return "*" * len(value) if isinstance(value, str) else HIDDEN
