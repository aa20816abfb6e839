"""The load that is sustained without shedding."""

from __future__ import annotations

from collections.abc import Callable

from streamshed.errors import InvalidStatisticsError

_HALVINGS = 100


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
    while unshed_seconds(high) < budget_seconds:
        high *= 2
        if high > 1e18:
            raise InvalidStatisticsError("no row costs anything: do the statistics hold rows per second and costs?")
    low = 0.0
    for _ in range(_HALVINGS):
        middle = (low + high) / 2
        low, high = (middle, high) if unshed_seconds(middle) < budget_seconds else (low, middle)
    return low
