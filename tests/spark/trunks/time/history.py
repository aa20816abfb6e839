"""A stream alone on its clock, a year behind the others; its first rows cannot be read."""

from __future__ import annotations

import json

import pyarrow as pa

from streamshed.network.source.sources import FileFormat
from tests.spark.event_times import at
from tests.spark.trunks.inputs import Input
from tests.spark.trunks.time.steps import STEP_SECONDS, STEPS
from tests.spark.trunks.time.texts import SCHEMA, TIMED, write_lines

YEAR_SECONDS = 366 * 86_400.0
READABLE_FROM, ROWS_PER_STEP = 4, 20
"""A run that goes on after the kill works on two micro-batches before: for longer than a short window and the delay."""

SHORT_WINDOW_SECONDS = 0.5
CLOCK = "history"


def lines_with_time(steps: range, since: float, time: str) -> list[pa.Table]:
    """Twenty rows a step, two a second.

    Args:
        steps: Which steps.
        since: The second at which the first step of the trunk begins.
        time: What the column of the time is called: rows cannot be read if it is not "ts".
    """
    return [
        pa.table(
            {
                "line": [
                    json.dumps({time: at(since + step * STEP_SECONDS + index / 2).isoformat(), "v": 1})
                    for index in range(ROWS_PER_STEP)
                ]
            }
        )
        for step in steps
    ]


HISTORY = Input(
    name="then",
    steps=lambda: [
        *lines_with_time(range(READABLE_FROM), -YEAR_SECONDS, "at"),
        *lines_with_time(range(READABLE_FROM, STEPS), -YEAR_SECONDS, "ts"),
    ],
    write=write_lines,
    format=FileFormat.JSON,
    schema=SCHEMA,
    settings={**TIMED, "idle_after": "100 ms", "clock": CLOCK},
)
