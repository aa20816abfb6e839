"""Windows over a join of answers of answers with rows are dropped, across a kill, then no more; others are added."""

from __future__ import annotations

from collections import Counter
from itertools import groupby

import pyarrow as pa
import pyarrow.compute as pc
import pytest
from pyspark.sql import SparkSession

from streamshed.errors import IncompatibleCheckpointError
from streamshed.network.model.network import network
from streamshed.network.model.query import Query
from streamshed.spark.sinks.sinks import console_sink
from streamshed.spark.starting import start
from tests.spark.event_times import at, microseconds_of, seconds_of
from tests.spark.trunks.outcome import Outcome
from tests.spark.trunks.scenario import Scenario, Setting, Shed
from tests.spark.trunks.sides import STEP_SECONDS
from tests.spark.trunks.sides.dropped_join import (
    MAX_GAPS,
    SPEC,
    WINDOWS,
    ResultCounts,
    expected_of,
    joined,
    needed,
    other_windows,
    queries,
    write_codes,
)
from tests.spark.trunks.trunk import prefixed
from tests.spark.trunks.watched_function import rows_handed

COLUMNS = {
    "plain": ("n", "total", "most"),
    "both": ("n", "total"),
    "nested": ("most",),
    "added": ("n", "least"),
}


def _shed(step: int) -> Shed:
    """Shares go up and down."""
    share = 0.4 if step % 2 else 0.2
    return Shed(kept_shares={"plain": share, "both": 0.3, "nested": share})


SCENARIO = Scenario(queries=queries, shed=_shed, prepare=write_codes)


def _shown(outcome: Outcome, query: str) -> ResultCounts:
    """What was answered, window by window; those that nothing fell into are left out."""
    first, *more = (outcome.values(query, name) for name in COLUMNS[query])
    filled = [start for start, value in first.items() if value]
    return Counter((microseconds_of(start), *(_whole(values[start]) for values in (first, *more))) for start in filled)


def _whole(value: float | None) -> int | None:
    return None if value is None else round(value)


