"""Rows that are counted where an operator passes them, and that no query takes."""

from __future__ import annotations

import pyarrow as pa
from pyspark.sql import SparkSession

from streamshed.network.model.declared_stream import stream
from streamshed.network.model.network import network
from streamshed.network.source.sources import folder
from streamshed.sharing.probes import ONE_IN
from streamshed.spark import query_view
from tests.spark.event_times import EPOCH, at

ROWS = 8 * ONE_IN
"""Each of a time of its own, so that about eight are probed."""


def test_their_keys_are_not_evaluated_as_a_filter_further_down_may_be_what_makes_that_safe(spark: SparkSession) -> None:
    source = folder("/nowhere", "parquet", schema="ts timestamp, n bigint, word string")
    numbered = stream("events", source, time="ts").filter("n >= 0").map(text="upper(word)")
    digits = numbered.filter("text RLIKE '^[0-9]+$'")
    counted = digits.window("1 hour").by(number="CAST(text AS INT)").agg(n="count(*)", total="sum(CAST(text AS INT))")
    rows = [{"ts": at(place), "n": place, "word": "7" if place % 2 else "abc"} for place in range(ROWS)]
    frame = spark.createDataFrame(pa.Table.from_pylist(rows))
    queries = network(counted.query("counted"))
    found = query_view(queries.answers(spark, {"events": frame}), queries, "counted").toArrow().to_pylist()
    shown = [(row["window_start"], row["number"], row["n"], row["total"]) for row in found]
    assert shown == [(EPOCH, 7, ROWS // 2, 7 * ROWS // 2)]
