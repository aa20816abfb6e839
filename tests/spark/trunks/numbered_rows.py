"""An input that many scenarios share: rows numbered through, evenly over time, with a few values that repeat."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import numpy as np
import pyarrow as pa

from tests.spark.trunks.inputs import Input

EPOCH = datetime(2024, 1, 1, tzinfo=UTC)
EPOCH_MICROSECONDS = int(EPOCH.timestamp()) * 1_000_000
SCHEMA = "id bigint, ts timestamp, v bigint, g bigint"


def at(seconds: float) -> datetime:
    """An event time, counted from the start of all tests' time."""
    return EPOCH + timedelta(seconds=seconds)


def seconds_of(instant: datetime) -> float:
    """The inverse of `at`."""
    return (instant - EPOCH).total_seconds()


def instants(seconds: np.ndarray | list[float]) -> pa.Array:
    """A column of event times."""
    microseconds = EPOCH_MICROSECONDS + np.round(np.asarray(seconds, np.float64) * 1e6).astype(np.int64)
    return pa.array(microseconds, pa.timestamp("us", "UTC"))


def numbered_rows(name: str, *, steps: int, step_seconds: int, rows_per_second: int, groups: int = 13) -> Input:
    """Make the input: columns `id`, `ts`, `v` from 0 to 100 and `g`, the group.

    Args:
        name: Of the stream.
        steps: How many there are.
        step_seconds: How long each is.
        rows_per_second: Rows by second of event time.
        groups: How many values `g` has.
    """

    def rows() -> list[pa.Table]:
        size = step_seconds * rows_per_second
        ids = np.arange(steps * size)
        columns = {"id": ids, "ts": instants(ids / rows_per_second), "v": (ids * 7919) % 101, "g": ids % groups}
        return [pa.table(columns).slice(step * size, size) for step in range(steps)]

    settings = {"time": "ts", "watermark": "2 seconds", "identity": ["id"]}
    return Input(name=name, steps=rows, schema=SCHEMA, settings=settings)
