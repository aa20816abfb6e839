"""Ways to choose effective sampling rates, all behind one signature."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial

import numpy as np

from streamshed.errors import InvalidNetworkError, unknown_name
from streamshed.planning.rates.effective_rates import effective_rates
from streamshed.planning.rates.hoeffding import PAPERS_BOUND, HoeffdingSettings, hoeffding_rates
from streamshed.planning.rates.least_error import equal_error_rates, least_error_rates
from streamshed.planning.tree.demand import Demand
from streamshed.planning.tree.work_tree import Truths, Vector, WorkTree

RatePolicy = Callable[[WorkTree, Sequence[Demand], float], Vector]
"""(tree, demands, seconds that the tree's work may take) to the effective sampling rate of each query."""


def uniform_rates(tree: WorkTree, demands: Sequence[Demand], budget_seconds: float) -> Vector:
    """Drop rows at the inputs only, all queries alike: the baseline of [B04] §5.1.

    A stream with a protected query is kept whole for all.

    Example:
        >>> from streamshed.planning.tree.work_tree import WorkNode
        >>> tree = WorkTree((
        ...     WorkNode(name="packets", parent=None, seconds=1.0),
        ...     WorkNode(name="cheap", parent=0, seconds=1.0, query=0),
        ...     WorkNode(name="dear", parent=0, seconds=4.0, query=1),
        ... ))
        >>> uniform_rates(tree, [Demand(query=name, coefficient=0.01) for name in ("cheap", "dear")], 1.5).tolist()
        [0.25, 0.25]
    """
    whole_queries = {
        query
        for below, node in zip(tree.queries_below, tree.nodes, strict=True)
        if node.parent is None and any(demands[query].is_protected for query in below)
        for query in below
    }
    alike = [
        Demand(query=demand.query, coefficient=1.0, is_protected=number in whole_queries)
        for number, demand in enumerate(demands)
    ]

    def slopes(_tree: WorkTree, _seconds: Vector, _sunk: Truths, members: Truths) -> Vector:
        return members.astype(np.float64)

    return effective_rates(tree, alike, budget_seconds, slopes)


RATE_POLICIES: dict[str, RatePolicy] = {
    "uniform": uniform_rates,
    "hoeffding": hoeffding_rates,
    "least_error": least_error_rates,
    "equal_error": equal_error_rates,
}
"""By name, the simplest first."""

BY_SIZE = frozenset({"least_error", "equal_error"})
"""Those that choose rows by size where that serves; the paper's choose all alike."""

COUNTING = frozenset({"least_error"})
"""Those that have rows counted where that serves: its objective is the sum of what two rates make up for."""


HOEFFDING = "hoeffding"
"""The one that has settings of its own."""


def rate_policy_named(name: str, hoeffding: HoeffdingSettings = PAPERS_BOUND) -> RatePolicy:
    """Return a policy by its name.

    Args:
        name: One of `RATE_POLICIES`.
        hoeffding: Settings of the policy of that name.

    Raises:
        InvalidNetworkError: There is none of that name.

    Example:
        >>> rate_policy_named("hoefding")
        Traceback (most recent call last):
        streamshed.errors.InvalidNetworkError: unknown policy "hoefding", known are: ... (did you mean "hoeffding"?)
    """
    if name not in RATE_POLICIES:
        raise InvalidNetworkError(unknown_name("policy", name, RATE_POLICIES))
    return partial(hoeffding_rates, settings=hoeffding) if name == HOEFFDING else RATE_POLICIES[name]
