"""The figures of the benchmark `accuracy`: errors second by second, as [B04] §5.2 counts them."""

from __future__ import annotations

import statistics
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from streamshed.planning.load.network_load import CARRYING_SHARE

_DRAWS = 20_000


@dataclass(frozen=True, slots=True, kw_only=True)
class Errors:
    """How far off answers were.

    Args:
        largest: Second by second, the largest relative error of any query.
        by_query: Mean over seconds, per query.
    """

    largest: tuple[float, ...]
    by_query: Mapping[str, float]

    @property
    def mean(self) -> float:
        """Mean over seconds of the largest."""
        return statistics.fmean(self.largest)

    @property
    def worst(self) -> float:
        """The largest of all."""
        return max(self.largest)

    @property
    def seconds(self) -> int:
        """How many seconds."""
        return len(self.largest)


def errors_of(
    answered: Mapping[tuple[str, int], float], exact: Mapping[tuple[str, int], float], ends: Sequence[int]
) -> Errors:
    """Compare answers with the exact ones.

    Args:
        answered: By query and the second at which the window ends.
        exact: Likewise; 0 where a window has no rows, and is left out.
        ends: The seconds that count.

    Example:
        >>> answered = {("a", 1): 11.0, ("b", 1): 5.0, ("a", 2): 10.0, ("b", 2): 4.0}
        >>> exact = {("a", 1): 10.0, ("b", 1): 5.0, ("a", 2): 10.0, ("b", 2): 5.0}
        >>> found = errors_of(answered, exact, [1, 2])
        >>> round(found.mean, 3), round(found.worst, 3)
        (0.15, 0.2)
    """
    queries = sorted({query for query, _ in exact})
    errors = {
        (query, end): relative_error(answered[query, end], exact.get((query, end), 0.0))
        for query in queries
        for end in ends
    }
    return Errors(
        largest=tuple(max(errors[query, end] for query in queries) for end in ends),
        by_query={query: statistics.fmean(errors[query, end] for end in ends) for query in queries},
    )


def relative_error(answered: float, exact: float) -> float:
    """Return |answered − exact| ÷ |exact|; where nothing is right, anything else is wholly off, by 1.

    Example:
        >>> relative_error(9.0, 10.0), relative_error(0.0, 0.0), relative_error(5.0, 0.0)
        (0.1, 0.0, 1.0)
    """
    if exact == 0:
        return 0.0 if answered == 0 else 1.0
    return abs(answered - exact) / abs(exact)


def expected_largest(standard_errors: Sequence[float]) -> float:
    """Return the mean of the largest of several errors that are normal, and independent of each other.

    Example:
        >>> round(expected_largest([0.1]), 3), round(expected_largest([0.1] * 7), 3)
        (0.08, 0.172)
    """
    draws = np.abs(np.random.default_rng(0).standard_normal((_DRAWS, len(standard_errors))))
    return float((draws * np.array(standard_errors)).max(axis=1).mean())


def carrying_group_error(answered: Mapping[int, float], exact: Mapping[int, float]) -> float:
    """Return the mean relative error over the groups that carry 95 % of the rows; one that is missing is off by 1.

    Where there are no rows no group is off.

    Example:
        >>> carrying_group_error({80: 95.0}, {80: 100.0, 443: 100.0, 22: 1.0}), carrying_group_error({}, {})
        (0.525, 0.0)
    """
    total, carried = sum(exact.values()), 0.0
    errors = []
    for group, count in sorted(exact.items(), key=lambda item: (-item[1], item[0])):
        if carried >= CARRYING_SHARE * total:
            break
        carried += count
        errors.append(relative_error(answered.get(group, 0.0), count))
    return statistics.fmean(errors or [0.0])
