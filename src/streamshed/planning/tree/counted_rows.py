"""Rows that are counted above a function: at which rate, and what that leaves of the errors of queries below it."""

from __future__ import annotations

import math
from dataclasses import dataclass

from streamshed.planning.tree.demand import Demand

WORTH = 0.8
"""Rows are counted where that brings the squared error below this share of what it is without, all being counted."""

_LEAST_SHARE = 0.05
"""What is left of it is taken to be no less: that rows contribute alike is no reason to keep none of them."""


@dataclass(frozen=True, slots=True, kw_only=True)
class CountedDemand:
    """A query whose rows are counted above a function: of its squared error, what each of two rates makes up for.

    With S the rows that come to the function, N of which pass what follows, and c = (σ²+μ²)/(N·μ²), the relative
    variance is (c − 1/S)·(1−P)/P + (1/S)·(1−Q)/Q: P of the sample and Q of counting.

    Args:
        demand: The query without that: c.
        rows_of_window: S.
        is_scaled: Whether its worst aggregate counts or sums; an average gains nothing.
    """

    demand: Demand
    rows_of_window: float
    is_scaled: bool = True

    @property
    def is_worth_while(self) -> bool:
        """Whether enough of its squared error is saved if all are counted; a goal is met without that.

        Example:
            Half of the rows that come to the function are counted by the query: without knowing how many came, it
            would have twice the squared error.

            >>> count = CountedDemand(demand=Demand(query="count", coefficient=1 / 500), rows_of_window=1000)
            >>> count.is_worth_while, round(count.sample.coefficient * 1000), round(count.counting.coefficient * 1000)
            (True, 1, 1)
        """
        if not self.is_scaled or self.demand.is_protected or self.demand.goal is not None:
            return False
        return 0 < self.demand.coefficient < 1 and self._left <= WORTH * self.demand.coefficient

    @property
    def sample(self) -> Demand:
        """What the query asks of its sample."""
        return self._with(self.demand.query, max(self._left, _LEAST_SHARE * self.demand.coefficient))

    @property
    def counting(self) -> Demand:
        """What it asks of counting."""
        return self._with(f"{self.demand.query}: rows counted", 1 / self.rows_of_window, self.demand.query)

    @property
    def _left(self) -> float:
        return self.demand.coefficient - 1 / self.rows_of_window if self.rows_of_window > 0 else math.inf

    def _with(self, name: str, coefficient: float, counts_for: str | None = None) -> Demand:
        return Demand(
            query=name,
            coefficient=coefficient,
            weight=self.demand.weight,
            priority=self.demand.priority,
            counts_for=counts_for,
        )
