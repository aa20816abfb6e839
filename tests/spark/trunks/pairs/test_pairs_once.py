"""Pairs on equal columns: each within the windows once, over a kill and restarts, as rows and counted by window."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable

import pyarrow as pa
import pytest
from pyspark.sql import SparkSession

from streamshed.errors import IncompatibleCheckpointError
from streamshed.network.model.query import Query
from tests.spark.event_times import at
from tests.spark.trunks.checks import (
    check_unreadable_rows_are_counted,
    test_a_window_is_answered_once_and_exactly,  # noqa: F401
)
from tests.spark.trunks.joins.pairs import all_pairs
from tests.spark.trunks.joins.restarting import start_once_more
from tests.spark.trunks.outcome import Outcome
from tests.spark.trunks.pairs import HANDED_OVER_AFTER, TRUNK
from tests.spark.trunks.pairs.matched import LAST_WITH_ROWS, SAME, WITHIN_SECONDS, matched
from tests.spark.trunks.scenario import Scenario, Setting
from tests.spark.trunks.typed_views import typed_view
from tests.spark.trunks.windows_of_duckdb import ExactWindows


def _queries(setting: Setting) -> Iterable[Query]:
    pairs, calls = matched(setting), setting["calls"]
    if setting.start <= LAST_WITH_ROWS:
        yield pairs.filter("alerts_n is not null").query("pairs", mode="exact")
    yield pairs.window("10 seconds").by("calls_host").agg(n="count(*)").query("by_host", mode="exact")
    yield calls.window("10 seconds").agg(n="count(*)").query("calls_alone", mode="exact")
    # Alerts have no identity: which of them are drawn is chance. Here all are, and still they draw.
    drawn = calls.join(
        setting["alerts"], on="room", within="1 s", mode="sample", sampled_side="right", name="drawn_by_chance"
    )
    yield drawn.window("10 seconds").agg(n="count(*)").query("drawn")
    yield calls.filter("port = 80").query("calls_rows", mode="exact")


SCENARIO = Scenario(
    queries=_queries,
    exact={"calls_alone": ExactWindows(aggregate="n", call="count(*)", size=10, stream="calls")},
)


def test_each_pair_comes_once_with_its_columns_while_rows_are_asked_for(outcome: Outcome, spark: SparkSession) -> None:
    columns = "a.ts, b.ts AS other_ts, a.n::VARCHAR AS n, b.n::VARCHAR AS other_n, a.host"
    pairs = all_pairs(outcome, f"{SAME} AND b.n IS NOT NULL", within=WITHIN_SECONDS, columns=columns)
    of_pair = ("left_id", "right_id", "ts", "other_ts", "n", "other_n", "host")
    expected = {tuple(pair[name] for name in of_pair): pair["step"] for pair in pa.Table.from_pandas(pairs).to_pylist()}
    # The last micro-batch before the restart may be run again after it, when nobody asks for rows.
    view = typed_view(outcome, spark, "pairs", LAST_WITH_ROWS)
    names = ("calls_id", "alerts_id", "calls_ts", "alerts_ts", "calls_n", "alerts_n", "calls_host")
    shown = [view[name].cast(pa.string()) if name.endswith("_n") else view[name] for name in names]
    rows = Counter(zip(*(column.to_pylist() for column in shown), strict=True))
    assert set(rows.values()) == {1}
    assert rows.keys() <= expected.keys()
    missing = {expected[row] for row in expected.keys() - rows.keys()}
    assert missing <= set(range(HANDED_OVER_AFTER, TRUNK.steps))
    times = zip(view["calls_ts"].to_pylist(), view["alerts_ts"].to_pylist(), strict=True)
    assert view["time"].to_pylist() == [max(of_pair) for of_pair in times]
    assert all(view["exact"].to_pylist())


def test_windows_over_pairs_count_each_once_to_the_end(outcome: Outcome) -> None:
    pairs = all_pairs(outcome, SAME, within=WITHIN_SECONDS, columns="a.host")
    starts = (pairs.later // 10).astype(int) * 10
    hosts = pa.array(pairs.host, from_pandas=True).to_pylist()
    expected = Counter(zip(starts.map(at), hosts, strict=True))
    answers = {(start, host): value for (start, (host,)), value in outcome.answers("by_host", "n").items()}
    assert answers == expected
    assert all(row.exact for row in outcome.rows("by_host"))


def test_rows_of_one_side_come_once(outcome: Outcome, spark: SparkSession) -> None:
    calls = outcome.table("calls").to_pylist()
    view = typed_view(outcome, spark, "calls_rows")
    assert sorted(view["id"].to_pylist()) == [
        row["id"] for row in sorted(calls, key=lambda row: row["id"]) if row["port"] == 80
    ]


def test_the_journal_counts_results_and_what_is_stored(outcome: Outcome) -> None:
    pairs = all_pairs(outcome, SAME, within=WITHIN_SECONDS)
    joined = [row["matched"] for row in outcome.journal.joins if row]
    assert sum(one["results"] for one in joined) == len(pairs)
    assert 0 < max(one["stored_rows"] for one in joined) < outcome.table("calls").num_rows


def test_rows_are_offered_to_each_join_and_once_beside(outcome: Outcome) -> None:
    sides = [
        side.stream.name
        for stream in outcome.network.streams
        if stream.joined is not None
        for side in (stream.joined.left, stream.joined.right)
    ]
    inputs = outcome.cast.inputs
    rows = {
        name: sum(inputs[name].rows_in_file(outcome.cast.path, step) for step in range(inputs[name].step_count))
        for name in ("calls", "alerts")
    }
    assert rows["calls"] > outcome.table("calls").num_rows
    assert outcome.journal.offered_rows.sum() == sum(rows[name] for name in [*sides, "calls"])


def test_rows_far_ahead_are_set_aside_on_both_sides(outcome: Outcome) -> None:
    """They join nothing, though they would have had each other: the other tests tell."""
    aside = {(row["stream"], row["reason"]) for row in outcome.set_aside()}
    assert aside == {(name, "event time is too far ahead of the clock") for name in ("calls", "alerts")}
    check_unreadable_rows_are_counted(outcome)


def test_a_join_cannot_wait_longer_after_a_restart(outcome: Outcome, spark: SparkSession) -> None:
    with pytest.raises(IncompatibleCheckpointError, match='stream "matched" was a join'):
        start_once_more(outcome, spark, lambda setting: [matched(setting, WITHIN_SECONDS[0] + 1).query("pairs")])
