"""Numbers in the place of time: windows along a column of whole numbers, such as the last 1000 rows.

[T06] §2 cuts windows along any *windowing attribute* whose values do not fall. Here one number is, inside, one
millisecond of event time, the step of Spark's watermark: what is said of microseconds of time holds for numbers.
"""

from streamshed.errors import InvalidNetworkError
from streamshed.network.duration import format_duration, parse_duration
from streamshed.network.given import is_whole_number

MICROSECONDS_PER_NUMBER = 1_000

LARGEST_NUMBER = 62_000_000_000_000
"""Beyond ± this, Spark's watermark has no date: such rows cannot be read."""

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


def _parse_number(length: object) -> int:
    if not isinstance(length, int) or isinstance(length, bool):
        raise InvalidNetworkError(
            f"expected a whole number such as 1000, because the stream has numbers, not time, got {length!r}"
        )
    if not 0 <= length <= LARGEST_NUMBER:
        raise InvalidNetworkError(f"expected a whole number from 0 to {LARGEST_NUMBER}, got {length}")
    return length * MICROSECONDS_PER_NUMBER
