"""Rows on other workers than those that costs are known for."""

from collections.abc import Mapping


def costed(rows: Mapping[str, int], speedup: float) -> Mapping[str, float]:
    """Return how many rows the workers that costs are known for would work off in the same time.

    Costs per row are learned on some number of workers. On others, the same rows take as long as fewer or more of them
    would; what does not depend on rows stays.

    Args:
        rows: By stream.
        speedup: How many times faster rows are worked off, above 0.

    Example:
        >>> costed({"packets": 1000}, 4.0)
        {'packets': 250.0}
    """
    return rows if speedup == 1 else {stream: count / speedup for stream, count in rows.items()}


def check_speedup(speedup: float, where: str) -> None:
    """Raise ValueError unless a speedup is positive and finite.

    Args:
        speedup: The value.
        where: Whose it is, for the message.
    """
    if not 0 < speedup < float("inf"):
        raise ValueError(f"{where}: speedup must be positive and finite, got {speedup}")
