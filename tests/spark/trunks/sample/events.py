"""The rows of which samples are taken: values with heavy tails, groups of very different size, a rare flag."""

from __future__ import annotations

import numpy as np
import pyarrow as pa

from tests.spark.event_times import instants
from tests.spark.trunks.inputs import Input

STEPS, STEP_SECONDS, ROWS_PER_STEP = 5, 60, 24_000
SCHEMA = "id bigint, ts timestamp, v bigint, x double, w double, g bigint, rare bigint"

NULL_AT, INFINITE_AT, NAN_EVERY = [5, 77, 4_001], 9, 500
"""Where in each step `x` is no finite number."""


def events(name: str) -> Input:
    """Make the input; its rows are evenly spread over time.

    Args:
        name: Of the stream.
    """
    settings = {"time": "ts", "watermark": "1 second", "identity": ["id"]}
    return Input(name=name, steps=lambda: list(map(_rows, range(STEPS))), schema=SCHEMA, settings=settings)


def _rows(step: int) -> pa.Table:
    chance, places = np.random.default_rng(step), np.arange(ROWS_PER_STEP)
    return pa.table(
        {
            "id": step * ROWS_PER_STEP + places,
            "ts": instants(step * STEP_SECONDS + places * STEP_SECONDS / ROWS_PER_STEP),
            "v": np.minimum(chance.pareto(2.5, ROWS_PER_STEP) * 100, 5000).astype(np.int64) + 1,
            "x": _odd_numbers(chance.pareto(1.3, ROWS_PER_STEP) * 60 * np.where(places % 3, 1, -1)),
            "w": chance.exponential(10.0, ROWS_PER_STEP) + 5.0,
            "g": chance.geometric(0.5, ROWS_PER_STEP).astype(np.int64),
            "rare": (chance.random(ROWS_PER_STEP) < 0.001).astype(np.int64),
        }
    )


def _odd_numbers(numbers: np.ndarray) -> pa.Array:
    numbers[::NAN_EVERY] = np.nan
    numbers[INFINITE_AT] = np.inf
    is_null = np.isin(np.arange(len(numbers)), NULL_AT)
    return pa.array(numbers, mask=is_null)
