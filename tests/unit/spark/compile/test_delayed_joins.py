"""What plans say of a join that stays behind the watermark, as answers of windows come when these close."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from streamshed.joins.model.side import Side
from streamshed.network.model.declared_stream import stream
from streamshed.network.model.network import QueryNetwork, network
from streamshed.network.model.query import Query
from streamshed.network.model.rows import Rows
from streamshed.network.source.sources import rate
from streamshed.planning.load.join_delay import delay_of_stream
from streamshed.planning.window_drop.track.droppable import droppable_queries
from streamshed.planning.window_drop.track.open_windows import QueryDrops
from streamshed.planning.window_drop.track.window_drops import NOTHING_DROPPED, WindowDrops
from streamshed.sharing.stream_work import StreamWork, stream_work
from streamshed.spark.compile.plan_table import stream_facts
from streamshed.spark.compile.side_answers import side_works
from streamshed.spark.domain_facts import longest_window
from streamshed.spark.loop.join_planner import JoinPlanner
from streamshed.spark.loop.partly_joined_times import ComingRows, partly_joined_times
from streamshed.spark.plan.plan_row import PlanRow, StreamPlan

SECOND = 1_000_000
CALLS, ALERTS = (stream(name, rate(100), time="timestamp") for name in ("calls", "alerts"))
BUSY = CALLS.window("20 s", every="10 s").by("value").agg(n="count(*)")
OPEN = 1_000 * SECOND


def _joined(left: Rows) -> Rows:
    return left.join(ALERTS, on="value", within=("30 s", "5 s"), name="pairs")


def _work(joined: Rows) -> StreamWork:
    counted = joined.window("10 s", offset="3 s").agg(n="count(*)")
    return stream_work(joined.stream, network(counted.query("counted")).foundation.queries)


@pytest.mark.parametrize(("left", "delay"), [(CALLS, 0), (BUSY, 20), (BUSY.window("1 minute").agg(most="max(n)"), 70)])
def test_the_delay_is_how_long_answers_take(left: Rows, delay: int) -> None:
    assert (
        delay_of_stream(left.join(ALERTS, on={left_key(left): "value"}, within="5 s", name="pairs").stream)
        == delay * SECOND
    )


def left_key(left: Rows) -> str:
    return "most" if "most" in left.columns else "value"


@pytest.mark.parametrize(("left", "start"), [(CALLS, 1_004), (BUSY, 980)])
def test_results_may_be_missing_from_the_earliest_answer_on(left: Rows, start: int) -> None:
    joined = _joined(left)
    joins = JoinPlanner(network(joined.query("pairs")).time_domains[0].streams, {"pairs"}, dict)
    rows = {"calls": 1_000, "alerts": 1_000}
    directive = joins.directive("pairs", 0.25, micro_batch_id=7, rows=rows)
    assert directive is not None
    assert not directive.is_full
    times = {"calls": (1_004 * SECOND, 1_008 * SECOND), "alerts": (1_005 * SECOND, 1_009 * SECOND)}
    coming = ComingRows(micro_batch_id=7, rows=rows, times=times, opened=OPEN)
    (found,) = partly_joined_times(joins, joined.stream, _work(joined).intakes, directive, coming, None)
    assert (found.start, found.until) == (start * SECOND, 1_009 * SECOND)


def test_slices_over_results_are_open_as_long_as_answers_come() -> None:
    row = PlanRow(micro_batch_id=3, open=OPEN, streams={"pairs": StreamPlan(carrier_from=990 * SECOND)})
    opened = {node: stream_facts(_work(_joined(node))).values(row) for node in (CALLS, BUSY)}
    # Slices begin with 3, 13, 23 seconds and so on.
    assert [opened[node]["__opened"] for node in (CALLS, BUSY)] == [993 * SECOND, 973 * SECOND]
    assert [opened[node]["__open"] for node in (CALLS, BUSY)] == [OPEN, OPEN - 20 * SECOND]
    assert [opened[node]["__carrier_opened"] for node in (CALLS, BUSY)] == [993 * SECOND, 983 * SECOND]


def test_a_side_is_told_of_the_carrier_and_that_nothing_is_shed() -> None:
    shed = StreamPlan(sampling_code=40, carrier_from=7, carrier_until=8, carrier_time=9, work_share=0.5, row_share=0.1)
    asked = network(_joined(BUSY).query("pairs"))
    (side,) = side_works(asked.time_domains[0], asked).values()
    work = side.work
    assert side.drops is None
    row = PlanRow(micro_batch_id=3, open=OPEN, streams={"calls": shed}, drops=NOTHING_DROPPED)
    told = stream_facts(work, is_side=True).values(row)
    as_if_whole = stream_facts(work).values(
        PlanRow(
            micro_batch_id=3,
            open=OPEN,
            streams={"calls": StreamPlan(carrier_from=7, carrier_until=8, carrier_time=9)},
        )
    )
    assert told == as_if_whole
    assert told != stream_facts(work).values(row)


def _subset(joined: Rows, name: str = "some", size: str = "10 s", gap: int = 9) -> Query:
    return joined.window(size, offset="3 s").agg(n="count(*)").query(name, mode="subset", max_gap=gap)


def _dropped(asked: QueryNetwork, **dropped: tuple[tuple[int, int], ...]) -> PlanRow:
    """A plan in which windows are dropped, by query."""
    known = {}
    for one in droppable_queries(asked.foundation):
        drops = QueryDrops(coin=one.coin, dropped=dropped[one.query], below=one.below, sides=one.sides)
        known[str(one.definition_id)] = drops
    streams = dict.fromkeys(("calls", "alerts"), StreamPlan())
    return PlanRow(micro_batch_id=3, open=OPEN, streams=streams, drops=WindowDrops(queries=known))


@pytest.mark.parametrize(
    ("left", "spared"), [(CALLS, {"calls": (113, 153), "alerts": (113, 178)}), (BUSY, {"calls": (130, 160)})]
)
def test_a_side_is_told_which_rows_no_kept_window_over_the_join_needs(
    left: Rows, spared: dict[str, tuple[int, int]]
) -> None:
    """Window k begins at 3 + 10·k seconds: those from 113 until 183 are dropped; calls wait for 30 s, alerts for 5 s.

    Of the counts that the window at 103 s needs the last begins at 110 s, and is of calls up to 130 s; of those that
    the window at 183 s needs the first begins at 160 s.
    """
    asked = network(_subset(_joined(left)))
    told = {
        of.side: stream_facts(one.work, is_side=True, side_drops=one.drops).values(_dropped(asked, some=((11, 17),)))
        for of, one in side_works(asked.time_domains[0], asked).items()
    }
    for side, name in zip(Side, ("calls", "alerts"), strict=True):
        if name in spared:
            table = told[side]
            retained: Any = table["__retained"]
            assert (retained["base"], retained["rates"]) == (spared[name][0] * SECOND, [0.0])
            assert retained["step"] == (spared[name][1] - spared[name][0]) * SECOND
            assert table["__sampling_rate"] == 1.0


def test_a_side_spares_what_none_of_the_queries_needs_and_nothing_where_one_needs_all() -> None:
    joined = _joined(CALLS)
    few, many = _subset(joined), _subset(joined, "others", "20 s")
    asked = network(few, many)
    works = side_works(asked.time_domains[0], asked)
    row = _dropped(asked, some=((11, 17),), others=((6, 6),))
    (table, _) = (stream_facts(one.work, is_side=True, side_drops=one.drops).values(row) for one in works.values())
    # Of 113 to 153 the window of the others from 103 s on needs what comes before 123 s, the next what comes from 113.
    assert table["__retained"] is None
    row = _dropped(asked, some=((11, 17),), others=((6, 8),))
    (table, _) = (stream_facts(one.work, is_side=True, side_drops=one.drops).values(row) for one in works.values())
    retained: Any = table["__retained"]
    assert (retained["base"], retained["step"]) == (123 * SECOND, 30 * SECOND)
    undecided = replace(row, drops=WindowDrops(queries=dict(list(row.drops.queries.items())[:1])))
    (table, _) = (
        stream_facts(one.work, is_side=True, side_drops=one.drops).values(undecided) for one in works.values()
    )
    assert table["__retained"] is None
    exact = joined.window("7 s").agg(n="count(*)").query("all", mode="exact")
    assert not side_works(asked.time_domains[0], network(few, exact))


def test_plans_remember_as_long_as_results_may_come() -> None:
    def longest(left: Rows) -> int:
        joined = _joined(left)
        return longest_window(network(joined.window("7 s").agg(n="count(*)").query("n")), [])

    assert (longest(CALLS), longest(BUSY)) == (7 * SECOND, 27 * SECOND)


@pytest.mark.parametrize("left", [CALLS, BUSY])
def test_rows_of_a_side_are_too_old_that_are(left: Rows) -> None:
    """Calls wait for 30 s, alerts for 5 s: results lack rows that are skipped for 30 s, and counts of 20 s before."""
    joined = _joined(left)
    asked = network(joined.window("7 s").agg(n="count(*)").query("all", mode="exact"), joined.query("rows"))
    before = 0 if left is CALLS else 20
    stale = dict.fromkeys((query.definition_id for query in asked.queries), (((100 - before) * SECOND, 230 * SECOND),))
    streams = dict.fromkeys(("calls", "alerts"), StreamPlan())
    row = PlanRow(micro_batch_id=3, open=OPEN, streams=streams, drops=WindowDrops(queries={}, stale=stale))
    works = side_works(asked.time_domains[0], asked, skips_old=True)
    assert len(works) == 2
    for of, one in works.items():
        retained: Any = stream_facts(one.work, is_side=True, side_drops=one.drops).values(row)["__retained"]
        first = 100 if of.side is Side.LEFT else 100 - before
        assert (retained["base"], retained["step"]) == (first * SECOND, (200 - first) * SECOND)
        assert retained["rates"] == [0.0]
    del stale[asked.queries[0].definition_id]
    for one in works.values():
        assert stream_facts(one.work, is_side=True, side_drops=one.drops).values(row)["__retained"] is None
