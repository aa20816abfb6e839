"""The load that is sustained without shedding."""

from __future__ import annotations

from collections.abc import Callable

from streamshed.errors import InvalidStatisticsError

_MOST_STEPS = 100
_PRECISION = 1e-12


def sustained_factor(unshed_seconds: Callable[[float], float], budget_seconds: float) -> float:
    """Return the factor on all rows per second at which everything just fits.

    Args:
        unshed_seconds: What a micro-batch takes at a factor, nothing shed; it never falls.
        budget_seconds: What it may take.

    Raises:
        InvalidStatisticsError: None is sustained, or every one is.

    Example:
        >>> round(sustained_factor(lambda factor: 0.4 + 0.3 * factor, 1.6), 6)
        4.0
    """
    if unshed_seconds(0.0) >= budget_seconds:
        raise InvalidStatisticsError(
            f"no load is sustained: a micro-batch without rows takes {unshed_seconds(0.0):.3g} s already, of the"
            f" {budget_seconds:.3g} s that it may: a longer trigger?"
        )
    high = 1.0
    while (above := unshed_seconds(high) - budget_seconds) < 0:
        high *= 2
        if high > 1e18:
            raise InvalidStatisticsError("no row costs anything: do the statistics hold rows per second and costs?")
    return _root(unshed_seconds, budget_seconds, high, above)


def _root(unshed_seconds: Callable[[float], float], budget_seconds: float, high: float, above: float) -> float:
    """Where it meets the budget, by regula falsi, as the way there is nearly straight.

    An end that stays counts half (the Illinois rule), so that both ends come nearer. Each fourth step halves.
    """
    if above <= _PRECISION * budget_seconds:
        return high
    low, below = 0.0, unshed_seconds(0.0) - budget_seconds
    stayed = 0
    for step in range(_MOST_STEPS):
        if high - low <= _PRECISION * high:
            break
        middle = (low + high) / 2 if step % 4 == 3 else low + (high - low) * -below / (above - below)
        over = unshed_seconds(middle) - budget_seconds
        if abs(over) <= _PRECISION * budget_seconds:
            return middle
        if over < 0:
            low, below, above, stayed = middle, over, above / 2 if stayed < 0 else above, -1
        else:
            high, above, below, stayed = middle, over, below / 2 if stayed > 0 else below, 1
    return low
