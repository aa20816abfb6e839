"""The Parquet sink writes nothing for nothing, and a micro-batch that is run again replaces what it left."""

from __future__ import annotations

from pathlib import Path

from pyspark.sql import SparkSession
from pyspark.sql import functions as F

from streamshed.spark.sinks.sinks import parquet_sink


def files_in(folder: Path) -> dict[str, int]:
    """By folder, how many files it has."""
    return {path.name: len(list(path.iterdir())) for path in sorted((folder / "query_id=a").iterdir())}


def test_only_the_first_folder_of_a_process_may_be_without_answers(spark: SparkSession, tmp_path: Path) -> None:
    answers, nothing = spark.range(3), spark.range(0)
    sink = parquet_sink(tmp_path)
    sink.write(nothing, "a", 0)
    assert spark.read.parquet(str(tmp_path)).where(F.col("id").isNotNull()).count() == 0
    for number in (1, 3):
        sink.write(answers, "a", number)
    for number in (2, 4, 5):
        sink.write(nothing, "a", number)
    assert files_in(tmp_path).keys() == {"micro_batch_id=0", "micro_batch_id=1", "micro_batch_id=3"}
    assert spark.read.parquet(str(tmp_path)).count() == 6


def test_each_value_of_a_column_has_a_folder(spark: SparkSession, tmp_path: Path) -> None:
    answers = spark.createDataFrame([("a", 1.0), ("b", 2.0)], "query string, value double")
    for partition_by in ((), ("query",)):
        sink = parquet_sink(tmp_path / str(len(partition_by)), partition_by=partition_by)
        for number, rows in enumerate((answers, answers.where("query = 'b'"), answers.limit(0))):
            sink.write(rows, "a", number)
        read = spark.read.parquet(sink.path).select("micro_batch_id", "query", "value")
        assert sorted(map(tuple, read.collect())) == [(0, "a", 1.0), (0, "b", 2.0), (1, "b", 2.0)]
    folders = sorted(str(path.relative_to(tmp_path)) for path in tmp_path.glob("1/*/*/*") if path.is_dir())
    assert folders == [f"1/query_id=a/micro_batch_id={place}" for place in ("0/query=a", "0/query=b", "1/query=b")]


def test_what_an_earlier_attempt_left_is_gone(spark: SparkSession, tmp_path: Path) -> None:
    sink = parquet_sink(tmp_path)
    for number in (0, 1):
        sink.write(spark.range(3), "a", number)
    parquet_sink(tmp_path).write(spark.range(2), "a", 1)
    assert spark.read.parquet(str(tmp_path)).count() == 5
    sink.write(spark.range(0), "a", 1)
    assert files_in(tmp_path).keys() == {"micro_batch_id=0"}
