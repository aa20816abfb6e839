"""A short history as one line of text."""

from collections.abc import Sequence

_BARS = "▁▂▃▄▅▆▇█"


def sparkline(values: Sequence[float], *, top: float | None = None) -> str:
    """Draw values as bars, one character each.

    Args:
        values: At least 0.
        top: The value of the highest bar; None: the largest value.

    Example:
        >>> sparkline([0, 1, 2, 4, 8])
        '▁▁▂▄█'
        >>> sparkline([1, 1], top=2), sparkline([])
        ('▄▄', '')
    """
    highest = max(values, default=0.0) if top is None else top
    if highest <= 0:
        return _BARS[0] * len(values)
    return "".join(_BARS[_level(value / highest)] for value in values)


def _level(share: float) -> int:
    return min(len(_BARS) - 1, max(0, round(share * len(_BARS)) - 1))
