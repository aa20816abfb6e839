"""What is joined: two streams of rows out of order, with a column or two for each way to join them."""

from __future__ import annotations

import random
from collections.abc import Mapping
from decimal import Decimal
from pathlib import Path

import numpy as np
import numpy.typing as npt
import pyarrow as pa
from pyarrow import parquet

from tests.spark.event_times import instants
from tests.spark.trunks.inputs import Input

STEPS, STEP_SECONDS, ROWS_PER_SECOND = 7, 10, 60
LAST_SECOND = 9.9
"""Of each step, the latest event time; all streams have it, so that all are as far."""

WATERMARK_SECONDS = 2
"""Rows come up to so much later than others of their time."""

LAG_SECONDS, ORIGINS = 3, 5000
"""Alerts mostly have the origin that a call had nearly so long before."""

DEAR_LAG_SECONDS, DEAR_WORTH = 5, 100.0
"""But one in ten has that of a call of longer before: these are worth more."""

SKEWED_FROM, HOT, OTHERS = 5, "hot", 20
"""From a step on, half of the rows have one origin, and the others few, by chance."""

ROOMS, CUSTOMERS, LANES = 40, 400, 10

SCHEMA = pa.schema(
    [
        ("ts", pa.timestamp("us", "UTC")),
        ("id", pa.int64()),
        ("n", pa.int64()),
        ("host", pa.string()),
        ("lane", pa.int32()),
        ("port", pa.int32()),
        ("x", pa.float64()),
        ("cost", pa.decimal128(10, 2)),
        ("v", pa.int32()),
        ("room", pa.int32()),
        ("origin", pa.string()),
        ("customer", pa.int32()),
        ("tags", pa.list_(pa.string())),
        ("worth", pa.float64()),
        ("note", pa.string()),
    ]
)
DDL = (
    "ts timestamp, id bigint, n bigint, host string, lane int, port int, x double, cost decimal(10,2), v int, room int,"
    " origin string, customer int, tags array<string>, worth double, note string"
)

Floats = npt.NDArray[np.float64]
Columns = Mapping[str, object]


YEAR_2038_SECONDS = 14 * 365.25 * 86_400
"""From the start of all tests' time, about."""


def side(name: str, far_ahead_in: int | None = None, steps: int = STEPS) -> Input:
    """Make an input, `calls` or `alerts`; calls have an identity.

    Args:
        name: Which.
        far_ahead_in: A step whose file has its first row once more, as of the year 2038; `Input.rows` does not.
        steps: In how many its rows come.
    """

    def write(path: Path, rows: pa.Table) -> None:
        if int(path.stem.strip(".")) == far_ahead_in:
            place = rows.schema.get_field_index("ts")
            odd = rows.slice(0, 1).set_column(place, rows.schema.field(place), instants([YEAR_2038_SECONDS]))
            rows = pa.concat_tables([rows, odd])
        parquet.write_table(rows, path)

    settings = {
        "time": "ts",
        "watermark": f"{WATERMARK_SECONDS} seconds",
        "idle_after": "1 hour",
        "identity": ["id"] if name == "calls" else "none",
    }
    return Input(name=name, steps=lambda: _steps(name, steps), write=write, schema=DDL, settings=settings)


def _steps(name: str, steps: int) -> list[pa.Table]:
    chance = np.random.default_rng(["calls", "alerts"].index(name))
    seconds = evenly(STEP_SECONDS * ROWS_PER_SECOND)
    columns = {
        **_by_origin(name, seconds, chance),
        **_odd_values(name, len(seconds)),
        **_keys(chance, len(seconds)),
        "ts": instants(seconds),
        "id": np.arange(len(seconds)),
    }
    rows = pa.table({field.name: pa.array(columns[field.name], field.type) for field in SCHEMA})
    return in_steps(rows, seconds, chance, steps)


