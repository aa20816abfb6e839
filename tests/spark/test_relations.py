"""Stored relations: keys that are there more than once, what is refused before anything runs, what Spark would read."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from pyspark.errors import PySparkException
from pyspark.sql import DataFrame, SparkSession

from streamshed.errors import SourceUnavailableError
from streamshed.network.network import QueryNetwork, network
from streamshed.network.relation import Relation, relation
from streamshed.network.sources import folder
from streamshed.network.stream import stream
from streamshed.sharing.instructions import Match
from streamshed.spark.relation_frame import relation_frame
from streamshed.spark.sinks import console_sink
from tests.spark.streaming.files import timed_values, write_parquet

Make = Callable[[SparkSession, Path, list[int | None]], Relation]


def of_file(_spark: SparkSession, path: Path, keys: list[int | None]) -> Relation:
    rows = {"k": pa.array(keys, pa.int64()), "label": [f"l{index}" for index in range(len(keys))]}
    write_parquet(path / "labels.parquet", pa.table(rows))
    return relation("labels", path / "labels.parquet")


def of_frame(spark: SparkSession, _path: Path, keys: list[int | None]) -> Relation:
    rows = [(key, f"l{index}") for index, key in enumerate(keys)]
    return relation("labels", spark.createDataFrame(rows, "k bigint, label string"))


def looked_up(path: Path, labels: Relation) -> QueryNetwork:
    events = stream("events", folder(path / "in", "parquet"), time="ts")
    return network(
        events.lookup(labels, on={"v": "k"}, columns=["label"])
        .window("10 seconds")
        .by("label")
        .agg(n="count(*)")
        .query("labeled")
    )


def known(path: Path, labels: Relation) -> QueryNetwork:
    events = stream("events", folder(path / "in", "parquet"), time="ts")
    return network(
        events.semijoin(labels, on={"v": "k"}).window("10 seconds").agg(n="count(*)").query("known"),
        events.semijoin(labels, on={"v": "k"}, negate=True).window("10 seconds").agg(n="count(*)").query("unknown"),
    )


@pytest.fixture
def path(tmp_path: Path) -> Path:
    """Ten rows of the values 0 to 9, within one window."""
    write_parquet(tmp_path / "in" / "0.parquet", timed_values([0.5] * 10, list(range(10))))
    return tmp_path


def counts(answers: DataFrame) -> dict[tuple[str, str | None], float]:
    rows = answers.where("kind = 'answer'").collect()
    return {(row.query, row.key[0] if row.key else None): row.value for row in rows}


def test_a_lookup_in_a_data_frame_refuses_them(spark: SparkSession, path: Path) -> None:
    answers = looked_up(path, of_frame(spark, path, [1, 3, 3])).answers(spark)
    with pytest.raises(PySparkException, match=r'relation "labels": .*have the key k = 3.*one row per key'):
        answers.collect()


def test_a_lookup_in_a_file_refuses_them_before_anything_runs(spark: SparkSession, path: Path) -> None:
    refused = looked_up(path, of_file(spark, path, [1, 3, 3]))
    message = 'relation "labels": 1 rows of .* repeat a key, such as k = 3; a lookup needs one row per key'
    with pytest.raises(SourceUnavailableError, match=message):
        refused.answers(spark)
    with pytest.raises(SourceUnavailableError, match=message):
        refused.start(spark, checkpoint=str(path / "checkpoint"), sink=console_sink())
    assert spark.streams.active == []


@pytest.mark.parametrize(
    ("name", "text", "options", "message"),
    [
        ("labels.csv", "k,label\nx,a\n", {}, "\"k\" holds 'x', which is no bigint"),
        ("labels.csv", "k,lable\n1,a\n", {}, r'has no column "label", only: k, lable \(did you mean "lable"\?\)'),
        ("labels.json", '{"k": 1.5, "label": "a"}\n', {}, "\"k\" holds '1.5', which is no bigint"),
    ],
)
def test_a_relation_that_cannot_be_read_is_refused_before_anything_runs(
    spark: SparkSession, path: Path, name: str, text: str, options: dict[str, str], message: str
) -> None:
    (path / name).write_text(text)
    labels = relation("labels", path / name, schema="k bigint, label string", options=options)
    with pytest.raises(SourceUnavailableError, match=f'relation "labels": .*{name}.*{message}'):
        looked_up(path, labels).answers(spark)


def test_a_relation_elsewhere_that_nobody_can_reach_is_refused(spark: SparkSession, path: Path) -> None:
    labels = relation("labels", "s3a://bucket/labels.csv", schema="k bigint, label string")
    with pytest.raises(SourceUnavailableError, match=r'cannot reach "s3a://bucket/labels.csv"'):
        looked_up(path, labels).answers(spark)


@pytest.mark.parametrize(
    ("name", "text", "settings"),
    [
        ("labels.csv", "k,label\n1,l0\n3,l1\n", {}),
        ("labels.csv", "1;l0\n3;l1\n", {"schema": "k bigint, label string", "options": {"header": False, "sep": ";"}}),
        ("labels.json", '{"k": 1, "label": "l0"}\n{"k": 3, "label": "l1"}\n', {}),
    ],
)
def test_the_columns_are_those_of_a_schema_or_inferred(
    spark: SparkSession, path: Path, name: str, text: str, settings: dict[str, Any]
) -> None:
    (path / name).write_text(text)
    labels = relation("labels", (path / name).as_uri(), **settings)
    assert counts(looked_up(path, labels).answers(spark)) == {("labeled", "l0"): 1, ("labeled", "l1"): 1}


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("stored.csv", 'zip,size,at,note\n00123,7,2024-01-31 10:00:00,1.50\n,,,\nTrue,-1,2024-01-31T10:00:00Z,""\n'),
        ("stored.json", '{"zip": "00123", "size": 7, "note": 1.50}\n{}\n{"zip": true, "note": "null"}\n'),
    ],
)
def test_values_are_those_that_spark_reads(spark: SparkSession, path: Path, name: str, text: str) -> None:
    (path / name).write_text(text)
    schema = "zip string, size int, at timestamp, note string"
    stored = relation("stored", path / name, schema=schema)
    on, outputs = (("row", "size"),), tuple((column.name, column.name) for column in stored.columns or ())
    found = relation_frame(Match(stored, on, outputs, "matched"))
    expected = spark.read.schema(schema).option("header", "true").format(name.partition(".")[2]).load(str(path / name))
    assert found.collect() == expected.where("size IS NOT NULL").collect()


@pytest.mark.parametrize("make", [of_file, of_frame])
def test_rows_without_a_key_are_nobodys(spark: SparkSession, path: Path, make: Make) -> None:
    found = counts(looked_up(path, make(spark, path, [1, None, None, 3])).answers(spark))
    assert found == {("labeled", "l0"): 1, ("labeled", "l3"): 1}


@pytest.mark.parametrize("make", [of_file, of_frame])
def test_a_semijoin_takes_them_for_one(spark: SparkSession, path: Path, make: Make) -> None:
    found = counts(known(path, make(spark, path, [1, 3, 3, None, None])).answers(spark))
    assert found == {("known", None): 2, ("unknown", None): 8}


@pytest.mark.parametrize("is_file", [True, False])
def test_a_key_of_two_columns_is_there_twice_only_as_a_whole(spark: SparkSession, path: Path, *, is_file: bool) -> None:
    rows = {"k": [1, 1, 2, 2], "also": [1, 2, 2, None], "label": ["a", "b", "c", "d"]}
    write_parquet(path / "labels.parquet", pa.table(rows))
    file = path / "labels.parquet"
    labels = relation("labels", file if is_file else spark.read.parquet(str(file)))
    events = stream("events", folder(path / "in", "parquet"), time="ts")
    own = events.map(w="v").lookup(labels, on={"v": "k", "w": "also"}, columns=["label"])
    answers = network(own.window("10 seconds").by("label").agg(n="count(*)").query("labeled")).answers(spark)
    assert counts(answers) == {("labeled", "a"): 1, ("labeled", "c"): 1}
