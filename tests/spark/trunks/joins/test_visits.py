"""A sampled join by common tags with a stream that stops, lags or tells the wrong time, and has no identity.

Which of its rows are drawn is decided by chance and kept with the row, also over a kill and a restart. Nothing is stuck
or grows while it is silent, and rows that are late are counted and join nothing.
"""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Iterable

import duckdb
import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.compute as pc
import pytest

from streamshed.joins.match.fragments import Fragments
from streamshed.network.model.query import Query
from streamshed.network.terms.join_condition import overlap
from streamshed.spark.joins.join_rows import fragments_of
from tests.spark.event_times import at, instants
from tests.spark.trunks.inputs import Input
from tests.spark.trunks.joins import TRUNK
from tests.spark.trunks.joins.drawing import with_rates
from tests.spark.trunks.joins.pairs import all_pairs, micro_batches
from tests.spark.trunks.joins.sides import LAST_SECOND, STEP_SECONDS, WATERMARK_SECONDS, evenly, tags_of
from tests.spark.trunks.outcome import Outcome
from tests.spark.trunks.scenario import Scenario, Setting, Shed

WITHIN_SECONDS = (5, 3)
"""So visits are copied to partitions, each of which has a part of the calls."""

SHARES = {1: 0.3, 2: 0.3}
"""The share of the full join that steps may spend, on both sides of the kill and up to the last restart."""

SILENT, HOUR_LATE = (3, 4), 5
"""Steps without rows, and the step of rows of an hour ago; in all others, rows are in time."""

ROWS_PER_STEP = 300
BACK = HOUR_LATE + 1
"""The step in which it is back, among others with rows a millisecond apart that are as old as watermarks may be."""

WATERMARKS = [step * STEP_SECONDS + LAST_SECOND - WATERMARK_SECONDS for step in range(SILENT[0] - 1, HOUR_LATE)]

ALIKE = "len(list_distinct(list_filter(list_intersect(a.tags, b.tags), lambda tag: tag IS NOT NULL))) >= 2"
"""The condition in DuckDB's words."""


def _visits() -> list[pa.Table]:
    seconds = evenly(ROWS_PER_STEP).reshape(TRUNK.steps, ROWS_PER_STEP)
    return [_visits_of(step, seconds[step]) for step in range(TRUNK.steps)]


def _visits_of(step: int, seconds: np.ndarray) -> pa.Table:
    draws = random.Random(step)
    if step == BACK:
        seconds = np.concatenate([WATERMARKS, np.array(WATERMARKS) - 0.001, seconds])
    if step == HOUR_LATE:
        seconds = seconds - 3600
    if step in SILENT:
        seconds = seconds[:0]
    columns = {
        "ts": instants(seconds),
        "id": 1000 * step + np.arange(len(seconds)),
        "tags": pa.array([tags_of(draws) for _ in seconds], pa.list_(pa.string())),
    }
    return pa.table(columns)


VISITS = Input(
    name="visits",
    steps=_visits,
    schema="ts timestamp, id bigint, tags array<string>",
    settings={
        "time": "ts",
        "watermark": f"{WATERMARK_SECONDS} seconds",
        "idle_after": "200 milliseconds",
        "identity": "none",
    },
)


def _queries(setting: Setting) -> Iterable[Query]:
    pairs = setting["calls"].join(
        setting["visits"],
        on=overlap("tags", at_least=2),
        within=tuple(f"{seconds} s" for seconds in WITHIN_SECONDS),
        basic_window="1 s",
        mode="sample",
        sampled_side="right",
        name="visited",
    )
    return [
        pairs.window("10 seconds").by("visits_id").agg(n="count(*)", calls="sum(calls_id)").query("by_visit"),
        setting["calls"].window("5 seconds").agg(least="min(v)").query("calls_alone", mode="exact"),
    ]


SCENARIO = Scenario(
    queries=_queries,
    inputs=(VISITS,),
    shed=lambda step: Shed(work_shares={"visited": SHARES.get(step, 1.0)}),
)


def _is_late(outcome: Outcome) -> str:
    """Whether a visit is late, in DuckDB's words: older than Spark's watermark of the micro-batch before."""
    numbers = micro_batches(outcome, "visits")
    watermarks = {step: outcome.watermark_of(numbers[step] - 1) for step in (HOUR_LATE, BACK)}
    return " OR ".join(f"step = {step} AND epoch_us(ts) < {watermark}" for step, watermark in watermarks.items())


