"""Joins that cannot be what they are asked to be are refused before anything runs."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from streamshed.errors import InvalidExpressionError, InvalidNetworkError, StreamshedError
from streamshed.network.model.declared_stream import stream
from streamshed.network.model.network import network
from streamshed.network.model.query import Query
from streamshed.network.model.rows import Rows
from streamshed.network.source.sources import folder
from tests.spark.harness import QUICK, Collected

DDL = "ts timestamp, host string, port int, v int, note string"


@pytest.fixture
def sides(tmp_path: Path) -> tuple[Rows, Rows]:
    for name in ("calls", "alerts"):
        (tmp_path / name).mkdir()
    calls, alerts = (
        stream(name, folder(tmp_path / name, "parquet", schema=DDL), time="ts") for name in ("calls", "alerts")
    )
    return calls, alerts


def _types(calls: Rows, alerts: Rows) -> list[Query]:
    pairs = calls.map(code="concat(host, 'x')").join(alerts.map(code="port + 1"), on="code", within="5 s")
    return [pairs.query("pairs")]


def _weight(calls: Rows, alerts: Rows) -> list[Query]:
    return [calls.join(alerts, on="host", within="6 s", weight="split(calls_note, 'b')").query("pairs")]


def _all_results(calls: Rows, alerts: Rows) -> list[Query]:
    windows = calls.join(alerts, on="host", within="5 s", mode="sample").window("1 minute")
    return [
        windows.agg(n="count(*)").query("all_of_it", mode="exact"),
        windows.agg(most="max(calls_v)").query("largest"),
    ]


@pytest.mark.parametrize(
    ("asked", "error", "message"),
    [
        (_types, InvalidNetworkError, "'calls_code' of type string with 'alerts_code' of type int32"),
        (_weight, InvalidExpressionError, r"the weight of a join, .*: Spark says: "),
        (_all_results, InvalidNetworkError, r'mode="sample", but "all_of_it", "largest" cannot be answered from'),
    ],
    ids=["types that cannot be compared", "a weight that is no number", "queries that need all of a sample"],
)
def test_it_is_refused(
    spark: SparkSession,
    tmp_path: Path,
    sides: tuple[Rows, Rows],
    asked: Callable[[Rows, Rows], list[Query]],
    error: type[StreamshedError],
    message: str,
) -> None:
    with pytest.raises(error, match=message):
        network(*asked(*sides)).start(spark, checkpoint=str(tmp_path / "checkpoint"), sink=Collected(), **QUICK)
    assert not (tmp_path / "checkpoint" / "time" / "spark").exists()
