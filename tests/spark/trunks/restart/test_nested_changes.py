"""Open windows of nested aggregates go on when a query over them begins or ceases to tolerate gaps."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

import pytest

from streamshed.network.model.query import Query
from tests.spark.trunks.outcome import Outcome
from tests.spark.trunks.scenario import Scenario, Setting
from tests.spark.trunks.windows_of_duckdb import ExactWindows

TOLERANT: dict[str, Any] = {"mode": "subset", "max_gap": 3}
EXACT: dict[str, Any] = {"mode": "exact"}
GAPLESS: dict[str, Any] = {"mode": "subset", "max_gap": 0}

Asked = Sequence[dict[str, Any]]
CHANGES: dict[str, tuple[Asked, Asked]] = {
    "to_subset": ([EXACT], [TOLERANT]),
    "to_exact": ([TOLERANT], [EXACT]),
    "to_no_gaps": ([TOLERANT], [GAPLESS]),
    "from_no_gaps": ([GAPLESS], [TOLERANT]),
    "an_exact_twin_comes": ([TOLERANT], [TOLERANT, EXACT]),
    "an_exact_twin_goes": ([TOLERANT, EXACT], [TOLERANT]),
    "an_exact_twin_takes_over": ([TOLERANT, EXACT], [EXACT]),
}
"""How queries over answers of one aggregate are asked before and after the stop."""


def _queries(setting: Setting) -> Iterable[Query]:
    for least, (change, asked) in enumerate(CHANGES.items()):
        rows = setting["events"].filter(f"v > {least}")
        sums = rows.window("12 seconds", every="4 seconds").by("g").agg(total="sum(v)")
        nested = sums.window("20 seconds", every="10 seconds").agg(total="sum(total)")
        for number, settings in enumerate(asked[setting.start == 2]):
            yield nested.query(f"{change}_{number}", **settings)


def _exact(least: int) -> ExactWindows:
    sums = ExactWindows(aggregate="total", call="sum(v)", size=12, slide=4, by="g", where=f"v > {least}")
    return ExactWindows(aggregate="total", call="sum(value)", size=20, slide=10, below=sums)


SCENARIO = Scenario(queries=_queries)


@pytest.mark.parametrize("change", CHANGES)
def test_each_window_is_answered_once_and_from_all_of_its_rows(outcome: Outcome, change: str) -> None:
    # A twin that comes or goes has the answers of the other, whose windows are its own.
    query, least = f"{change}_0", list(CHANGES).index(change)
    expected = _exact(least).answers(outcome.table("events"))
    answers = outcome.answers(query, "total")
    assert {place: answers.get(place) for place in expected} == expected
    assert all(row.exact for row in outcome.rows(query))
    assert outcome.gaps(query) == {}
