"""Rows at one instant, out of order, late, and without a symbol; on a clock of their own.

What is asked of them is dear, and would cost every stream of a clock that they shared.
"""

from __future__ import annotations

import random
from decimal import Decimal

import pyarrow as pa

from tests.spark.event_times import EPOCH_MICROSECONDS
from tests.spark.trunks.inputs import Input
from tests.spark.trunks.time.steps import STEP_SECONDS, STEPS

CLOCK, WATERMARK_SECONDS = "trades", 3
SYMBOLS = ("IBM", "SUN", None)
SCHEMA = "ts timestamp, price bigint, symbol string, paid decimal(10,2)"

_ROWS, _SECONDS = 600, STEPS * STEP_SECONDS

Trade = tuple[int, int, str | None]
"""Instant in microseconds, price and symbol."""


def _rows() -> list[pa.Table]:
    chance = random.Random(1)
    steps: list[list[Trade]] = [[] for _ in range(STEPS)]
    for _ in range(_ROWS):
        second = chance.choice([chance.uniform(0, _SECONDS), chance.randrange(4 * _SECONDS) / 4])
        delay = chance.choices([0.0, chance.uniform(0, WATERMARK_SECONDS - 0.1), chance.uniform(12, 40)], (14, 4, 2))[0]
        arrival = int(min((second + delay) // STEP_SECONDS, STEPS - 1))
        symbol = chance.choices(SYMBOLS, (9, 9, 1))[0]
        steps[arrival].append((EPOCH_MICROSECONDS + round(second * 1e6), chance.randrange(100), symbol))
    for step, trades in enumerate(steps):
        trades.append((EPOCH_MICROSECONDS + (step + 1) * STEP_SECONDS * 1_000_000 - 1000, 50, "IBM"))
    return [_table(trades[::-1]) for trades in steps]


def _table(trades: list[Trade]) -> pa.Table:
    instants, prices, symbols = zip(*trades, strict=True)
    return pa.table(
        {
            "ts": pa.array(instants, pa.timestamp("us", "UTC")),
            "price": pa.array(prices, pa.int64()),
            "symbol": pa.array(symbols, pa.string()),
            "paid": pa.array([Decimal(price) / 4 for price in prices], pa.decimal128(10, 2)),
        }
    )


TRADES = Input(
    name="trades",
    steps=_rows,
    schema=SCHEMA,
    settings={"time": "ts", "watermark": f"{WATERMARK_SECONDS} seconds", "clock": CLOCK},
)
