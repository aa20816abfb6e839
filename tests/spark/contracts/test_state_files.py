"""Of a micro-batch that is run again, state is what the last run made of it."""

from __future__ import annotations

from pathlib import Path

from pyspark.sql import SparkSession
from pyspark.sql import functions as F

from streamshed.spark.checkpoint.checkpoint_reader import checkpoint_format, state_ids
from streamshed.spark.checkpoint.storage import Storage
from streamshed.spark.checkpoint.unfinished_state import discard_unfinished_state
from streamshed.spark.cluster.session import CHECKPOINT_FORMAT, settings_for_queries
from streamshed.spark.inspection.state_stores import missing_state, state_operators
from tests.spark.files import write_lines


def test_of_two_attempts_the_commit_says_which_counts(spark: SparkSession, tmp_path: Path) -> None:
    """Both attempts hold other keys, as those of a function that draws: a mixture would be what neither had."""
    spark = spark.newSession()
    write_lines(tmp_path / "in" / "0.json", [f'{{"n": {number}}}' for number in range(50)])
    first = _state_after_a_run(spark, tmp_path)
    _forget_commits(tmp_path)
    both = _state_after_a_run(spark, tmp_path)
    assert first.items() < both.items()
    assert len(both) == 2 * len(first)
    checkpoint = Storage.at(str(tmp_path / "checkpoint"))
    assert checkpoint_format(checkpoint) == "2"
    [[identity]] = state_ids(checkpoint, 0)["0"]
    assert both.keys() - first.keys() == {f"1_{identity}.changelog"}
    keys = _keys_in_state(spark, tmp_path)
    assert len(keys) == 50
    (tmp_path / "checkpoint" / "state" / "0" / "0" / next(iter(first))).unlink()
    assert _keys_in_state(spark, tmp_path) == keys
    assert list(missing_state(checkpoint, 0)) == []


def test_a_checkpoint_of_format_1_stays_in_it(spark: SparkSession, tmp_path: Path) -> None:
    """A file that an unfinished attempt has left would stay there."""
    spark = spark.newSession()
    spark.conf.set(CHECKPOINT_FORMAT, "1")
    write_lines(tmp_path / "in" / "0.json", [f'{{"n": {number}}}' for number in range(50)])
    first = _state_after_a_run(spark, tmp_path)
    _forget_commits(tmp_path)
    checkpoint = Storage.at(str(tmp_path / "checkpoint"))
    discard_unfinished_state(checkpoint)
    second = _state_after_a_run(spark, tmp_path)
    assert {"1.changelog"} <= first.keys() == second.keys()
    assert first["1.changelog"] != second["1.changelog"]
    spark.conf.unset(CHECKPOINT_FORMAT)
    write_lines(tmp_path / "in" / "1.json", ['{"n": 50}'])
    third = _state_after_a_run(spark, tmp_path)
    assert second.items() < third.items()
    assert {"2.changelog"} <= third.keys()
    assert checkpoint_format(checkpoint) == "1"
    assert list(missing_state(checkpoint, 1)) == []


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
    (changes,) = (tmp_path / "checkpoint" / "state" / "0" / "0").glob("1_*.changelog")
    changes.rename(changes.with_name("1_another.changelog"))
    assert [place for place, _ in missing_state(checkpoint, 0)] == ["state/0/0"]


def test_a_task_that_is_run_again_draws_what_it_drew(spark: SparkSession, tmp_path: Path) -> None:
    """Its seed is in the plan: so what its first attempt has written of state is what it would write."""
    for file in range(3):
        write_lines(tmp_path / "in" / f"{file}.json", [f'{{"n": {number}}}' for number in range(50)])
    tasks = spark.read.schema("n bigint").json(str(tmp_path / "in")).withColumn("draw", F.rand()).rdd
    first, again = tasks.collect(), tasks.collect()
    assert first == again
    assert len({row.draw for row in first}) == 150


def _forget_commits(path: Path) -> None:
    """Let micro-batches run again, as if they had been interrupted."""
    for commit in (path / "checkpoint" / "commits").iterdir():
        commit.unlink()


def _keys_in_state(spark: SparkSession, path: Path) -> set[float]:
    """The keys that Spark finds in the state."""
    checkpoint = path / "checkpoint"
    with settings_for_queries(spark, 1, Storage.at(str(checkpoint))):
        state = spark.read.format("statestore").load(str(checkpoint)).select("key.draw")
        return {row.draw for row in state.collect()}


def _state_after_a_run(spark: SparkSession, path: Path) -> dict[str, bytes]:
    """Run all there is, and return the files of its state."""
    drawn = spark.readStream.schema("n bigint").json(str(path / "in")).withColumn("draw", F.rand())
    with settings_for_queries(spark, 1, Storage.at(str(path / "checkpoint"))):
        counts = drawn.groupBy("draw").count().writeStream.outputMode("update").format("noop")
        query = counts.option("checkpointLocation", str(path / "checkpoint")).trigger(availableNow=True).start()
        query.awaitTermination()
    return _state_files(path)


def _state_files(path: Path) -> dict[str, bytes]:
    files = [file for file in (path / "checkpoint" / "state" / "0" / "0").iterdir() if file.is_file()]
    return {file.name: file.read_bytes() for file in files if not file.name.endswith(".crc")}
