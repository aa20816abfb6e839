"""Rows at one instant, out of order, and late; as JSON, of which nobody knows the event times before they are read.

The value `v` of a row is a price: below `LATE_FROM`, but for rows that come after later ones than the watermark allows.
"""

from __future__ import annotations

import json
import random
from collections.abc import Sequence
from pathlib import Path

import pyarrow as pa

from streamshed.network.source.sources import FileFormat
from tests.spark.event_times import EPOCH_MICROSECONDS
from tests.spark.trunks.inputs import Input
from tests.spark.trunks.restart.course import SECONDS, STEP_SECONDS, STEPS

WATERMARK_SECONDS = 3
LATE_FROM = 100
SYMBOLS = ("IBM", "SUN")

_ROWS = 800

Trade = tuple[int, int, str]
"""Instant in microseconds, price and symbol."""


def _rows() -> list[pa.Table]:
    chance = random.Random(3)
    steps: list[list[Trade]] = [[] for _ in range(STEPS)]
    for _ in range(_ROWS):
        second = chance.choice([chance.uniform(0, SECONDS), chance.randrange(4 * SECONDS) / 4])
        delay = chance.choices([0.0, chance.uniform(0, WATERMARK_SECONDS - 0.1), chance.uniform(10, 25)], (14, 4, 1))[0]
        arrival = int(min((second + delay) // STEP_SECONDS, STEPS - 1))
        is_late = second + WATERMARK_SECONDS < arrival * STEP_SECONDS
        price = chance.randrange(100) + (LATE_FROM if is_late else 0)
        steps[arrival].append((EPOCH_MICROSECONDS + round(second * 1e6), price, chance.choice(SYMBOLS)))
    for step, trades in enumerate(steps):
        trades.append((EPOCH_MICROSECONDS + (step + 1) * STEP_SECONDS * 1_000_000 - 1000, 50, "IBM"))
    return [_table(trades[::-1]) for trades in steps]


def _table(trades: Sequence[Trade]) -> pa.Table:
    instants, prices, symbols = zip(*trades, strict=True)
    columns = [pa.array(instants, pa.timestamp("us", "UTC")), pa.array(prices, pa.int64()), pa.array(symbols)]
    return pa.table(columns, ["ts", "v", "g"])


def _write_json(path: Path, rows: pa.Table) -> None:
    lines = (json.dumps({**row, "ts": row["ts"].isoformat()}) for row in rows.to_pylist())
    path.write_text("".join(f"{line}\n" for line in lines))


TRADES = Input(
    name="trades",
    steps=_rows,
    write=_write_json,
    format=FileFormat.JSON,
    schema="ts timestamp, v bigint, g string",
    settings={"time": "ts", "watermark": f"{WATERMARK_SECONDS} seconds"},
)
