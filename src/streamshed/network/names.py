"""Which names streams, relations, queries, keys and aggregates may have."""

import re

from streamshed.errors import InvalidNetworkError

_NAME = re.compile(r"[^\W\d][\w.-]*")
_LONGEST = 100


def check_name(kind: str, name: object) -> None:
    """Refuse a name that could not be a view, a file or a column heading.

    Raises:
        InvalidNetworkError: The name is no text, too long, does not begin with a letter, or holds more than
            letters, digits, `_`, `-` and `.`.

    Example:
        >>> check_name("query", "tcp bytes")
        Traceback (most recent call last):
        streamshed.errors.InvalidNetworkError: a query cannot be named "tcp bytes": use letters, digits, ...
    """
    if (problem := name_problem(kind, name)) is not None:
        raise InvalidNetworkError(problem)


def name_problem(kind: str, name: object) -> str | None:
    """Tell what is wrong with a name; None where nothing is."""
    if not isinstance(name, str):
        return f"a name ({kind}) is text, got {name!r}"
    article = "an" if kind[0] in "aeiou" else "a"
    if not _NAME.fullmatch(name):
        return f'{article} {kind} cannot be named "{name}": use letters, digits, _, - and ., a letter first'
    if len(name) > _LONGEST:
        return f'{article} {kind} cannot be named "{name}": more than {_LONGEST} characters'
    return None
