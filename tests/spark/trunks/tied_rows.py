"""Rows at the times of rows that came before, of streams whose watermark is 0."""

from __future__ import annotations

import numpy as np
import pyarrow as pa

from tests.spark.event_times import instants
from tests.spark.trunks.inputs import Input

ALIKE = 3
"""So many rows of a step have one time."""

_MILLISECOND = 1e-3


def tied_rows(name: str, *, steps: int, step_seconds: int, latest: float, clock: str = "time") -> Input:
    """Make the input: columns `ts`, `v`, which numbers rows, and `g`, which is one of two.

    A step has rows at its latest time, at that of the step before, and at that of the one before it. The watermark is
    there when they come. One row is a millisecond older.

    Args:
        name: Of the stream.
        steps: How many there are.
        step_seconds: How far their latest times are apart.
        latest: The latest time of the first, seconds.
        clock: Of the stream.
    """

    def rows() -> list[pa.Table]:
        times = [_times(step, step_seconds, latest) for step in range(steps)]
        ends = np.cumsum([len(of_step) for of_step in times]).tolist()
        return [_table(of_step, end - len(of_step)) for of_step, end in zip(times, ends, strict=True)]

    settings = {"time": "ts", "watermark": "0 seconds", "clock": clock, "identity": ["v"]}
    return Input(name=name, steps=rows, schema="ts timestamp, v bigint, g string", settings=settings)


def _times(step: int, step_seconds: int, latest: float) -> list[float]:
    """Seconds, the latest first."""
    ties = [latest + earlier * step_seconds for earlier in range(step, max(-1, step - 3), -1)]
    too_old = [ties[-1] - _MILLISECOND] if len(ties) == 3 else []
    return [second for second in ties for _ in range(ALIKE)] + too_old


def _table(seconds: list[float], first: int) -> pa.Table:
    numbers = range(first, first + len(seconds))
    return pa.table({"ts": instants(seconds), "v": numbers, "g": ["ab"[number % 2] for number in numbers]})
