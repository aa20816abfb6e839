"""Folders of ORC: what Spark itself reads of them."""

from __future__ import annotations

from pathlib import Path

from pyspark.sql import SparkSession
from pyspark.sql import functions as F

from streamshed.network.model.declared_stream import stream
from streamshed.network.model.network import network
from streamshed.network.source.sources import folder

SCHEMA = "ts timestamp, k string, v double, d decimal(9,2)"


def test_answers_are_those_of_plain_spark(spark: SparkSession, tmp_path: Path) -> None:
    numbers = spark.range(1000).selectExpr(
        "timestamp_millis(1700000000000 + id * 37) AS ts",
        "if(id % 11 = 0, null, concat('k', id % 3)) AS k",
        "if(id % 7 = 0, null, id / 3) AS v",
        "cast(id / 4 AS decimal(9,2)) AS d",
    )
    numbers.repartition(3).write.orc(str(tmp_path / "in"))
    rows = stream("rows", folder(tmp_path / "in", "orc", schema=SCHEMA), time="ts")
    asked = rows.window("5 seconds").by("k").agg(n="count(*)", v="sum(v)", d="max(d)").query("q", mode="exact")
    answers = network(asked).answers(spark).where("kind = 'answer' AND exact")
    ours = {
        (row.window_start, row.key[0], row.aggregate): round(float(row.value_text or row.value), 6)
        for row in answers.collect()
        if row.value is not None
    }
    by_window = numbers.groupBy(F.window("ts", "5 seconds").start.alias("start"), "k")
    plain = by_window.agg(F.count("*").alias("n"), F.sum("v").alias("v"), F.max("d").alias("d")).collect()
    theirs = {(row.start, row.k, name): round(float(row[name]), 6) for row in plain for name in ("n", "v", "d")}
    assert ours == theirs