def in_steps(rows: pa.Table, seconds: Floats, chance: np.random.Generator, step_count: int = STEPS) -> list[pa.Table]:
    """Deal rows to steps: each comes a bit later than its time, but for the last of a step; the last has all others."""
    is_last = np.isclose(seconds % STEP_SECONDS, LAST_SECOND)
    arrival = seconds + np.where(is_last, 0.0, chance.uniform(0, WATERMARK_SECONDS, len(seconds)))
    steps = np.minimum(arrival // STEP_SECONDS, step_count - 1)
    order = np.argsort(arrival, kind="stable")
    return [rows.take(order[steps[order] == step]) for step in range(step_count)]


def evenly(rows_per_step: int) -> Floats:
    """Seconds of so many rows of each step, the last of which is the latest."""
    spread = np.append(np.arange(rows_per_step - 1) * (LAST_SECOND / rows_per_step), LAST_SECOND)
    return np.concatenate([spread + STEP_SECONDS * step for step in range(STEPS)])


def _by_origin(name: str, seconds: Floats, chance: np.random.Generator) -> Columns:
    """Origins and what rows are worth."""
    numbers, is_dear = _numbers(name, len(seconds))
    origins = np.array([f"origin {number}" for number in numbers])
    skewed = np.where(chance.random(len(seconds)) < 0.5, HOT, [f"other {number}" for number in numbers % OTHERS])
    worth = np.where(is_dear, DEAR_WORTH, 1.0) if name == "alerts" else np.arange(len(seconds)) % 2 + 1.0
    is_skewed = seconds >= SKEWED_FROM * STEP_SECONDS
    return {"origin": np.where(is_skewed, skewed, origins).tolist(), "worth": worth}


def _numbers(name: str, count: int) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.bool_]]:
    """The numbers of origins, and which rows are dear."""
    chance = np.random.default_rng(7)
    of_calls, numbers = chance.integers(0, ORIGINS, (2, count))
    draws = chance.random(count)
    is_dear = draws < 0.1
    if name == "calls":
        return of_calls, is_dear
    for is_late, lag_seconds in ((is_dear, DEAR_LAG_SECONDS), (draws > 0.3, LAG_SECONDS)):
        lag = round((lag_seconds - 0.2) * ROWS_PER_SECOND)
        numbers = np.where(is_late, np.concatenate([numbers[:lag], of_calls[:-lag]]), numbers)
    return numbers, is_dear


def _odd_values(name: str, count: int) -> Columns:
    """Nulls, NaN, both zeros, numbers that no float can hold, and texts that are hard to write."""
    draws = random.Random(name)
    return {
        "n": [draws.choice([None, 0, 7, 2**60 + place, -(2**60) - place, place, place]) for place in range(count)],
        "host": [draws.choice([None, "a", "a", "b", "", "ä", "long|er"]) for _ in range(count)],
        "x": [draws.choice([None, float("nan"), 0.0, -0.0, 1.5, -2.25, 1e3]) for _ in range(count)],
        "cost": [None if place % 7 == 0 else Decimal(place) / 4 for place in range(count)],
        "note": ["a" * draws.randrange(1, 4) for _ in range(count)],
        "port": [draws.choice([80, 443, None]) for _ in range(count)],
        "tags": [tags_of(draws) for _ in range(count)],
    }


def tags_of(draws: random.Random) -> list[str | None] | None:
    """Three of twenty, of which the first comes twice; some rows have none."""
    tags = draws.sample("abcdefghijklmnopqrst", 3)
    return None if draws.random() < 0.05 else [*tags, tags[0], None]


def _keys(chance: np.random.Generator, count: int) -> Columns:
    """A third of the rows is of one room."""
    lanes = chance.integers(-1, LANES, count)
    return {
        "lane": [None if lane < 0 else lane for lane in lanes.tolist()],
        "v": chance.integers(0, 100, count),
        "room": np.where(chance.random(count) < 1 / 3, 0, chance.integers(1, ROOMS, count)),
        "customer": chance.integers(0, CUSTOMERS, count),
    }
