"""Columns in the names of folders (`day=1`) are those that Spark itself reads, in lines of JSON, too."""

from __future__ import annotations

from pathlib import Path

import pytest
from pyspark.sql import SparkSession
from pyspark.sql import functions as F

from streamshed.network.model.declared_stream import stream
from streamshed.network.model.network import network
from streamshed.network.model.rows import Rows
from streamshed.network.source.sources import folder
from streamshed.spark import answers, query_view
from streamshed.spark.admit.parsed_rows import NO_PARTITION
from tests.spark.event_times import at
from tests.spark.sessions import interpreting

SCHEMA = "at timestamp, n int, s string, Date date, size decimal(5,2), tags array<string>, raw binary"
VALUES = ("a b", "x/y", None, "50%", "a+b=c", "ä:?", "", "%zz")


def _rows(path: Path) -> Rows:
    return stream("rows", folder(path, "json", schema=SCHEMA), time="at")


@pytest.fixture(scope="module")
def path(spark: SparkSession, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder whose own path has what looks like such a column, with one row in no folder of a day."""
    rows = [(at(n), n, text, f"2024-01-0{n % 3 + 1}", n / 4) for n, text in enumerate(VALUES)]
    path = tmp_path_factory.mktemp("partition") / "n=7" / "in put"
    frame = spark.createDataFrame(rows, "at timestamp, n int, s string, date string, size double")
    frame.write.partitionBy("date", "s", "size").json(str(path))
    return path


def test_they_are_those_that_spark_reads(spark: SparkSession, path: Path) -> None:
    spark = interpreting(spark)
    rows = _rows(path)
    asked = network(
        rows.filter("Date = DATE '2024-01-02'").query("of_a_day"),
        rows.query("all"),
        rows.window("1 hour").by("s").agg(n="sum(n)").query("by_text"),
    )
    found = answers(asked, spark).cache()
    own = spark.read.schema(SCHEMA).json(str(path))
    for query, expected in {"all": own, "of_a_day": own.where("date = DATE '2024-01-02'")}.items():
        told = query_view(found, asked, query).select(*own.columns)
        assert told.dtypes == own.dtypes
        assert sorted(map(repr, told.collect())) == sorted(map(repr, expected.collect()))
    by_text = query_view(found, asked, "by_text").select("s", "n").collect()
    assert dict(by_text) == dict(own.groupBy("s").agg(F.sum("n")).collect())


def test_a_name_of_another_type_is_no_value(spark: SparkSession, tmp_path: Path) -> None:
    for name, value in (("size=big", 1), ("size=1.5", 2)):
        (tmp_path / "in" / name).mkdir(parents=True)
        (tmp_path / "in" / name / "0.json").write_text(f'{{"at": "2024-01-01T00:00:00Z", "n": {value}, "size": 9}}\n')
    asked = network(_rows(tmp_path / "in").window("1 hour").by("size").agg(n="sum(n)").query("sums"))
    told = {row["kind"]: row for row in answers(asked, spark).toArrow().to_pylist()}
    assert (told["answer"]["key"], told["answer"]["value"]) == (["1.50"], 2.0)
    assert (told["unreadable"]["reason"], told["unreadable"]["value"]) == (NO_PARTITION, 1.0)


def test_of_files_that_are_found_at_any_depth_they_are_none(spark: SparkSession, path: Path) -> None:
    options = {"recursiveFileLookup": "true"}
    rows = stream("rows", folder(path, "json", schema=SCHEMA, options=options), time="at")
    asked = network(rows.window("1 hour").by("s", "date").agg(n="sum(n)").query("sums"))
    [told] = query_view(answers(asked, spark), asked, "sums").select("s", "date", "n").collect()
    assert [told] == spark.read.schema(SCHEMA).options(**options).json(str(path)).groupBy("s", "date").agg(
        F.sum("n").alias("n")
    ).collect()