@pytest.mark.parametrize("query", MAX_GAPS)
def test_what_is_delivered_is_what_duckdb_finds_and_the_rest_are_gaps_none_too_long(
    outcome: Outcome, query: str
) -> None:
    gaps, shown = outcome.gap_starts(query), _shown(outcome, query)
    assert len(gaps) > 3
    assert {gap.reason for gap in outcome.gaps(query).values()} == {"overload"}
    assert shown == {row: n for row, n in expected_of(outcome)[query].items() if row[0] not in gaps}
    assert len(shown) > 3
    assert all(row.exact and microseconds_of(row.window_start) not in gaps for row in outcome.rows(query))
    slide, offset = WINDOWS[query].slide * 1_000_000, WINDOWS[query].offset * 1_000_000
    assert not [start for start in gaps if (start - offset) % slide]
    numbers = sorted((start - offset) // slide for start in gaps)
    runs = [len(list(run)) for _, run in groupby(enumerate(numbers), key=lambda pair: pair[1] - pair[0])]
    assert 1 < max(runs) <= MAX_GAPS[query]


def test_rows_that_no_kept_window_needs_find_no_partners(outcome: Outcome) -> None:
    results = sum(joins["dropped"]["results"] for joins in outcome.journal.joins if joins)
    assert results < 0.9 * sum(expected_of(outcome)["pairs"].values())


@pytest.mark.parametrize("side", ["calls", "alerts"])
def test_rows_that_no_kept_window_needs_leave_before_anything_is_done_with_them(outcome: Outcome, side: str) -> None:
    """Of both sides, answers or rows; those that windows need which are kept all come through, as far as they join."""
    rows, handed = outcome.table(side), set(rows_handed(outcome.folder / side))
    kept = {query: {row.window_start for row in outcome.rows(query) if row.rows_used} for query in MAX_GAPS}
    spans = needed(side, kept)
    seconds = {row["id"]: seconds_of(row["at"]) for row in rows.to_pylist()}
    ids = {number for number, second in seconds.items() if any(first <= second < end for first, end in spans)}
    assert ids <= handed
    dropping = (pc.field("step") >= 1) & (pc.field("step") < outcome.first_step(2))
    while_dropping = rows.filter(dropping)["id"].to_pylist()
    assert len(handed.intersection(while_dropping)) < 0.8 * len(while_dropping)


def test_what_was_decided_before_the_kill_is_never_taken_back(outcome: Outcome) -> None:
    before, after = outcome.plans_when_killed(), outcome.plans()
    assert any(one.dropped for plan in before.values() for one in plan.drops.queries.values())
    assert {number: after[number].drops for number in before} == {number: plan.drops for number, plan in before.items()}


def test_what_was_dropped_stays_so_after_the_last_start_and_nothing_else_is(outcome: Outcome) -> None:
    """It asks for all windows of one query; so none of the join's are dropped any more."""
    restarted = microseconds_of(at(outcome.first_step(2) * STEP_SECONDS))
    expected = expected_of(outcome)
    for query in MAX_GAPS:
        latest = max(outcome.gap_starts(query))
        assert latest >= restarted - 15_000_000, query
        assert latest < restarted + 2 * STEP_SECONDS * 1_000_000, query
        assert [row for row in expected[query] if int(str(row[0])) > latest], query


def test_windows_that_are_added_begin_when_rows_wait_no_more_that_may_have_been_dropped(outcome: Outcome) -> None:
    gaps, shown = outcome.gap_starts("added"), _shown(outcome, "added")
    assert {gap.reason for gap in outcome.gaps("added").values()} == {"before the query"}
    first = min(gaps)
    assert shown == {
        row: n for row, n in expected_of(outcome)["added"].items() if int(str(row[0])) > first and row[0] not in gaps
    }
    assert len(shown) > 5
    assert all(row.exact for row in outcome.rows("added"))
    # The last run may have begun with a micro-batch whose rows had been offered before.
    rows = pa.concat_tables([outcome.table(name) for name in ("calls", "alerts")])
    reach = max(SPEC.within) * 1_000_000
    offered = [
        microseconds_of(pc.max(rows.filter(pc.field("step") < step)["at"]).as_py())
        for step in (outcome.first_step(2), outcome.first_step(2) + 1)
    ]
    assert any(max(gaps) <= latest + reach < max(gaps) + 4_000_001 for latest in offered), (max(gaps), offered)


def test_every_row_is_offered_once_to_the_join_and_none_is_late(outcome: Outcome) -> None:
    sides = sum(outcome.table(name).num_rows for name in ("calls", "alerts"))
    beside = [stream for stream in outcome.network.streams if stream.name == "calls"]
    assert outcome.journal.offered_rows.sum() == sides + len(beside) * outcome.table("calls").num_rows
    assert sum(joins["dropped"]["late_rows"] for joins in outcome.journal.joins if joins) == 0


def _setting(outcome: Outcome) -> Setting:
    streams = {name: one.stream(outcome.cast.path) for name, one in outcome.cast.inputs.items()}
    return Setting(streams=streams, folder=outcome.folder, start=2)


def _refusal(outcome: Outcome, spark: SparkSession, *changed: Query) -> str:
    """What is said when the scenario's queries are others, and the checkpoint is the same."""
    beside = [query for query in outcome.network.queries if not query.name.startswith(prefixed(outcome.prefix, ""))]
    asked, checkpoint = network(*beside, *changed), str(outcome.cast.checkpoint)
    with pytest.raises(IncompatibleCheckpointError) as raised:
        start(asked, spark, checkpoint=checkpoint, sink=console_sink(), **outcome.cast.start_settings).stop()
    return str(raised.value)


def test_other_windows_on_a_side_need_a_new_checkpoint(outcome: Outcome, spark: SparkSession) -> None:
    said = _refusal(outcome, spark, *queries(_setting(outcome), other_windows()))
    assert said.startswith('stream "dropped" was a join')
    assert said.count("fixed") == 1


def test_results_themselves_need_a_checkpoint_that_was_made_for_them(outcome: Outcome, spark: SparkSession) -> None:
    setting = _setting(outcome)
    said = _refusal(outcome, spark, *queries(setting), joined(setting).query("pairs"))
    assert 'needs the state family "answer_rows"' in said


def test_a_column_of_a_relation_by_which_a_side_is_grouped_keeps_its_type(
    outcome: Outcome, spark: SparkSession
) -> None:
    try:
        write_codes(outcome.folder, pa.int64())
        said = _refusal(outcome, spark, *queries(_setting(outcome)))
    finally:
        write_codes(outcome.folder)
    assert "a side of a join: key 1 was int and is bigint" in said
