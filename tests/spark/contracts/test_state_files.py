"""Of a micro-batch that is run again, state is what the last run made of it."""

from __future__ import annotations

from pathlib import Path

from pyspark.sql import SparkSession
from pyspark.sql import functions as F

from streamshed.spark.checkpoint.storage import Storage
from streamshed.spark.checkpoint.unfinished_state import discard_unfinished_state
from streamshed.spark.cluster.session import settings_for_queries
from streamshed.spark.inspection.state_stores import missing_state, state_operators
from tests.spark.files import write_lines


def test_state_that_is_written_again_replaces_what_was_there(spark: SparkSession, tmp_path: Path) -> None:
    """Both runs hold other keys, as those of a function that draws: a mixture would be what neither had."""
    spark = spark.newSession()
    write_lines(tmp_path / "in" / "0.json", [f'{{"n": {number}}}' for number in range(50)])
    first = _state_after_a_run(spark, tmp_path)
    for commit in (tmp_path / "checkpoint" / "commits").iterdir():
        commit.unlink()
    discard_unfinished_state(Storage.at(str(tmp_path / "checkpoint")))
    second = _state_after_a_run(spark, tmp_path)
    assert {"1.changelog"} <= first.keys() == second.keys()
    assert first["1.changelog"] != second["1.changelog"]


def test_what_finished_micro_batches_have_written_stays(spark: SparkSession, tmp_path: Path) -> None:
    write_lines(tmp_path / "in" / "0.json", ['{"n": 1}'])
    written = _state_after_a_run(spark.newSession(), tmp_path)
    checkpoint = Storage.at(str(tmp_path / "checkpoint"))
    discard_unfinished_state(checkpoint)
    assert _state_files(tmp_path) == written
    [operator] = state_operators(checkpoint)
    assert (operator.name, operator.partitions, operator.stores) == ("stateStoreSave", 1, ("default",))
    assert operator.schema_version
    assert list(missing_state(checkpoint, 0)) == []
    (tmp_path / "checkpoint" / "state" / "0" / "0" / "1.changelog").unlink()
    assert [place for place, _ in missing_state(checkpoint, 0)] == ["state/0/0"]


def test_a_task_that_is_run_again_draws_what_it_drew(spark: SparkSession, tmp_path: Path) -> None:
    """Its seed is in the plan: so what its first attempt has written of state is what it would write."""
    for file in range(3):
        write_lines(tmp_path / "in" / f"{file}.json", [f'{{"n": {number}}}' for number in range(50)])
    tasks = spark.read.schema("n bigint").json(str(tmp_path / "in")).withColumn("draw", F.rand()).rdd
    first, again = tasks.collect(), tasks.collect()
    assert first == again
    assert len({row.draw for row in first}) == 150


def _state_after_a_run(spark: SparkSession, path: Path) -> dict[str, bytes]:
    """Run all there is, and return the files of its state."""
    drawn = spark.readStream.schema("n bigint").json(str(path / "in")).withColumn("draw", F.rand())
    with settings_for_queries(spark, 1, local_checkpoint=True):
        counts = drawn.groupBy("draw").count().writeStream.outputMode("update").format("noop")
        query = counts.option("checkpointLocation", str(path / "checkpoint")).trigger(availableNow=True).start()
        query.awaitTermination()
    return _state_files(path)


def _state_files(path: Path) -> dict[str, bytes]:
    files = [file for file in (path / "checkpoint" / "state" / "0" / "0").iterdir() if file.is_file()]
    return {file.name: file.read_bytes() for file in files if not file.name.endswith(".crc")}
