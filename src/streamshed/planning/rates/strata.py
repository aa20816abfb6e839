"""Queries of higher priority are served first, whatever they are served with: the loop around every solver."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import TypeVar

Served = TypeVar("Served")

EXACT = 1 - 1e-9
"""A share of rows or of windows that is no smaller is all of them: a linear program returns 1 but for rounding."""


def strata(priorities: Mapping[int, int]) -> Iterator[list[int]]:
    """Yield the queries of each priority, the highest first.

    Args:
        priorities: By the number of a query.

    Example:
        >>> list(strata({0: 5, 1: 100, 2: 5}))
        [[1], [0, 2]]
    """
    for priority in sorted(set(priorities.values()), reverse=True):
        yield [query for query, own in sorted(priorities.items()) if own == priority]


def by_priority(
    priorities: Mapping[int, int],
    least: Served,
    serve: Callable[[Served, list[int]], Served],
    is_exact: Callable[[Served, list[int]], bool],
) -> Served:
    """Serve the queries of one priority after the other, until those of one are not exact ([B04] §4.1).

    Whoever is of a lower priority than these is left with the least.

    Args:
        priorities: By the number of a query.
        least: What all have before anybody is served: nothing, or what was promised to them in any case.
        serve: Gives some queries more than that, as much as there is beside what those before them were given.
        is_exact: Whether some queries could not be given more.

    Example:
        Ten units are shared out; no query takes more than four.

        >>> def serve(units: list[int], members: list[int]) -> list[int]:
        ...     return [min(4, 10 - sum(units)) if query in members else own for query, own in enumerate(units)]
        >>> by_priority({0: 1, 1: 3, 2: 2, 3: 0}, [0, 0, 0, 0], serve, lambda units, m: all(units[q] == 4 for q in m))
        [2, 4, 4, 0]
    """
    served = least
    for members in strata(priorities):
        served = serve(served, members)
        if not is_exact(served, members):
            break
    return served
