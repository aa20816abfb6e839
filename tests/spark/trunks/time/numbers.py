"""Streams that number their rows: one out of order in Parquet files, one in text, where nobody tells its numbers."""

from __future__ import annotations

import json

import pyarrow as pa

from streamshed.network.source.sources import FileFormat
from tests.spark.trunks.inputs import Input
from tests.spark.trunks.time.steps import BAD_STEP, STEPS
from tests.spark.trunks.time.texts import write_lines

CLOCK = "numbers"
NUMBERS_PER_STEP, DISORDER = 200, 10
BELOW_ZERO = -5
"""A number that batch mode answers, and no watermark passes."""


def _out_of_order() -> list[pa.Table]:
    """Each row up to the watermark too early or too late; three have no number, a vast one, or one below 0."""
    order = sorted(range(STEPS * NUMBERS_PER_STEP), key=lambda number: number + (number * 7919) % DISORDER)
    values = [(number * 31) % 101 for number in order]
    rows = pa.table({"number": pa.array(order, pa.int64()), "v": pa.array(values, pa.int64())})
    steps = [rows.slice(step * NUMBERS_PER_STEP, NUMBERS_PER_STEP) for step in range(STEPS)]
    unreadable = pa.table(
        {"number": pa.array([None, 2**62, BELOW_ZERO], pa.int64()), "v": pa.array([1, 1, 1], pa.int64())}
    )
    steps[BAD_STEP] = pa.concat_tables([steps[BAD_STEP], unreadable])
    return steps


def _lines() -> list[pa.Table]:
    return [
        pa.table(
            {
                "line": [
                    json.dumps({"number": step * NUMBERS_PER_STEP + index, "v": index})
                    for index in range(NUMBERS_PER_STEP)
                ],
                "v": range(NUMBERS_PER_STEP),
            }
        )
        for step in range(STEPS)
    ]


NUMBERED = Input(
    name="numbered",
    steps=_out_of_order,
    schema="number bigint, v bigint",
    settings={"number": "number", "watermark": DISORDER, "clock": CLOCK},
)
LINES = Input(
    name="lines",
    steps=_lines,
    write=write_lines,
    format=FileFormat.JSON,
    schema="number bigint, v bigint",
    settings={"number": "number", "identity": ["number"], "clock": CLOCK},
)
