"""An input that many scenarios share: rows numbered through, evenly over time, with a few values that repeat."""

from __future__ import annotations

import numpy as np
import pyarrow as pa

from tests.spark.event_times import instants
from tests.spark.trunks.inputs import Input

SCHEMA = "id bigint, ts timestamp, v bigint, g bigint"


def numbered_rows(name: str, *, steps: int, step_seconds: int, rows_per_second: int, clock: str = "time") -> Input:
    """Make the input: columns `id`, `ts`, `v` from 0 to 100 and `g`, one of 13 groups.

    Args:
        name: Of the stream.
        steps: How many there are.
        step_seconds: How long each is.
        rows_per_second: Rows by second of event time.
        clock: Of the stream.
    """

    def rows() -> list[pa.Table]:
        size = step_seconds * rows_per_second
        ids = np.arange(steps * size)
        columns = {"id": ids, "ts": instants(ids / rows_per_second), "v": (ids * 7919) % 101, "g": ids % 13}
        return [pa.table(columns).slice(step * size, size) for step in range(steps)]

    settings = {"time": "ts", "watermark": "2 seconds", "identity": ["id"], "clock": clock}
    return Input(name=name, steps=rows, schema=SCHEMA, settings=settings)
