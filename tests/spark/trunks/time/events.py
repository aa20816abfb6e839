"""The trunk's main input: numbered rows evenly over time, and amid them two odd ones that `Input.rows` leaves out."""

from __future__ import annotations

import math
from datetime import UTC, datetime
from pathlib import Path

import numpy as np
import pyarrow as pa
from pyarrow import parquet

from tests.spark.event_times import instants
from tests.spark.trunks.inputs import Input
from tests.spark.trunks.time.steps import BAD_STEP, FAR_AHEAD_STEP, STEP_SECONDS, STEPS

ROWS_PER_SECOND = 20
ROWS_PER_STEP = STEP_SECONDS * ROWS_PER_SECOND
YEAR_2038 = datetime(2038, 1, 19, tzinfo=UTC)

FAR_AHEAD_PLACE, TIMELESS_PLACE = 50, 14
"""Which row of its file is the one of the year 2038, and the one without a time."""

NUMBERS = [1.5, math.nan, math.inf, -math.inf, None, -0.0, 0.0]
"""The values of `x`, over and over."""


def _rows() -> list[pa.Table]:
    ids = np.arange(STEPS * ROWS_PER_STEP)
    columns = {
        "id": ids,
        "ts": instants(ids / ROWS_PER_SECOND),
        "v": (ids * 7919) % 101,
        "x": pa.array([NUMBERS[number % len(NUMBERS)] for number in ids], pa.float64()),
    }
    return [pa.table(columns).slice(step * ROWS_PER_STEP, ROWS_PER_STEP) for step in range(STEPS)]


def _write(path: Path, rows: pa.Table) -> None:
    step = rows["id"][0].as_py() // ROWS_PER_STEP
    if step == FAR_AHEAD_STEP:
        rows = _with_row(rows, FAR_AHEAD_PLACE, YEAR_2038)
    if step == BAD_STEP:
        rows = _with_row(rows, TIMELESS_PLACE, None)
    parquet.write_table(rows, path)


def _with_row(rows: pa.Table, place: int, instant: datetime | None) -> pa.Table:
    odd = {"id": [-1], "ts": pa.array([instant], rows.schema.field("ts").type), "v": [1_000_000], "x": [9.0]}
    return pa.concat_tables([rows.slice(0, place), pa.table(odd, schema=rows.schema), rows.slice(place)])


EVENTS = Input(
    name="events",
    steps=_rows,
    write=_write,
    schema="id bigint, ts timestamp, v bigint, x double",
    settings={"time": "ts", "watermark": "2 seconds"},
)
