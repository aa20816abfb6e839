"""The size of basic windows that nobody has said chooses itself: small where lags tell, larger where reads cost."""

from __future__ import annotations

import numpy as np

from streamshed.joins.model.join_windows import JoinWindows
from tests.property.joins.courses import Arrivals, run

SECOND = 1_000_000
WINDOWS = JoinWindows(16 * SECOND, 0, SECOND)
ROWS = 100
SHARE, LITTLE = 0.3, 0.08
"""Of the full join's cost; the latter is hardly more than a sixteenth of the lags."""
COURSE = 40
SETTLED = slice(24, None)
CHEAP = {"comparison": 1e-6, "result": 0.0, "read": 1e-6}
DEAR = {"comparison": 1e-6, "result": 0.0, "read": 2e-3}


def _arrivals(*, lag: int | None) -> list[Arrivals]:
    """Rows of which the right ones meet left ones that came so long before, or any, where it says None."""
    random = np.random.default_rng(7)
    found = []
    for number in range(COURSE):
        begin, end = number * SECOND, (number + 1) * SECOND
        left, right = (np.sort(random.integers(begin, end, ROWS)) for _ in range(2))
        if lag is None:
            keys = (random.integers(0, 40, ROWS), random.integers(0, 40, ROWS))
        else:
            keys = (left // (SECOND // 4) % 1009, (right - lag) // (SECOND // 4) % 1009)
        found.append(Arrivals((left, right), keys, begin))
    return found


def test_they_stay_small_where_results_lie_at_one_lag_and_reads_cost_little() -> None:
    arrivals = _arrivals(lag=6 * SECOND + SECOND // 2)
    chosen, stated = (
        run(WINDOWS, arrivals, "greedy", share=LITTLE, seconds=CHEAP, chooses_size=chooses) for chooses in (True, False)
    )
    assert set(chosen.multiples[SETTLED]) == {1.0}
    assert chosen.results[SETTLED].sum() == stated.results[SETTLED].sum()


def test_they_grow_where_all_lags_are_alike_and_reads_cost_much() -> None:
    arrivals = _arrivals(lag=None)
    chosen, stated = (
        run(WINDOWS, arrivals, "greedy", share=SHARE, seconds=DEAR, chooses_size=chooses) for chooses in (True, False)
    )
    assert chosen.multiples[0] == 1.0
    assert len(set(chosen.multiples[SETTLED])) == 1
    assert chosen.multiples[-1] > 1.0
    per_second = [course.results[SETTLED].sum() / course.cost[SETTLED].sum() for course in (chosen, stated)]
    assert per_second[0] > 1.2 * per_second[1]
