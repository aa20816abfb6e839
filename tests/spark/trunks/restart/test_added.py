"""Queries that are added at a restart: windows that began before they came are gaps, all others exact.

Of one stream footers tell up to when rows were seen, of the other nothing does.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import pytest

from streamshed.network.model.query import Query
from streamshed.network.model.rows import Rows
from tests.spark.event_times import at, seconds_of
from tests.spark.trunks.checks import expected_of
from tests.spark.trunks.outcome import Outcome
from tests.spark.trunks.restart.course import STEP_SECONDS
from tests.spark.trunks.restart.trades import LATE_FROM
from tests.spark.trunks.scenario import Scenario, Setting
from tests.spark.trunks.windows_of_duckdb import ExactWindows

TOLERANT: dict[str, Any] = {"mode": "subset", "max_gap": 2}
STREAMS = ("events", "trades")
SIZES = {"old": 30, "back": 30, "subset": 30, "approximate": 30, "by_group": 30, "nested": 26, "reads_more": 26}
"""Seconds from the start of a window until no row of it comes any more."""

COME = {"old": 0, "back": 2, "subset": 1, "approximate": 1, "by_group": 1, "nested": 1, "reads_more": 1}
"""With which start queries come; what `reads_more` reads is new with the second."""

MARGINS = {"events": -0.001, "trades": 2 * STEP_SECONDS}
"""So many seconds later than the rows before a start windows may begin at most that are not known to be whole."""


def _of_stream(name: str, rows: Rows, start: int) -> Iterable[Query]:
    sliding, tumbling = rows.window("30 seconds", every="10 seconds"), rows.window("30 seconds")
    inner = rows.window("6 seconds", every="2 seconds").by("g")
    read = inner.agg(top="max(v)") if start == 0 else inner.agg(top="max(v)", n="count(*)")
    yield sliding.agg(value="sum(v)").query(f"{name}.old", mode="exact")
    yield read.window("20 seconds").agg(value="sum(top)").query(f"{name}.reads_more", **TOLERANT)
    if start != 1:
        yield sliding.agg(value="max(v)").query(f"{name}.back", mode="exact")
    if start == 0:
        return
    nested = inner.agg(total="sum(v)").window("20 seconds").agg(value="sum(total)")
    yield sliding.agg(value="min(v)").query(f"{name}.subset", **TOLERANT)
    yield sliding.agg(value="count(v)").query(f"{name}.approximate")
    yield tumbling.by("g").agg(value="sum(v)").query(f"{name}.by_group", **TOLERANT)
    yield nested.query(f"{name}.nested", **TOLERANT)


def _queries(setting: Setting) -> Iterable[Query]:
    yield from _of_stream("events", setting["events"].filter("v < 200"), setting.start)
    yield from _of_stream("trades", setting["trades"].filter(f"v < {LATE_FROM}"), setting.start)


def _exact(stream: str) -> dict[str, ExactWindows]:
    asked: dict[str, Any] = {"stream": stream, "where": f"v < {LATE_FROM}" if stream == "trades" else "true"}
    inner = {
        call: ExactWindows(aggregate="", call=call, size=6, slide=2, by="g", **asked) for call in ("sum(v)", "max(v)")
    }
    sliding = {"old": "sum(v)", "back": "max(v)", "subset": "min(v)", "approximate": "count(v)"}
    nested = {"nested": "sum(v)", "reads_more": "max(v)"}
    return {
        **{
            f"{stream}.{name}": ExactWindows(aggregate="value", call=call, size=30, slide=10, **asked)
            for name, call in sliding.items()
        },
        f"{stream}.by_group": ExactWindows(aggregate="value", call="sum(v)", size=30, by="g", **asked),
        **{
            f"{stream}.{name}": ExactWindows(
                aggregate="value", call="sum(value)", size=20, below=inner[call], stream=stream
            )
            for name, call in nested.items()
        },
    }


SCENARIO = Scenario(queries=_queries, exact={**_exact("events"), **_exact("trades")})


@pytest.mark.parametrize("stream", STREAMS)
@pytest.mark.parametrize("name", SIZES)
def test_windows_that_began_before_a_query_came_are_gaps_and_all_others_exact(
    outcome: Outcome, stream: str, name: str
) -> None:
    query, size = f"{stream}.{name}", SIZES[name]
    expected = {(seconds_of(start), key): value for (start, key), value in expected_of(outcome, query).items()}
    came = outcome.first_step(COME[name]) * STEP_SECONDS if COME[name] else None
    of_last = [row for row in outcome.rows(query) if came is None or row.window_start >= at(came - 30)]
    answers = {(seconds_of(row.window_start), row.key): row.value for row in of_last}
    assert len(answers) == len(of_last), "a window was answered twice"
    gaps = {seconds_of(start): row.reason for start, row in outcome.gaps(query).items()}
    assert set(gaps.values()) <= {"before the query"}
    assert all(row.exact for row in of_last)
    inside = {place: value for place, value in answers.items() if place in expected}
    assert inside == {place: value for place, value in expected.items() if place in answers}
    if came is None:
        assert answers.keys() >= expected.keys()
        assert not gaps
        return
    spanning = {start for start, _ in expected if start < came < start + size}
    assert spanning <= gaps.keys()
    assert max(gaps) <= came + MARGINS[stream]
    assert {start for start, key in expected if start >= came and (start, key) not in answers} <= gaps.keys()
    assert gaps.keys().isdisjoint(start for start, _ in answers)
