"""Which names streams, relations, queries, columns, keys and aggregates may have."""

import re

from streamshed.errors import InvalidNetworkError, Problem

_NAME = re.compile(r"[^\W\d][\w.-]*")
_LONGEST = 100
_RESERVED = "__"


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


def reserved_problem(kind: str, name: str, way_out: str = "rename it") -> Problem | None:
    """Tell if a name begins as those of the columns do that streamshed adds to a stream; None where it does not.

    Args:
        kind: What has the name, such as "column".
        name: The name.
        way_out: What to do about it.

    Example:
        >>> print(reserved_problem("column", "__time"))
        the column "__time" begins with two underscores, as only columns of streamshed itself may: rename it
    """
    if not is_reserved(name):
        return None
    says = f'the {kind} "{name}" begins with two underscores, as only columns of streamshed itself may: {way_out}'
    return Problem(says, name=name)


def is_reserved(name: str) -> bool:
    """Whether a name begins with two underscores, as those of streamshed's own columns do."""
    return name.startswith(_RESERVED)
