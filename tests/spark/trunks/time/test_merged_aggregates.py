"""Aggregates of one's own that merge states of slices, over overlapping windows, against lists in order from DuckDB."""

from __future__ import annotations

from collections.abc import Iterable

import duckdb
import pyarrow as pa

from streamshed.network.aggregate import AggregateCall, user_aggregate
from streamshed.network.query import Query
from tests.spark.streaming.in_order import InOrder, Merges
from tests.spark.trunks.numbered_rows import EPOCH_MICROSECONDS, seconds_of
from tests.spark.trunks.outcome import Outcome
from tests.spark.trunks.scenario import Scenario, Setting
from tests.spark.trunks.time.trades import trades_as_they_came

SIZE, SLIDE = 20, 2

Places = dict[tuple[float, str | None], str]
"""By start of the window in seconds, and symbol."""


def _in_order(column: str) -> AggregateCall:
    return user_aggregate(InOrder, columns=[column], returns="string")


def _queries(setting: Setting) -> Iterable[Query]:
    trades = setting["trades"]
    merges = user_aggregate(Merges, columns=["price"], returns="bigint")
    sliding = trades.window(f"{SIZE} seconds", every=f"{SLIDE} seconds").by("symbol")
    below = trades.window("4 seconds").by("symbol").agg(told=_in_order("price"))
    above = below.window("12 seconds", every="4 seconds").by("symbol")
    dear = trades.filter("price > 20").filter("price > 40").window("10 seconds", every="5 seconds").by("symbol")
    return [
        sliding.agg(told=_in_order("price"), merges=merges, n="count(*)").query("sliding", mode="exact"),
        dear.agg(told=_in_order("price")).query("dear", mode="exact"),
        above.agg(told=_in_order("told")).query("above", mode="exact"),
        trades.filter("price < 70").window("4 seconds").by("symbol").agg(n="count(*)").query("plain"),
    ]


SCENARIO = Scenario(queries=_queries)


def _expected(trades: pa.Table, size: int, slide: int, where: str = "true") -> Places:
    """Prices in order, without rows that came when the window had closed."""
    starts = (
        f"unnest(generate_series((epoch_us(ts) - {size} * 1000000) // ({slide} * 1000000) + 1,"
        f" epoch_us(ts) // ({slide} * 1000000))) * {slide} * 1000000"
    )
    with duckdb.connect() as database:
        database.register("trades", trades)
        rows = database.execute(
            "SELECT start, symbol, list(price ORDER BY ts, CAST(price AS VARCHAR))"
            f" FROM (SELECT *, {starts} AS start FROM trades WHERE {where})"
            f" WHERE start + {size} * 1000000 > closed_until GROUP BY ALL"
        ).fetchall()
    return {((start - EPOCH_MICROSECONDS) / 1e6, symbol): repr(prices) for start, symbol, prices in rows}


def _expected_above(below: Places, size: int, slide: int) -> Places:
    """The same of the answers of tumbling windows."""
    lists: dict[tuple[float, str | None], list[str]] = {}
    for start, symbol in sorted(below, key=repr_of_symbol_last):
        for first in range(-100, 100):
            if first * slide <= start < first * slide + size:
                lists.setdefault((float(first * slide), symbol), []).append(below[start, symbol])
    return {place: repr(texts) for place, texts in lists.items()}


def repr_of_symbol_last(place: tuple[float, str | None]) -> tuple[float, str]:
    """An order of places in which those without a symbol have a place, too."""
    return place[0], repr(place[1])


def _told(outcome: Outcome, query: str, aggregate: str = "told") -> Places:
    rows = [row for row in outcome.rows(query) if row.aggregate == aggregate]
    told = {(seconds_of(row.window_start), row.key[0]): str(row.value_text) for row in rows}
    assert len(told) == len(rows), "a window was answered twice"
    return told


def test_merged_states_answer_as_rows_in_order_do(outcome: Outcome) -> None:
    trades = trades_as_they_came(outcome)
    assert _told(outcome, "sliding") == _expected(trades, SIZE, SLIDE)
    assert _told(outcome, "dear") == _expected(trades, 10, 5, "price > 40")
    assert _told(outcome, "above") == _expected_above(_expected(trades, 4, 4), 12, 4)


def test_states_are_merged(outcome: Outcome) -> None:
    assert max(int(text) for text in _told(outcome, "sliding", "merges").values()) >= SIZE // SLIDE - 1


def test_some_rows_are_late(outcome: Outcome) -> None:
    """Else it would not be known that these are left out."""
    assert {row.query for row in outcome.rows(kind="late")} >= {"sliding", "dear", "above", "plain"}
