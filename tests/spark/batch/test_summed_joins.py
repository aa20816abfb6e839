"""Windows over joins of bounded input, as DuckDB has them, and which of them are summed up where pairs are found."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import duckdb
import pytest
from pyspark.sql import DataFrame, SparkSession

from streamshed.joins.model.side import Side
from streamshed.network.model.network import network
from streamshed.network.model.rows import Rows
from streamshed.sharing.stream_work import stream_work
from streamshed.spark import answers, query_view
from streamshed.spark.common.internal_names import TIME
from streamshed.spark.joins.join_sums import join_sums
from streamshed.spark.joins.join_work import JoinSums
from tests.spark.sessions import interpreting
from tests.spark.trunks.inputs import STEP
from tests.spark.trunks.joins import ALERTS, CALLS
from tests.spark.trunks.joins.sides import DDL
from tests.spark.trunks.pairs.asked import (
    AS_ROWS,
    RESIDUAL,
    SLIDING,
    SUMMED,
    Asked,
    answered,
    assert_alike,
)
from tests.spark.trunks.pairs.matched import matched
from tests.spark.trunks.scenario import Setting

NOWHERE = Path("nowhere")
WITHIN_SECONDS = 2


def _streams() -> dict[str, Rows]:
    return {side.name: side.stream(NOWHERE) for side in (CALLS, ALERTS)}


def _pairs() -> Rows:
    return matched(Setting(streams=_streams(), folder=NOWHERE, start=0))


def _inputs(spark: SparkSession) -> dict[str, DataFrame]:
    return {side.name: spark.createDataFrame(side.rows.drop_columns([STEP]), DDL) for side in (CALLS, ALERTS)}


def test_batch_mode_answers_as_duckdb_does(spark: SparkSession) -> None:
    every = (*SUMMED, *AS_ROWS)
    queries, session = network(*(asked.query(_pairs()) for asked in every)), interpreting(spark)
    found = answers(queries, session, _inputs(session)).cache()
    for asked in every:
        view = query_view(found, queries, asked.name).toArrow()
        assert_alike(asked, answered(asked, view), asked.expected(CALLS.rows, ALERTS.rows))


def test_bounded_input_is_joined_in_full_though_it_may_be_sampled(spark: SparkSession) -> None:
    calls, alerts = _streams().values()
    drawn = calls.join(alerts, on="room", within=f"{WITHIN_SECONDS} s", mode="sample", name="drawn")
    queries = network(drawn.window("1 second").agg(n="count(*)").query("windows"))
    view = query_view(answers(queries, spark, _inputs(spark)), queries, "windows").toArrow()
    with duckdb.connect() as database:
        database.execute("SET TimeZone = 'UTC'")
        database.register("calls", CALLS.rows)
        database.register("alerts", ALERTS.rows)
        expected = database.execute(
            "SELECT time_bucket(INTERVAL 1 SECOND, greatest(a.ts, b.ts)), count(*) FROM calls a JOIN alerts b"
            f" ON a.room = b.room AND abs(epoch_us(a.ts) - epoch_us(b.ts)) <= {WITHIN_SECONDS * 1_000_000} GROUP BY ALL"
        ).fetchall()
    assert dict(zip(view["window_start"].to_pylist(), view["n"].to_pylist(), strict=True)) == dict(expected)
    assert all(view["exact"].to_pylist())


def _summed(spark: SparkSession, asked: Sequence[Asked], *, rows: bool = False) -> JoinSums:
    """What of some queries is summed up where pairs are found."""
    pairs = _pairs()
    queries = [of_pairs.query(pairs) for of_pairs in asked] + ([pairs.query("pairs")] if rows else [])
    sides = {}
    for side, prefix in zip(Side, ("calls", "alerts"), strict=True):
        empty = spark.createDataFrame([], DDL)
        columns = [f"CAST(NULL AS BIGINT) AS {TIME}", *(f"{name} AS {prefix}_{name}" for name in empty.columns)]
        sides[side] = empty.selectExpr(*columns)
    return join_sums(stream_work(pairs.stream, network(*queries).foundation.queries), sides)[0]


@pytest.mark.parametrize("asked", [*SUMMED, *AS_ROWS], ids=lambda asked: asked.name)
def test_which_queries_are_summed_up(spark: SparkSession, asked: Asked) -> None:
    assert bool(_summed(spark, [asked]).classes) is asked.is_summed


def test_rows_are_needed_by_what_is_not_summed_up(spark: SparkSession) -> None:
    assert not _summed(spark, SUMMED).needs_rows
    assert _summed(spark, SUMMED, rows=True).needs_rows
    assert _summed(spark, [SLIDING, RESIDUAL]).needs_rows
