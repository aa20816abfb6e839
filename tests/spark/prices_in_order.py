"""What windows tell that list the prices of each symbol in order: queries, and what DuckDB says."""

from __future__ import annotations

from collections.abc import Iterable

import duckdb
import pyarrow as pa

from streamshed.network.model.query import Query
from streamshed.network.model.rows import Rows
from streamshed.network.terms.aggregate import AggregateCall, user_aggregate
from tests.spark.event_times import EPOCH_MICROSECONDS
from tests.spark.in_order import InOrder, Merges

SIZE, SLIDE = 20, 2
"""Of the windows of the query `sliding`, seconds."""

Lists = dict[tuple[float, str | None], str]
"""By start of the window in seconds, and symbol."""


def in_order(column: str) -> AggregateCall:
    """The call that tells the values of a column in order."""
    return user_aggregate(InOrder, columns=[column], returns="string")


def queries_in_order(trades: Rows) -> Iterable[Query]:
    """The queries `sliding`, `dear`, `above` and `plain` over columns `price` and `symbol`."""
    merges = user_aggregate(Merges, columns=["price"], returns="bigint")
    sliding = trades.window(f"{SIZE} seconds", every=f"{SLIDE} seconds").by("symbol")
    below = trades.window("4 seconds").by("symbol").agg(told=in_order("price"))
    above = below.window("12 seconds", every="4 seconds").by("symbol")
    dear = trades.filter("price > 20").filter("price > 40").window("10 seconds", every="5 seconds").by("symbol")
    return [
        sliding.agg(told=in_order("price"), merges=merges, n="count(*)").query("sliding", mode="exact"),
        dear.agg(told=in_order("price")).query("dear", mode="exact"),
        above.agg(told=in_order("told")).query("above", mode="exact"),
        trades.filter("price < 70").window("4 seconds").by("symbol").agg(n="count(*)").query("plain"),
    ]


def expected_lists(trades: pa.Table) -> dict[str, Lists]:
    """By query that tells prices, its answers."""
    return {
        "sliding": prices_in_windows(trades, SIZE, SLIDE),
        "dear": prices_in_windows(trades, 10, 5, where="price > 40"),
        "above": _above(prices_in_windows(trades, 4, 4), 12, 4),
    }


def prices_in_windows(
    trades: pa.Table, size: int, slide: int, *, price: str = "price", symbol: str = "symbol", where: str = "true"
) -> Lists:
    """Prices in order, without rows that came when the window had closed.

    Args:
        trades: With the column `closed_until`: up to when windows were closed when a row came, microseconds.
        size: Of windows, seconds.
        slide: How far they are apart.
        price: The column of prices.
        symbol: The column of symbols.
        where: Which rows.
    """
    starts = (
        f"unnest(generate_series((epoch_us(ts) - {size} * 1000000) // ({slide} * 1000000) + 1,"
        f" epoch_us(ts) // ({slide} * 1000000))) * {slide} * 1000000"
    )
    with duckdb.connect() as database:
        database.register("trades", trades)
        rows = database.execute(
            f"SELECT start, {symbol}, list({price} ORDER BY ts, CAST({price} AS VARCHAR))"
            f" FROM (SELECT *, {starts} AS start FROM trades WHERE {where})"
            f" WHERE start + {size} * 1000000 > closed_until GROUP BY ALL"
        ).fetchall()
    return {((start - EPOCH_MICROSECONDS) / 1e6, name): repr(prices) for start, name, prices in rows}


def _above(below: Lists, size: int, slide: int) -> Lists:
    """The same of the answers of tumbling windows."""
    lists: dict[tuple[float, str | None], list[str]] = {}
    for start, symbol in sorted(below, key=lambda place: (place[0], repr(place[1]))):
        for first in range(-100, 100):
            if first * slide <= start < first * slide + size:
                lists.setdefault((float(first * slide), symbol), []).append(below[start, symbol])
    return {place: repr(texts) for place, texts in lists.items()}
