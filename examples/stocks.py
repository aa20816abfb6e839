"""How often in an hour a share's highest and lowest price within five minutes lay more than 5 apart.

The nested query of Figure 1 of Tatbul and Zdonik, "Window-Aware Load Shedding for Aggregation Queries over Data
Streams" (VLDB 2006): an aggregate of the user's own over five minutes, a filter over its answers, and a count of these
per hour. Under overload whole hours are dropped, no two in a row: the counts that come are exact, and the others are
gaps. No row is parsed, and no price compared, that only a dropped hour would have needed.

    python examples/stocks.py
"""

from __future__ import annotations

import tempfile
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

import streamshed as ss
from streamshed.spark import local_session, parquet_sink

SYMBOLS = ("IBM", "SUN", "DEC", "HP")
DAYS, TRADES_PER_DAY = 2, 40_000


class Spread:
    """The difference between the highest and the lowest of all prices that it is given."""

    def init(self) -> list[float]:
        """Begin a window."""
        return []

    def incr(self, state: list[float], price: float) -> list[float]:
        """Take in one price."""
        state.append(price)
        return state

    def final(self, state: list[float]) -> float:
        """End the window."""
        return max(state) - min(state)


def large_spreads(trades: ss.Rows) -> ss.QueryNetwork:
    """Return the query, beside one that counts trades and may be answered from a sample."""
    spreads = (
        trades.filter("symbol = 'IBM'")
        .window("5 minutes")
        .agg(spread=ss.user_aggregate(Spread, columns=["price"], returns="double"))
    )
    per_hour = spreads.filter("spread > 5").window("1 hour").agg(n="count(*)")
    return ss.network(
        per_hour.query("large_spreads", mode="subset", max_gap=1),
        trades.window("1 hour").by("symbol").agg(trades="count(*)").query("trades"),
    )


def write_trades(folder: Path) -> None:
    """Write made-up trades: prices that wander, the more the later on a day."""
    chance = np.random.default_rng(1)
    for day in range(DAYS):
        seconds = np.sort(chance.random(TRADES_PER_DAY)) * 86_400
        wandering = np.cumsum(chance.normal(0, 0.02 + seconds / 86_400 * 0.3, TRADES_PER_DAY))
        instants = 1_704_067_200_000_000 + (day * 86_400_000_000 + seconds * 1e6).astype(np.int64)
        table = pa.table(
            {
                "ts": pa.array(instants, pa.timestamp("us", "UTC")),
                "symbol": chance.choice(SYMBOLS, TRADES_PER_DAY),
                "price": 100 + wandering,
            }
        )
        pq.write_table(table, folder / f"{day}.parquet")


def main() -> None:
    """Run it over made-up trades, and print what comes of it."""
    with tempfile.TemporaryDirectory() as scratch, local_session("stocks") as spark:
        folder = Path(scratch, "trades")
        folder.mkdir()
        write_trades(folder)
        source = ss.folder(
            folder, "parquet", schema="ts timestamp, symbol string, price double", max_files_per_micro_batch=1
        )
        network = large_spreads(ss.stream("trades", source, time="ts"))
        print(network.explain(load=1.5))
        sink = parquet_sink(f"{scratch}/answers")
        with network.start(spark, checkpoint=f"{scratch}/checkpoint", sink=sink, trigger="1 second") as run:
            while run.status().micro_batch_id < DAYS:
                run.await_termination(0.5)
            run.drain()
        found = spark.read.parquet(f"{scratch}/answers").where("query = 'large_spreads' AND rows_used > 0")
        found.select("window_start", "value", "exact").orderBy("window_start").show(50)


if __name__ == "__main__":
    main()
