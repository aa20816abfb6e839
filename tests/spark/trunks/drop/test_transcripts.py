"""Transcripts in batch mode and as a stream: both say what the texts in `tests/transcripts` say, as the core does."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable

import pyarrow as pa
import pytest
from pyspark.sql import SparkSession

from streamshed.network.model.network import network
from streamshed.network.model.query import Query
from streamshed.network.model.rows import Rows
from tests.oracles.windows_of_a_row import windows_containing
from tests.spark.event_times import instants, seconds_of
from tests.spark.sessions import interpreting
from tests.spark.trunks.drop import STEP_SECONDS, STEPS
from tests.spark.trunks.inputs import Input
from tests.spark.trunks.outcome import Outcome
from tests.spark.trunks.scenario import Scenario, Setting, Shed
from tests.transcripts import transcript as texts
from tests.transcripts.transcript import SECOND, Transcript, tick, transcripts

ALL = transcripts()


def _steps() -> list[pa.Table]:
    """The rows of all transcripts; and at the end of each step one that is nobody's, which tells the time."""
    assert (STEPS, STEP_SECONDS) == (texts.STEPS, texts.STEP_SECONDS)
    steps = []
    for step in range(STEPS):
        rows = [(told.name, *row) for told in ALL for row in told.rows.get(step, [])]
        names, seconds, values = zip(*rows, ("", tick(step), 0), strict=True)
        columns = {"name": list(names), "ts": instants(list(seconds)), "v": pa.array(values, pa.int64())}
        steps.append(pa.table(columns))
    return steps


INPUT = Input(name="transcripts", steps=_steps)


def _asked(rows: Rows) -> list[Query]:
    queries = []
    for told in ALL:
        windows = rows.filter(f"name = '{told.name}'").window(told.window, every=told.every)
        aggregate = windows.agg(n="count(*)", total="sum(v)")
        queries.append(aggregate.query(told.name, mode=told.mode, max_gap=told.max_gap))
    return queries


def _queries(setting: Setting) -> Iterable[Query]:
    return _asked(setting["transcripts"])


SCENARIO = Scenario(
    queries=_queries,
    inputs=(INPUT,),
    shed=lambda step: Shed(dropped={told.name: told.drop[step] for told in ALL if step in told.drop}),
)


@pytest.mark.parametrize("transcript", ALL, ids=lambda told: told.name)
def test_a_stream_says_what_the_transcript_says(outcome: Outcome, transcript: Transcript) -> None:
    assert transcript.watermark == INPUT.settings["watermark"]
    answers: dict[float, dict[str | None, float | None]] = defaultdict(dict)
    for row in outcome.rows(transcript.name):
        assert row.exact
        assert row.aggregate not in answers[seconds_of(row.window_start)], "a window was answered twice"
        answers[seconds_of(row.window_start)][row.aggregate] = row.value
    listed = {start: (row["n"], row["total"]) for start, row in answers.items() if start in transcript.answers}
    assert listed == transcript.answers
    assert {(row["n"], row["total"]) for start, row in answers.items() if start not in listed} <= {(0.0, None)}
    assert [seconds_of(start) for start in sorted(outcome.gaps(transcript.name))] == sorted(transcript.gaps)
    assert not answers.keys() & set(transcript.gaps)
    late = [row for row in outcome.rows(transcript.name, kind="late") if row.rows_used]
    assert sum(row.rows_used for row in late) == transcript.late


def test_batch_mode_says_what_the_transcripts_say_of_windows_that_missed_no_row(
    outcome: Outcome, spark: SparkSession
) -> None:
    """It knows no late rows, and drops no windows."""
    queries = network(*_asked(INPUT.stream(outcome.cast.path)))
    values: dict[str, dict[float, dict[str, float | None]]] = defaultdict(lambda: defaultdict(dict))
    for row in queries.answers(interpreting(spark)).toArrow().to_pylist():
        values[row["query"]][seconds_of(row["window_start"])][row["aggregate"]] = row["value"]
    for told in ALL:
        windows = {start: (row["n"], row["total"]) for start, row in values[told.name].items()}
        missing = _windows_of_late_rows(told)
        expected = {start: row for start, row in told.answers.items() if start not in missing}
        assert {start: windows[start] for start in expected} == expected, told.name
        beside = windows.keys() - expected.keys() - missing.keys() - set(told.gaps)
        assert {windows[start] for start in beside} <= {(0.0, None)}, told.name


def _windows_of_late_rows(told: Transcript) -> Counter[float]:
    """By start, how many rows came when a window had closed."""
    return Counter(
        start / SECOND
        for step, rows in told.rows.items()
        for second, _ in rows
        for start in windows_containing(told.specification, round(second * SECOND))
        if (start + told.specification.size_microseconds) / SECOND <= told.closed_until(step)
    )
