"""What a user gave, checked at run time whatever the annotations say."""

import sys
from collections.abc import Iterable, Iterator, Mapping

from streamshed.errors import InvalidNetworkError, Problem


def is_text(value: object) -> bool:
    """Whether a value is text."""
    return isinstance(value, str)


def is_filled_text(value: object) -> bool:
    """Whether a value is text with more than white space in it."""
    return isinstance(value, str) and bool(value.strip())


_BITS = 64


def is_whole_number(value: object, at_least: int | None = None) -> bool:
    """Whether a value is an int of 64 bits (no bool), and no less than a bound where one is given."""
    if not isinstance(value, int) or isinstance(value, bool) or value.bit_length() >= _BITS:
        return False
    return at_least is None or value >= at_least


def is_number(value: object) -> bool:
    """Whether a value is an int or a float (no bool)."""
    return isinstance(value, int | float) and not isinstance(value, bool)


def is_finite(value: object) -> bool:
    """Whether a value is a number that a float can hold.

    Example:
        >>> is_finite(3), is_finite(float("inf")), is_finite(10**400), is_finite("3")
        (True, False, False, False)
    """
    return isinstance(value, int | float) and is_number(value) and abs(value) <= sys.float_info.max


def is_a(value: object, *kinds: type) -> bool:
    """Whether a value is of one of some kinds."""
    return isinstance(value, kinds)


def is_of_connect(thing: object) -> bool:
    """Whether a session or a DataFrame is one of Spark Connect, whose Java is in another process."""
    return any(kind.__module__.startswith("pyspark.sql.connect") for kind in type(thing).__mro__)


def items_of(value: object) -> tuple[object, ...] | None:
    """Return what a collection holds; None: a value is text, or nothing that can be iterated over.

    Example:
        >>> items_of(["a", 5]), items_of("ab"), items_of(5)
        (('a', 5), None, None)
    """
    if isinstance(value, str) or not isinstance(value, Iterable):
        return None
    try:
        return tuple(value)
    except TypeError:  # An array without a dimension only says that it can be iterated over.
        return None


def given_names(what: str, value: object) -> tuple[str, ...]:
    """Return the names of a list.

    Args:
        what: What the list is called, such as "columns".
        value: What was given.

    Raises:
        InvalidNetworkError: It is no list of texts.

    Example:
        >>> given_names("columns", ["size", "ts"])
        ('size', 'ts')
        >>> given_names("columns", "size")
        Traceback (most recent call last):
        streamshed.errors.InvalidNetworkError: columns is a list, got "size": write ["size"]
    """
    if isinstance(value, str):
        raise InvalidNetworkError(f'{what} is a list, got "{value}": write ["{value}"]')
    items = None if isinstance(value, Mapping) else items_of(value)
    names = tuple(item for item in items or () if isinstance(item, str))
    if items is None or len(names) < len(items):
        raise InvalidNetworkError(Problem(f"{what} is a list of names", got=repr(value)))
    return names


def given_options(options: object) -> tuple[tuple[str, str], ...]:
    """Return Spark's options as the texts that Spark takes, sorted by name; None: there are none.

    Raises:
        InvalidNetworkError: They are no mapping of names to texts, numbers or truth values.

    Example:
        >>> given_options({"sep": ";", "header": True, "maxColumns": 9})
        (('header', 'true'), ('maxColumns', '9'), ('sep', ';'))
    """
    entries = {} if options is None else options
    if not isinstance(entries, Mapping):
        raise InvalidNetworkError(
            Problem('options are a mapping such as {"header": "true"}', got=type(options).__name__)
        )
    for name, value in entries.items():
        if not isinstance(name, str) or not isinstance(value, str | bool | int | float):
            raise InvalidNetworkError(
                f"an option is a name with a text, a number or a truth value, got {name!r} with a value of type"
                f" {type(value).__name__} (values may be passwords, and are not shown)"
            )
    return tuple(sorted((name, _option(value)) for name, value in entries.items()))


def option_problems(
    options: Iterable[tuple[str, str]], said_elsewhere: Mapping[str, str], refused: Mapping[str, str]
) -> Iterator[Problem]:
    """Find options of a connector that a network cannot be run with; their names are compared in lower case.

    Args:
        options: Names and values.
        said_elsewhere: Those that have a place of their own, and which.
        refused: Those that cannot be, and why.

    Example:
        >>> [str(problem) for problem in option_problems([("assign", "{}")], {}, {"assign": "subscribe instead"})]
        ['the option "assign" cannot be: subscribe instead']
    """
    for name, _ in options:
        if (place := said_elsewhere.get(name.lower())) is not None:
            yield Problem(f'the option "{name}" is said by `{place}`: leave it out', "options")
        elif (reason := refused.get(name.lower())) is not None:
            yield Problem(f'the option "{name}" cannot be: {reason}', "options")


def _option(value: object) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)
