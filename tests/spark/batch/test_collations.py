"""Texts with a collation are refused wherever they would be compared as bytes, and the way out is one."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from streamshed.errors import InvalidNetworkError
from streamshed.network.model.declared_stream import stream
from streamshed.network.model.network import network
from streamshed.network.model.query import Query
from streamshed.network.model.relation import relation
from streamshed.network.model.rows import Rows
from streamshed.network.model.stream import Stream
from streamshed.network.source.sources import folder

TEXTS = ("A", "a", "b", "B", "é", "É")
GROUPS = 3
"""So many Spark says there are."""


@pytest.fixture
def rows(spark: SparkSession, tmp_path: Path) -> Rows:
    spark.createDataFrame([(text,) for text in TEXTS], "k string").selectExpr(
        "timestamp'2024-01-01' AS ts", "k"
    ).write.parquet(str(tmp_path / "in"))
    return stream("rows", folder(tmp_path / "in", "parquet", schema="ts timestamp, k string"), time="ts")


def _looked_up(rows: Rows, spark: SparkSession) -> Query:
    names = spark.createDataFrame([("a", 1)], "k string, n int")
    of_keys = rows.map(k="collate(k, 'UTF8_LCASE')").lookup(relation("names", names), on="k")
    return of_keys.window("1 minute").agg(n="count(*)").query("q")


def _joined(rows: Rows, _: SparkSession) -> Query:
    collated = rows.map(k="collate(k, 'UTF8_LCASE')")
    pairs = collated.join(collated, on="k", within="1 s", prefixes=("l_", "r_"), name="pairs")
    return pairs.window("1 minute").agg(n="count(*)").query("q")


def _grouped(rows: Rows, _: SparkSession) -> Query:
    return rows.map(k="collate(k, 'UTF8_LCASE')").window("1 minute").by("k").agg(n="count(*)").query("q")


def _distinct(rows: Rows, _: SparkSession) -> Query:
    return rows.map(k="collate(k, 'UTF8_LCASE')").window("1 minute").agg(n="count(DISTINCT k)").query("q", mode="exact")


def _estimated(rows: Rows, _: SparkSession) -> Query:
    collated = rows.map(k="collate(k, 'UTF8_LCASE')").window("1 minute")
    return collated.agg(n="approx_count_distinct(k)").query("q", mode="exact")


def _share_of_estimated(rows: Rows, _: SparkSession) -> Query:
    collated = rows.map(k="collate(k, 'UTF8_LCASE')").window("1 minute")
    return collated.agg(n="approx_count_distinct(struct(k)) FILTER (WHERE k > '') / count(*)").query("q", mode="exact")


@pytest.mark.parametrize("build", [_looked_up, _joined, _grouped, _distinct, _estimated, _share_of_estimated])
def test_it_is_refused(build: Callable[[Stream, SparkSession], Query], rows: Stream, spark: SparkSession) -> None:
    with pytest.raises(InvalidNetworkError, match="whose collation is UTF8_LCASE"):
        network(build(rows, spark)).answers(spark)


def test_the_way_out_has_as_many_groups_as_spark_says(rows: Rows, spark: SparkSession) -> None:
    collated = rows.map(k="collate(k, 'UTF8_LCASE')").map(k="collate(lower(k), 'UTF8_BINARY')")
    found = network(collated.window("1 minute").by("k").agg(n="count(*)").query("q")).answers(spark).toPandas()
    assert found["value"].tolist() == [2.0] * GROUPS
