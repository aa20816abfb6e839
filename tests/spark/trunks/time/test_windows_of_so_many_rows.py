"""Windows of the last so many rows of each group: as DuckDB answers them, whatever order rows come in."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

import duckdb
import pyarrow as pa
import pytest
from pyspark.sql import SparkSession

from streamshed.errors import IncompatibleCheckpointError
from streamshed.network.model.network import network
from streamshed.network.model.query import Query
from streamshed.network.model.rows import Rows
from streamshed.network.terms.aggregate import user_aggregate
from streamshed.spark import answers, query_view
from streamshed.spark.starting import start
from tests.spark.trunks.course import AnswerFiles
from tests.spark.trunks.outcome import Outcome
from tests.spark.trunks.scenario import Scenario, Setting
from tests.spark.trunks.time.trades import CLOCK, TRADES
from tests.spark.trunks.trunk import prefixed

SIZE, SLIDE = 20, 5
NAMES = ("n", "total", "bill", "top", "middle", "spread", "moved")
CONDITION = "price % 7 <> 3"


class Ordered:
    """The last value less the first: rows in another order would tell."""

    def init(self) -> list[int]:
        return []

    def incr(self, state: list[int], value: int) -> list[int]:
        return [*state, value]

    def final(self, state: list[int]) -> int:
        return state[-1] - state[0]


def _by_symbol(trades: Rows) -> Query:
    windows = trades.filter(CONDITION).window(f"{SIZE} rows", every=f"{SLIDE} rows")
    return (
        windows.by("symbol")
        .agg(
            n="count(*)",
            total="sum(price)",
            bill="sum(paid)",
            top="max(symbol)",
            middle="median(price)",
            spread="stddev(price)",
            moved=user_aggregate(Ordered, columns=["price"], returns="bigint"),
        )
        .query("by_symbol")
    )


def _queries(setting: Setting) -> Iterable[Query]:
    """On the other clock nobody asks for windows of rows."""
    trades, then = setting["trades"], setting["then"]
    other_clock = then.window("20 seconds").agg(n="count(*)", total="sum(v)").query("other_clock")
    return [_by_symbol(trades), other_clock]


SCENARIO = Scenario(queries=_queries)


def _expected(rows: pa.Table) -> list[tuple[object, ...]]:
    """What DuckDB answers; of one time, rows are in the order of their values as texts."""
    with duckdb.connect() as database:
        database.register("trades", rows)
        return database.execute(
            "WITH numbered AS (SELECT *, row_number() OVER"
            f" (PARTITION BY symbol ORDER BY ts, CAST(price AS VARCHAR)) - 1 AS n FROM trades WHERE {CONDITION})"
            f" SELECT symbol, k, k + {SIZE}, count(*), sum(price)::BIGINT, sum(paid)::VARCHAR, max(symbol),"
            " quantile_disc(price, 0.5)::DOUBLE, round(stddev(price), 6), arg_max(price, n) - arg_min(price, n)"
            f" FROM numbered, range({SLIDE - SIZE}, {rows.num_rows}, {SLIDE}) w(k)"
            f" WHERE n >= k AND n < k + {SIZE} GROUP BY symbol, k ORDER BY symbol NULLS FIRST, k"
        ).fetchall()


def _is_late(row: dict[str, Any]) -> bool:
    return bool(row["ts"].timestamp() * 1e6 < row["closed_until"])


def _windows(outcome: Outcome) -> list[tuple[object, ...]]:
    windows: dict[tuple[object, ...], dict[str, object]] = {}
    for row in outcome.raw_answers.to_pylist():
        if (row["kind"], row["query"]) != ("answer", prefixed(outcome.prefix, "by_symbol")):
            continue
        assert row["exact"]
        assert row["window_start"] is None
        values = windows.setdefault((row["key"][0], row["window_from"], row["window_until"]), {})
        assert row["aggregate"] not in values, "a window was answered twice"
        values[row["aggregate"]] = row["value_text"] if row["aggregate"] in {"bill", "top"} else row["value"]
    return _in_order([(*window, *(values[name] for name in NAMES)) for window, values in windows.items()])


def _in_order(rows: Sequence[tuple[Any, ...]]) -> list[tuple[object, ...]]:
    rounded = [tuple(round(value, 6) if isinstance(value, float) else value for value in row) for row in rows]
    return sorted(rounded, key=lambda row: (row[0] is not None, row[:2]))


def test_a_stream_answers_as_duckdb_does_across_restarts(outcome: Outcome) -> None:
    trades = outcome.rows_as_they_came("trades", CLOCK)
    in_time = pa.Table.from_pylist([row for row in trades.to_pylist() if not _is_late(row)], schema=trades.schema)
    assert _windows(outcome) == _expected(in_time)


def test_late_rows_are_counted(outcome: Outcome) -> None:
    rows = [row for row in outcome.rows_as_they_came("trades", CLOCK).to_pylist() if row["price"] % 7 != 3]
    late = sum(_is_late(row) for row in rows)
    assert late > 1
    assert sum(row.rows_used for row in outcome.rows("by_symbol", kind="late")) == late


def test_batch_mode_answers_as_duckdb_does(outcome: Outcome, spark: SparkSession) -> None:
    trades = outcome.table("trades")
    queries = network(_by_symbol(TRADES.stream(outcome.cast.path)))
    view = query_view(answers(queries, spark), queries, "by_symbol")
    assert view.columns[:3] == ["window_from", "window_until", "symbol"]
    columns = ("symbol", "window_from", "window_until", *NAMES)
    rows = [{**row.asDict(), "bill": str(row["bill"])} for row in view.collect()]
    assert _in_order([tuple(row[name] for name in columns) for row in rows]) == _expected(trades)


def test_a_checkpoint_that_was_not_made_for_them_is_refused(outcome: Outcome, spark: SparkSession) -> None:
    then = outcome.network.rows("then")
    added = network(*outcome.network.queries, then.window("5 rows").agg(n="count(*)").query("added"))
    settings = {**outcome.cast.start_settings, "sink": AnswerFiles(outcome.cast, 0)}
    with pytest.raises(IncompatibleCheckpointError, match='the state family "count_windows"'):
        start(added, spark, checkpoint=str(outcome.cast.checkpoint), **settings).stop()
