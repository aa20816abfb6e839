"""How the cost of a row grows with the number of queries, or of groups."""

import itertools
import math
from collections.abc import Mapping


def worst_doubling(rows_per_second: Mapping[int, float]) -> float:
    """Return by which factor the cost of a row grows per doubling, between the worst two neighboring sizes.

    Between sizes n < m with speeds v(n), v(m) the factor per doubling is (v(n)/v(m))^(1/log2(m/n)).

    Args:
        rows_per_second: Speed by size; at least two sizes.

    Example:
        >>> worst_doubling({7: 3e6, 14: 2e6, 56: 0.5e6})
        2.0
    """
    if len(rows_per_second) < 2:
        raise ValueError(f"growth needs at least two sizes, got {len(rows_per_second)}")
    return max(
        math.pow(rows_per_second[few] / rows_per_second[many], 1 / math.log2(many / few))
        for few, many in itertools.pairwise(sorted(rows_per_second))
    )
