"""Numbers as a person reads them: at most three digits, with their unit."""

import math

_PREFIXES = ((1e9, "G"), (1e6, "M"), (1e3, "k"))
_UNKNOWN = "–"


def count_text(count: float | None) -> str:
    """Write a number of rows.

    Example:
        >>> [count_text(count) for count in (0, 999, 12_345, 1_234_567, None)]
        ['0', '999', '12.3 k', '1.23 M', '–']
    """
    if count is None or not math.isfinite(count):
        return _UNKNOWN
    for size, prefix in _PREFIXES:
        if round(abs(count)) >= size:
            return f"{_three_digits(count / size)} {prefix}"
    return _three_digits(count)


def share_text(share: float | None) -> str:
    """Write a share as a percentage; what is small keeps its digits, and only all is 100 %.

    Example:
        >>> [share_text(share) for share in (1, 0.9996, 0.182, 0.0123, 0.000012, 0, None)]
        ['100 %', '99.9 %', '18.2 %', '1.23 %', '0.0012 %', '0 %', '–']
    """
    if share is None or not math.isfinite(share):
        return _UNKNOWN
    if 0.999 < share < 1:
        return "99.9 %"
    percentage = share * 100
    if 0 < abs(percentage) < 0.1:
        return f"{percentage:.2g} %"
    return f"{_three_digits(percentage)} %"


def seconds_text(seconds: float | None) -> str:
    """Write a duration.

    Example:
        >>> [seconds_text(seconds) for seconds in (0.0042, 1.234, 61.0, 3_725, None)]
        ['4 ms', '1.23 s', '1 min 1 s', '1 h 2 min', '–']
    """
    if seconds is None or not math.isfinite(seconds):
        return _UNKNOWN
    if seconds >= 3600:
        return f"{int(seconds // 3600)} h {int(seconds % 3600 // 60)} min"
    if seconds >= 60:
        return f"{int(seconds // 60)} min {int(seconds % 60)} s"
    if 0 < seconds < 0.1:
        return f"{round(seconds * 1000)} ms"
    return f"{_three_digits(seconds)} s"


def _three_digits(number: float) -> str:
    if abs(number) >= 100:
        return f"{number:.0f}"
    text = f"{number:.1f}" if abs(number) >= 10 else f"{number:.2f}"
    return text.rstrip("0").rstrip(".")
