"""Event times that are computed: from numbers since the epoch, of which footers tell, and from texts, of which none do.

Rows whose time is null, or cannot be computed, are set aside, and the queries go on.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterable
from pathlib import Path

import duckdb
import numpy as np
import pyarrow as pa
import pytest
from pyarrow import parquet
from pyspark.sql import SparkSession

from streamshed.network.model.network import network
from streamshed.network.model.query import Query
from streamshed.network.model.rows import Rows
from streamshed.network.source.sources import FileFormat
from streamshed.spark import answers
from tests.spark.event_times import EPOCH_MICROSECONDS, at, instants
from tests.spark.trunks.checks import (
    test_no_gap_is_longer_than_allowed,  # noqa: F401
    test_no_row_is_late,  # noqa: F401
    test_what_is_delivered_is_exact_and_the_rest_are_gaps,  # noqa: F401
)
from tests.spark.trunks.inputs import Input
from tests.spark.trunks.outcome import Outcome
from tests.spark.trunks.scenario import Scenario, Setting, Shed
from tests.spark.trunks.time.steps import BAD_STEP, STEP_SECONDS, STEPS
from tests.spark.trunks.windows_of_duckdb import ExactWindows

ROWS_PER_SECOND, MAX_GAP = 5, 3
ROWS_PER_STEP = STEP_SECONDS * ROWS_PER_SECOND
NOT_COMPUTED = "event time is null or cannot be computed"
BEFORE_1970 = "event time is before 1970"
EARLY = (-1, -(10**12))
"""Milliseconds since 1970 that batch mode answers, but no watermark could pass."""
NO_TIMES: dict[str, list[object]] = {
    "milliseconds": [None, 2**63 - 1, -(2**63)],
    "texts": [None, "yesterday", "2024-13-01 00:00:00.000"],
    "seconds": [None, 2**62],
}
"""Of each stream, what is no time."""


def _steps(name: str) -> list[pa.Table]:
    """Rows in order; `ts` is the time that is to come out of `raw`, and null where none does."""
    steps = []
    for step in range(STEPS):
        ids = np.arange(step * ROWS_PER_STEP, (step + 1) * ROWS_PER_STEP)
        seconds = ids / ROWS_PER_SECOND if name != "seconds" else ids // ROWS_PER_SECOND
        times, bad = instants(seconds), _odd(name) if step == BAD_STEP else []
        raw = [_raw(name, value.as_py()) for value in times.cast(pa.int64())]
        steps.append(
            pa.table(
                {
                    "raw": pa.array([*raw, *bad], pa.string() if name == "texts" else pa.int64()),
                    "v": pa.array([*((ids * 7919) % 101).tolist(), *[1_000_000] * len(bad)], pa.int64()),
                    "ts": pa.chunked_array([times, pa.nulls(len(bad), times.type)]).combine_chunks(),
                }
            )
        )
    return steps


def _odd(name: str) -> list[object]:
    return [*NO_TIMES[name], *(EARLY if name == "milliseconds" else ())]


def _raw(name: str, microseconds: int) -> object:
    match name:
        case "milliseconds":
            return microseconds // 1_000
        case "seconds":
            return microseconds // 1_000_000
        case _:
            seconds = (microseconds - EPOCH_MICROSECONDS) / 1e6
            return at(seconds).strftime("%Y-%m-%d %H:%M:%S.%f")[:-3]


def _write_lines(path: Path, rows: pa.Table) -> None:
    path.write_text("".join(json.dumps(row) + "\n" for row in rows.select(["raw", "v"]).to_pylist()))


def _write_csv(path: Path, rows: pa.Table) -> None:
    lines = (f"{'' if row['raw'] is None else row['raw']},{row['v']}\n" for row in rows.to_pylist())
    path.write_text("".join(lines))


MILLISECONDS = Input(
    name="milliseconds",
    steps=lambda: _steps("milliseconds"),
    write=lambda path, rows: parquet.write_table(rows.select(["raw", "v"]), path),
    schema="raw bigint, v bigint",
    settings={"time": "timestamp_millis(raw)", "watermark": "1 second"},
)
TEXTS = Input(
    name="texts",
    steps=lambda: _steps("texts"),
    write=_write_csv,
    format=FileFormat.CSV,
    schema="raw string, v bigint",
    settings={"time": "to_timestamp(raw, 'yyyy-MM-dd HH:mm:ss.SSS')", "watermark": "1 second"},
)
SECONDS = Input(
    name="seconds",
    steps=lambda: _steps("seconds"),
    write=_write_lines,
    format=FileFormat.JSON,
    schema="raw bigint, v bigint",
    settings={"time": "timestamp_seconds(raw)", "watermark": "1 second"},
)
INPUTS = (MILLISECONDS, TEXTS, SECONDS)
STREAMS = tuple(one.name for one in INPUTS)


def _whole(rows: Rows) -> Query:
    windows = rows.window("5 seconds", every="2 seconds")
    return windows.agg(n="count(*)", total="sum(v)").query(f"exact_{rows.stream.name}", mode="exact")


def _queries(setting: Setting) -> Iterable[Query]:
    for name in STREAMS:
        rows = setting[name]
        yield _whole(rows)
        yield rows.window("1 second").agg(total="sum(v)").query(f"subset_{name}", mode="subset", max_gap=MAX_GAP)


SCENARIO = Scenario(
    queries=_queries,
    inputs=INPUTS,
    shed=lambda step: Shed(kept_shares={f"subset_{name}": 0.4 for name in STREAMS} if 0 < step < STEPS - 1 else {}),
    exact={
        f"{query}_{name}": ExactWindows(
            aggregate="total", call="sum(v)", size=size, slide=slide, stream=name, where="ts IS NOT NULL"
        )
        for name in STREAMS
        for query, size, slide in (("subset", 1, 1), ("exact", 5, 2))
    },
)


@pytest.mark.parametrize("name", STREAMS)
def test_rows_without_a_time_are_set_aside_and_counted(outcome: Outcome, name: str) -> None:
    rows = outcome.set_aside(name)
    assert Counter(row["reason"] for row in rows for _ in range(row["rows"])) == {
        NOT_COMPUTED: len(NO_TIMES[name]),
        **({BEFORE_1970: len(EARLY)} if name == "milliseconds" else {}),
    }


def test_footers_tell_of_numbers_since_the_epoch(outcome: Outcome) -> None:
    """What was shed of rows whose times nobody knew would taint windows after them: here none is."""
    plans = outcome.plans()
    for step, number in outcome.readers("milliseconds").items():
        if number + 1 in plans and step != BAD_STEP:
            last = EPOCH_MICROSECONDS + round(((step + 1) * STEP_SECONDS - 1 / ROWS_PER_SECOND) * 1e6)
            assert plans[number + 1].latest_event["milliseconds"] == last


def test_batch_mode_answers_as_duckdb_does(outcome: Outcome, spark: SparkSession) -> None:
    asked = network(*(_whole(one.stream(outcome.cast.path)) for one in INPUTS))
    rows = answers(asked, spark).cache()
    unreadable = rows.where("kind = 'unreadable'").groupBy("query", "reason").count().collect()
    assert {(row.query, row.reason, row["count"]) for row in unreadable} == {
        (name, NOT_COMPUTED, len(bad)) for name, bad in NO_TIMES.items()
    }
    found = rows.where("kind = 'answer'").select("query", "window_start", "aggregate", "value", "exact").toArrow()
    with duckdb.connect() as database:
        database.register("found", found)
        assert database.execute("SELECT bool_and(exact) FROM found").fetchall() == [(True,)]
        for name in STREAMS:
            expected = SCENARIO.exact[f"exact_{name}"].answers(outcome.table(name))
            told = database.execute(
                "SELECT window_start, value FROM found WHERE query = ? AND aggregate = 'total'", [f"exact_{name}"]
            ).fetchall()
            assert {start: value for (start, _), value in expected.items()} == {
                start: value for start, value in told if start >= at(-5)
            }
            assert (min(start for start, _ in told).year < 1970) == (name == "milliseconds")
