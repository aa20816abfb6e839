"""Durations: text such as "5 minutes" outside, whole microseconds inside."""

import re
from fractions import Fraction

from streamshed.errors import InvalidNetworkError, Problem, closest_name
from streamshed.network.words.given import is_text

_MICROSECONDS_PER_UNIT = {
    "week": 604_800_000_000,
    "day": 86_400_000_000,
    "hour": 3_600_000_000,
    "minute": 60_000_000,
    "second": 1_000_000,
    "millisecond": 1_000,
    "microsecond": 1,
}
_ABBREVIATIONS = {
    "w": "week",
    "d": "day",
    "h": "hour",
    "hr": "hour",
    "m": "minute",
    "min": "minute",
    "s": "second",
    "sec": "second",
    "ms": "millisecond",
    "us": "microsecond",
    "µs": "microsecond",
}
_UNIT_NAMES = {
    **{name: name for name in _MICROSECONDS_PER_UNIT},
    **{f"{name}s": name for name in _MICROSECONDS_PER_UNIT},
    **{f"{name}s": full for name, full in _ABBREVIATIONS.items() if name in ("hr", "min", "sec")},
    **_ABBREVIATIONS,
}
LONGEST = 2**60
"""The longest duration, microseconds: sums of a few instants and durations are instants yet."""
_LONGEST_TEXT = 200
_PART = re.compile(r"\s*(?P<number>\d+(?:\.\d+)?)\s*(?P<unit>[^\W\d]+)\s*,?")


def parse_duration(text: str) -> int:
    """Read a duration as whole microseconds.

    Args:
        text: Numbers with units, such as "5 minutes", "200 ms" or "1 hour 30 minutes".

    Raises:
        InvalidNetworkError: No duration, an unknown unit, months or years (their length varies),
            or a fraction of a microsecond.

    Example:
        >>> parse_duration("1 hour 30 minutes")
        5400000000
        >>> parse_duration("1.5 s")
        1500000
        >>> parse_duration("5 minuts")
        Traceback (most recent call last):
        streamshed.errors.InvalidNetworkError: unknown unit "minuts" (did you mean "minutes"?) in "5 minuts"
    """
    if not is_text(text):
        raise InvalidNetworkError(Problem('a duration is text such as "5 minutes"', got=repr(text)))
    if len(text) > _LONGEST_TEXT:
        raise InvalidNetworkError(Problem(f"a duration has at most {_LONGEST_TEXT} characters", got=f'"{text}"'))
    total = Fraction(0)
    position = 0
    while match := _PART.match(text, position):
        total += Fraction(match["number"]) * _MICROSECONDS_PER_UNIT[_unit(match["unit"], text)]
        position = match.end()
    if position == 0 or text[position:].strip():
        raise InvalidNetworkError(
            f'"{text}" is no duration: write numbers with units, such as "5 minutes" or "1 hour 30 minutes"'
        )
    if total.denominator != 1:
        raise InvalidNetworkError(f'the duration "{text}" is no whole number of microseconds')
    if total > LONGEST:
        days = LONGEST // _MICROSECONDS_PER_UNIT["day"]
        raise InvalidNetworkError(f'the duration "{text}" is longer than {days} days')
    return int(total)


def format_duration(microseconds: int) -> str:
    """Write a duration, the inverse of `parse_duration`.

    Example:
        >>> format_duration(5_400_000_000)
        '1 hour 30 minutes'
        >>> format_duration(200_000)
        '200 milliseconds'
        >>> format_duration(0)
        '0 seconds'
    """
    if microseconds < 0:
        raise InvalidNetworkError(Problem("a duration cannot be negative", got=f"{microseconds} microseconds"))
    parts = []
    rest = microseconds
    for unit, length in _MICROSECONDS_PER_UNIT.items():
        if unit == "week":
            continue
        count, rest = divmod(rest, length)
        if count:
            parts.append(f"{count} {unit}" if count == 1 else f"{count} {unit}s")
    return " ".join(parts) or "0 seconds"


def _unit(name: str, text: str) -> str:
    unit = _UNIT_NAMES.get(name.lower())
    if unit is not None:
        return unit
    if name.lower().rstrip("s") in ("month", "year", "quarter"):
        raise InvalidNetworkError(f'the length of a {name.lower().rstrip("s")} varies, in "{text}": use days')
    candidates = [unit for unit in _UNIT_NAMES if len(unit) > 3]
    near_miss = closest_name(name.lower(), candidates)
    raise InvalidNetworkError(Problem(f'unknown unit "{name}"', source=text, near_miss=near_miss, name=name))
