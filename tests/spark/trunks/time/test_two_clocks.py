"""Streams of two clocks: two streaming queries under one handle, each with micro-batches and a time of its own.

One is a year behind the other: with one clock, all its rows would be late. And it is alone on its clock, where nobody
can tell how late it is until its first rows can be read.
"""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from streamshed.errors import IncompatibleCheckpointError, InvalidNetworkError
from streamshed.network.model.network import network
from streamshed.network.model.query import Query
from streamshed.spark.starting import start
from tests.spark.event_times import at
from tests.spark.harness import Collected
from tests.spark.trunks.checks import check_unreadable_rows_are_counted
from tests.spark.trunks.outcome import Outcome
from tests.spark.trunks.scenario import Scenario, Setting
from tests.spark.trunks.time.events import ROWS_PER_STEP as EVENTS_PER_STEP
from tests.spark.trunks.time.history import CLOCK, READABLE_FROM, ROWS_PER_STEP, SHORT_WINDOW_SECONDS, YEAR_SECONDS
from tests.spark.trunks.time.steps import STEP_SECONDS, STEPS, in_course
from tests.spark.trunks.time.texts import NO_TIME


def _queries(setting: Setting) -> Iterable[Query]:
    now, then = setting["events"], setting["then"]
    return [
        now.window("10 seconds").agg(n="count(*)").query("now"),
        then.window("10 seconds").agg(n="count(*)").query("then"),
        then.window(f"{SHORT_WINDOW_SECONDS} seconds").agg(n="count(*)").query("short"),
    ]


SCENARIO = Scenario(queries=_queries)


def _past(second: float) -> float:
    return second - YEAR_SECONDS


def test_each_is_answered_in_its_own_time(outcome: Outcome) -> None:
    assert in_course(outcome.values("now", "n")) == {at(10 * step): EVENTS_PER_STEP for step in range(STEPS)}
    then = {start: n for start, n in outcome.values("then", "n").items() if n}
    assert then == {at(_past(10 * step)): ROWS_PER_STEP for step in range(READABLE_FROM, STEPS)}


def test_the_journals_tell_them_apart(outcome: Outcome) -> None:
    assert {"time", CLOCK} <= {domain.clock for domain in outcome.network.time_domains}
    for clock in ("time", CLOCK):
        journal = outcome.journal_of(clock)
        assert set(journal.clock) == {clock}
        assert journal.offered_rows.sum() == outcome.rows_in_files(clock)


def test_a_stream_that_was_never_readable_is_reported(outcome: Outcome) -> None:
    rows = outcome.set_aside("then", clock=CLOCK)
    assert {row["reason"] for row in rows} == {NO_TIME}
    assert sum(row["rows"] for row in rows) == READABLE_FROM * ROWS_PER_STEP
    check_unreadable_rows_are_counted(outcome, CLOCK)
    first = min(row["micro_batch_id"] for row in rows)
    assert first <= outcome.readers("then", CLOCK)[READABLE_FROM]
    first_readable = at(_past(READABLE_FROM * STEP_SECONDS)).timestamp()
    assert outcome.watermark_of(first, CLOCK) < first_readable * 1e6, "it waits for no row that can be read"


def test_it_is_answered_once_rows_can_be_read(outcome: Outcome) -> None:
    since = _past(READABLE_FROM * STEP_SECONDS)
    counts = outcome.values("short", "n")
    assert min(counts) >= at(since - SHORT_WINDOW_SECONDS)
    assert {start: n for start, n in counts.items() if n} == {
        at(since + row * SHORT_WINDOW_SECONDS): 1.0 for row in range((STEPS - READABLE_FROM) * ROWS_PER_STEP)
    }
    first_readable = outcome.readers("then", CLOCK)[READABLE_FROM]
    assert min(row.micro_batch_id for row in outcome.rows("short")) >= first_readable


def test_a_function_that_cannot_tell_them_apart_is_refused(
    outcome: Outcome, spark: SparkSession, tmp_path: Path
) -> None:
    checkpoint = tmp_path / "checkpoint"
    clocks = r"clocks history, (numbers, )?time(, trades)? .* \(answers, micro_batch_id, query_id\)"
    with pytest.raises(InvalidNetworkError, match=clocks):
        start(outcome.network, spark, checkpoint=str(checkpoint), sink=Collected()).stop()
    assert not checkpoint.exists()


def test_a_clock_without_streams_is_refused_under_the_checkpoint(outcome: Outcome, spark: SparkSession) -> None:
    alone = network(*(query for query in outcome.network.queries if query.stream.clock == "time"))
    with pytest.raises(IncompatibleCheckpointError, match='clock "history", which the network no longer has'):
        start(alone, spark, checkpoint=str(outcome.cast.checkpoint), sink=Collected()).stop()