@pytest.fixture(scope="module")
def visits(outcome: Outcome) -> pd.DataFrame:
    """By visit in time: the lowest and the highest rate of its pairs, how many they are and the sum of their calls."""
    in_time = f"b.id NOT IN (SELECT id FROM r WHERE {_is_late(outcome)})"
    pairs = all_pairs(outcome, f"{ALIKE} AND {in_time}", within=WITHIN_SECONDS, sides=("calls", "visits"))
    by_visit = with_rates(outcome, pairs, "visited", drawn="right", sides=("calls", "visits")).groupby("right_id")
    return by_visit.agg(least=("rate", "min"), most=("rate", "max"), n=("rate", "size"), calls=("left_id", "sum"))


@pytest.fixture(scope="module")
def came(outcome: Outcome) -> Counter[int]:
    """By visit, how many pairs came."""
    came: Counter[int] = Counter()
    for row in outcome.rows("by_visit"):
        if row.aggregate == "n":
            came[int(row.key[0] or -1)] += row.rows_used
    return came


def test_partitions_have_a_part_of_the_calls_and_all_visits(outcome: Outcome) -> None:
    joined = next(stream.joined for stream in outcome.network.streams if stream.name == "visited")
    assert joined is not None
    assert fragments_of(joined, outcome.cast.start_settings["partitions"]) == Fragments(2, 1)


def test_visits_have_all_their_partners_where_all_were_drawn(
    outcome: Outcome, visits: pd.DataFrame, came: Counter[int]
) -> None:
    whole = visits[visits.least == 1]
    assert len(whole) > 1.5 * ROWS_PER_STEP
    assert {visit: came[visit] for visit in whole.index} == whole.n.to_dict()
    sums: Counter[int] = Counter()
    for row in outcome.rows("by_visit"):
        if row.aggregate == "calls":
            sums[int(row.key[0] or -1)] += round(row.value or 0)
    assert {visit: sums[visit] for visit in whole.index} == whole.calls.to_dict()


def test_a_visit_is_there_with_all_of_its_partners_or_with_none(visits: pd.DataFrame, came: Counter[int]) -> None:
    drawn = visits[visits.most < 1]
    assert {visit: n for visit, n in came.items() if visit in drawn.index} == {
        visit: n for visit, n in drawn.n.items() if visit in came
    }
    rate = drawn.least.iloc[0]
    expected = rate * len(drawn)
    assert len(drawn) > 1.5 * ROWS_PER_STEP
    assert abs(sum(visit in came for visit in drawn.index) - expected) < 4.9 * np.sqrt(expected * (1 - rate))


def test_answers_of_drawn_visits_say_for_how_many_they_stand(outcome: Outcome, visits: pd.DataFrame) -> None:
    drawn = visits[visits.most < 1]
    rows = [row for row in outcome.rows("by_visit") if int(row.key[0] or -1) in drawn.index]
    assert rows
    for row in rows:
        assert row.rows_estimated == pytest.approx(row.rows_used / drawn.least.iloc[0])
        assert not row.exact


def test_no_visit_has_more_than_its_partners(visits: pd.DataFrame, came: Counter[int]) -> None:
    """Those of an hour ago have none."""
    assert came.keys() <= set(visits.index)
    assert all(n <= visits.n[visit] for visit, n in came.items())


def test_rows_that_are_older_than_the_watermark_are_late_and_join_nothing(outcome: Outcome) -> None:
    """Each counts once, though it goes to two partitions; one as old as the watermark is in time."""
    with duckdb.connect() as database:
        database.execute("SET TimeZone = 'UTC'")
        database.register("r", outcome.table("visits"))
        of_step = database.execute(f"SELECT step, count(*) FROM r WHERE {_is_late(outcome)} GROUP BY ALL").fetchall()
    late = dict(of_step)
    assert late[HOUR_LATE] == ROWS_PER_STEP
    assert late[BACK] % 2 == 1
    assert sum(row["visited"]["late_rows"] for row in outcome.journal.joins if row) == sum(late.values())
    assert min(row.window_start for row in outcome.rows("by_visit")) >= at(0)


def test_the_stream_that_goes_on_is_answered_while_the_other_is_silent(outcome: Outcome) -> None:
    answered = {row.window_start: row.micro_batch_id for row in outcome.rows("calls_alone")}
    assert answered[at(SILENT[0] * STEP_SECONDS)] <= micro_batches(outcome, "visits")[HOUR_LATE]


def test_what_windows_hold_does_not_grow_while_one_stream_is_silent(outcome: Outcome) -> None:
    """When it is back, at least that is gone which what others came to in its first silent step does not reach."""
    joins, readers = outcome.journal.set_index("micro_batch_id").joins, outcome.readers("calls")
    oldest = at(WATERMARKS[1] - max(WITHIN_SECONDS) - 1)
    young = sum(pc.sum(pc.greater_equal(outcome.table(name)["ts"], oldest)).as_py() for name in ("calls", "visits"))
    assert 0 < joins[readers[BACK]]["visited"]["stored_rows"] <= young
