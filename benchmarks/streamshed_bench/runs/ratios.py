"""Two ways of doing one thing, measured in turn: their order, the ratios of neighbors, and the ratios' median."""

import math
import statistics
from collections.abc import Sequence
from dataclasses import dataclass
from enum import Enum


class Side(Enum):
    """Which of the two."""

    A = "a"
    B = "b"


@dataclass(frozen=True, slots=True, kw_only=True)
class MedianInterval:
    """A median and the ends of its confidence interval."""

    median: float
    low: float
    high: float


def interleaved(pairs: int) -> tuple[Side, ...]:
    """Order the measurements of pairs as A B, B A, A B, ...: whatever drifts slowly weighs on both sides alike.

    Args:
        pairs: How many pairs, at least 0.

    Example:
        >>> "".join(side.name for side in interleaved(4))
        'ABBAABBA'
    """
    return tuple(side for pair in range(pairs) for side in ((Side.A, Side.B) if pair % 2 == 0 else (Side.B, Side.A)))


def paired_ratios(order: Sequence[Side], seconds: Sequence[float]) -> tuple[float, ...]:
    """Return B's seconds ÷ A's seconds in each pair of neighbors: how many times as fast A is as B.

    Args:
        order: Whose turn it was, as `interleaved` returns it.
        seconds: How long each turn took, above 0.

    Raises:
        ValueError: They do not match, or a pair does not hold one of each.

    Example:
        >>> paired_ratios(interleaved(2), [2.0, 1.0, 1.5, 1.0])
        (0.5, 1.5)
    """
    if len(order) != len(seconds) or len(order) % 2:
        raise ValueError(f"pairs need as many turns as times, and two of each; got {len(order)} and {len(seconds)}")
    ratios = []
    for first in range(0, len(order), 2):
        pair = dict(zip(order[first : first + 2], seconds[first : first + 2], strict=True))
        if len(pair) != 2:
            raise ValueError(f"turns {first} and {first + 1} are both {order[first].name}, expected one of each")
        ratios.append(pair[Side.B] / pair[Side.A])
    return tuple(ratios)


def median_interval(values: Sequence[float], *, confidence: float = 0.95) -> MedianInterval:
    """Return the median and an interval that holds the true one with a probability of at least `confidence`.

    The interval is distribution-free: with X binomial(n, 1/2) and k the largest number with
    P(X < k) ≤ (1 − confidence)/2, it runs from the k-th smallest value to the k-th largest. With fewer than
    six values (at 0.95) no k is enough, and it runs from the smallest to the largest.

    Args:
        values: At least one.
        confidence: In (0, 1).

    Raises:
        ValueError: There are no values.

    Example:
        >>> median_interval([float(value) for value in range(1, 31)])
        MedianInterval(median=15.5, low=10.0, high=21.0)
    """
    if not values:
        raise ValueError("a median needs at least one value")
    ordered = sorted(values)
    rank = _rank(len(ordered), (1 - confidence) / 2)
    return MedianInterval(median=statistics.median(ordered), low=ordered[rank - 1], high=ordered[-rank])


def _rank(count: int, tail: float) -> int:
    """Find the rank that `median_interval` calls k."""
    below = 0.0
    for k in range(count // 2 + 1):
        below += math.comb(count, k) / 2**count
        if below > tail:
            return max(k, 1)
    return max(count // 2, 1)
