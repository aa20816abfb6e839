"""Tables of the exactness tests as they arrive at a stream: out of order, some rows late."""

from __future__ import annotations

import random
from datetime import datetime, timedelta

import pyarrow as pa
import pyarrow.compute as pc

from tests.spark.exactness.tables import EPOCH, SPAN_SECONDS

STEPS = 5
STEP_SECONDS = SPAN_SECONDS // STEPS
WATERMARK_SECONDS = 5
LATEST_SECONDS = 80
SETTINGS = {"time": "ts", "watermark": f"{WATERMARK_SECONDS} seconds"}
"""Of all streams: they share a watermark."""

_FIRST_LAST_ROW = 1_000_000


def arriving(table: pa.Table, seed: int) -> list[pa.Table]:
    """The rows of each step: most come in order, a fifth within the watermark, a tenth beyond it.

    Every step ends with a row at the end of its time, so that all streams have the same watermark.
    """
    chance = random.Random(seed)
    whole = pa.concat_tables([table, last_rows(table.schema)])
    step_of: dict[int, int] = {}
    for number, instant in zip(whole["row"].to_pylist(), whole["ts"].to_pylist(), strict=True):
        step_of.setdefault(number, _step(number, instant, chance))
    steps = pa.array([step_of[number] for number in whole["row"].to_pylist()])
    return [whole.filter(pc.equal(steps, step)) for step in range(STEPS)]


def last_rows(schema: pa.Schema) -> pa.Table:
    """The rows that end the steps; all is null but their number and time."""
    ends = [EPOCH + timedelta(seconds=STEP_SECONDS * (step + 1), microseconds=-1) for step in range(STEPS)]
    return pa.concat_tables([empty_row(schema, _FIRST_LAST_ROW + step, end) for step, end in enumerate(ends)])


def empty_row(schema: pa.Schema, number: int, instant: datetime) -> pa.Table:
    """A row that has a number, where there are numbers, and a time."""
    values = {"row": number, "ts": instant}
    return pa.table({field.name: pa.array([values.get(field.name)], field.type) for field in schema})


def _step(number: int, instant: datetime, chance: random.Random) -> int:
    delays = (0.0, chance.uniform(0, WATERMARK_SECONDS), chance.uniform(WATERMARK_SECONDS, LATEST_SECONDS))
    delay = 0.0 if number >= _FIRST_LAST_ROW else chance.choices(delays, (7, 2, 1))[0]
    arrival = (instant - EPOCH).total_seconds() + delay
    return min(int(arrival // STEP_SECONDS), STEPS - 1)
