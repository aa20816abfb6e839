"""Keys that a stored relation holds more than once."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pyarrow as pa
import pytest
from pyspark.errors import PySparkException
from pyspark.sql import DataFrame, SparkSession

from streamshed.network.network import QueryNetwork, network
from streamshed.network.relation import Relation, relation
from streamshed.network.sources import folder
from streamshed.network.stream import stream
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


@pytest.mark.parametrize(
    ("make", "message"), [(of_file, "1 rows of .* repeat a key"), (of_frame, "have the key k = 3")]
)
def test_a_lookup_refuses_them(spark: SparkSession, path: Path, make: Make, message: str) -> None:
    answers = looked_up(path, make(spark, path, [1, 3, 3])).answers(spark)
    with pytest.raises(PySparkException, match=f'relation "labels": .*{message}.*one row per key'):
        answers.collect()


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
