"""Sums over micro-batches of which older ones count less."""

from __future__ import annotations

from collections.abc import Mapping

KEPT = 0.9
"""What is left of a measurement's weight one micro-batch later: ten micro-batches count."""


def faded(earlier: Mapping[str, float], newest: Mapping[str, float], left: float = KEPT) -> dict[str, float]:
    """Return sums after another micro-batch.

    Args:
        earlier: The sums before it, by name.
        newest: What it adds.
        left: What is left of the earlier ones.

    Example:
        >>> faded({"rows": 10.0, "seconds": 2.0}, {"rows": 1.0}, left=0.5)
        {'rows': 6.0, 'seconds': 1.0}
    """
    return {name: left * earlier.get(name, 0.0) + newest.get(name, 0.0) for name in {**earlier, **newest}}
