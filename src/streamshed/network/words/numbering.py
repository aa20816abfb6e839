"""Numbers in the place of time: windows along a column of whole numbers, such as the last 1000 rows.

[T06] §2 cuts windows along any *windowing attribute* whose values do not fall. Here one number is, inside, one
millisecond of event time, the step of Spark's watermark: what is said of microseconds of time holds for numbers.
"""

import re

from streamshed.errors import InvalidNetworkError, Problem
from streamshed.network.words.duration import format_duration, parse_duration
from streamshed.network.words.given import is_whole_number

MICROSECONDS_PER_NUMBER = 1_000

LARGEST_NUMBER = 62_000_000_000_000
"""Beyond ± this, Spark's watermark has no date: such rows cannot be read."""

MOST_ROWS = 1_000_000
"""No window of rows holds more: of each group, state holds as many."""

_ROWS = re.compile(r"\brows?\s*$", re.IGNORECASE)
_ROW_COUNT = re.compile(r"\s*([0-9]{1,18})\s*rows?\s*", re.IGNORECASE)

WHOLE_NUMBER_TYPES = frozenset({"tinyint", "smallint", "int", "bigint"})


def parse_length(length: object, *, is_numbered: bool) -> int:
    """Read how long a window, a slide or a watermark is, in the microseconds that it is inside.

    Args:
        length: A whole number, or a duration as `parse_duration` takes it.
        is_numbered: Whether it is of a stream that has numbers in the place of time.

    Raises:
        InvalidNetworkError: It is not what such a stream needs.

    Example:
        >>> parse_length(1000, is_numbered=True), parse_length("1 second", is_numbered=False)
        (1000000, 1000000)
        >>> parse_length("1 second", is_numbered=True)
        Traceback (most recent call last):
        streamshed.errors.InvalidNetworkError: expected a whole number such as 1000, because the stream has numbers, \
not time, got '1 second'
    """
    if is_numbered:
        return _parse_number(length)
    if is_whole_number(length):
        raise InvalidNetworkError(
            f'a duration is text such as "5 minutes", got {length!r}: windows of so many rows need a stream'
            " with a number, not a time"
        )
    return parse_duration(length)  # type: ignore[arg-type]


def format_length(microseconds: int, *, is_numbered: bool) -> str:
    """Write a length, the inverse of `parse_length`.

    >>> format_length(1_000_000, is_numbered=True), format_length(1_000_000, is_numbered=False)
    ('1000', '1 second')
    """
    return str(microseconds // MICROSECONDS_PER_NUMBER) if is_numbered else format_duration(microseconds)


def parse_window_length(length: object, *, is_numbered: bool, is_by_count: bool) -> int:
    """Read how long a window or a slide is, or an offset.

    Args:
        length: What was written.
        is_numbered: Whether it is of a stream that has numbers in the place of time.
        is_by_count: Whether the window's size is in rows.

    Raises:
        InvalidNetworkError: It is not what such windows need.

    Example:
        >>> parse_window_length("10 rows", is_numbered=False, is_by_count=True)
        10000
    """
    return parse_rows(length) if is_by_count else parse_length(length, is_numbered=is_numbered)


def is_row_count(length: object) -> bool:
    """Whether a length is in rows, right or wrong.

    >>> is_row_count("100 rows"), is_row_count("1 minute"), is_row_count(100)
    (True, False, False)
    """
    return isinstance(length, str) and _ROWS.search(length) is not None


def parse_rows(length: object) -> int:
    """Read the size or the slide of a window of rows; each row counts as `MICROSECONDS_PER_NUMBER`.

    Raises:
        InvalidNetworkError: It is not a number of rows.

    Example:
        >>> parse_rows("100 rows")
        100000
        >>> parse_rows("1 minute")
        Traceback (most recent call last):
        streamshed.errors.InvalidNetworkError: expected a number of rows such as "10 rows", as the window's size is \
one, got '1 minute'
    """
    rows_match = _ROW_COUNT.fullmatch(length) if isinstance(length, str) else None
    if rows_match is None:
        raise InvalidNetworkError(
            Problem('expected a number of rows such as "10 rows", as the window\'s size is one', got=repr(length))
        )
    rows = int(rows_match.group(1))
    if not 0 < rows <= MOST_ROWS:
        raise InvalidNetworkError(
            Problem(f'expected from "1 row" to "{MOST_ROWS} rows", which state has to hold', got=repr(length))
        )
    return rows * MICROSECONDS_PER_NUMBER


def format_rows(microseconds: int) -> str:
    """Write a number of rows, the inverse of `parse_rows`.

    >>> format_rows(1_000), format_rows(100_000)
    ('1 row', '100 rows')
    """
    rows = microseconds // MICROSECONDS_PER_NUMBER
    return "1 row" if rows == 1 else f"{rows} rows"


def _parse_number(length: object) -> int:
    if not isinstance(length, int) or isinstance(length, bool):
        raise InvalidNetworkError(
            Problem("expected a whole number such as 1000, because the stream has numbers, not time", got=repr(length))
        )
    if not 0 <= length <= LARGEST_NUMBER:
        raise InvalidNetworkError(Problem(f"expected a whole number from 0 to {LARGEST_NUMBER}", got=str(length)))
    return length * MICROSECONDS_PER_NUMBER
