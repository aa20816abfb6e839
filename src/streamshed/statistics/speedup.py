"""Rows on other workers than those that costs are known for, and rows that are not read."""

from collections.abc import Mapping
from types import MappingProxyType

UNREAD_COST = 0.03
"""What a row costs that is not read, of what it takes to read it: files are opened, and blocks passed over."""

SCATTERED_COST = 3.0
"""What a row of a scattered block is believed to cost, of what it takes where all blocks are read: a library that reads
pages one by one takes longer for each than one that reads them all."""
BUNDLE_COST = 3.0
"""What each bundle of neighboring blocks is believed to take besides: as long as so many of its blocks take where all
are read."""


def costed(
    rows: Mapping[str, int], speedup: float, work_per_row: Mapping[str, float] = MappingProxyType({})
) -> Mapping[str, float]:
    """Return how many rows of one unit of work the workers that costs are known for would do in the same time.

    Costs per row are learned on some number of workers. On others, the same rows take as long as fewer or more of them
    would; what does not depend on rows stays. What a row of a join takes depends on what it is compared with: there
    costs are learned per unit of work.

    Args:
        rows: By stream.
        speedup: How many times faster rows are worked off, above 0.
        work_per_row: By stream, how many units of work a row is; 1 of a stream that is left out.

    Example:
        >>> costed({"packets": 1000}, 4.0)
        {'packets': 250.0}
        >>> costed({"packets": 1000, "pairs": 100}, 1.0, {"pairs": 25.0})
        {'packets': 1000, 'pairs': 2500.0}
    """
    if speedup == 1 and not work_per_row:
        return rows
    return {
        stream: count
        if speedup == 1 and stream not in work_per_row
        else count * work_per_row.get(stream, 1.0) / speedup
        for stream, count in rows.items()
    }


def scattered_cost(width: float, factor: float = 1.0) -> float:
    """Return what a row costs that is read while others are not, of what it takes where all are: s, at least 1.

    For bundles of w blocks it is k·(`SCATTERED_COST` + `BUNDLE_COST`/w).

    Args:
        width: w.
        factor: k, how many times as long it takes as is believed.

    Example:
        >>> scattered_cost(1), scattered_cost(4), scattered_cost(1, factor=0.5), scattered_cost(4, factor=0.1)
        (6.0, 3.75, 3.0, 1.0)
    """
    return max(1.0, factor * (SCATTERED_COST + BUNDLE_COST / width))


def reading_cost(read_share: float, scattered_cost: float) -> float:
    """Return what reading takes, of all that it takes to read every row, where a share of the rows is read.

    No more than to read them all: that is what is done where so many blocks are scattered that it is faster.

    Args:
        read_share: In (0, 1].
        scattered_cost: What a row costs that is read, of what it takes where all are, at least 1.

    Example:
        >>> reading_cost(0.1, 2.0), reading_cost(0.8, 2.0), reading_cost(0.5, 1.0)
        (0.227, 1.0, 0.515)
    """
    return min(1.0, scattered_cost * read_share + (1.0 - read_share) * UNREAD_COST)


def check_speedup(speedup: float, where: str) -> None:
    """Raise ValueError unless a speedup is positive and finite.

    Args:
        speedup: The value.
        where: Whose it is, for the message.
    """
    if not 0 < speedup < float("inf"):
        raise ValueError(f"{where}: speedup must be positive and finite, got {speedup}")
