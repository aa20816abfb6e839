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
    """The other one has nothing that Spark could read."""
    write_lines(tmp_path / "in" / "0.json", [f'{{"n": {number}}}' for number in range(50)])
    written = _state_after_a_run(spark.newSession(), tmp_path)
    checkpoint = Storage.at(str(tmp_path / "checkpoint"))
    [[identity]] = state_ids(checkpoint, 0)["0"]
    assert checkpoint_format(checkpoint) == "2"
    assert f"1_{identity}.changelog" in written
    keys = _keys_in_state(spark, tmp_path)
    assert len(keys) == 50
    _leave_an_attempt(tmp_path, "1_another.changelog")
    discard_unfinished_state(checkpoint)
    assert written.items() < _state_files(tmp_path).items()
    assert _keys_in_state(spark, tmp_path) == keys
    [operator] = state_operators(checkpoint)
    assert (operator.name, operator.partitions, operator.stores) == ("stateStoreSave", 1, ("default",))
    assert operator.schema_version
    assert list(missing_state(checkpoint, 0)) == []
    (_state_folder(tmp_path) / f"1_{identity}.changelog").unlink()
    assert [place for place, _ in missing_state(checkpoint, 0)] == ["state/0/0"]


def test_a_checkpoint_of_format_1_stays_in_it(spark: SparkSession, tmp_path: Path) -> None:
    """A file that an unfinished attempt has left would stay there."""
    spark = spark.newSession()
    spark.conf.set(CHECKPOINT_FORMAT, "1")
    write_lines(tmp_path / "in" / "0.json", [f'{{"n": {number}}}' for number in range(50)])
    first = _state_after_a_run(spark, tmp_path)
    keys = _keys_in_state(spark, tmp_path)
    left = _leave_an_attempt(tmp_path, "2.changelog")
    checkpoint = Storage.at(str(tmp_path / "checkpoint"))
    discard_unfinished_state(checkpoint)
    assert _state_files(tmp_path) == first
    spark.conf.unset(CHECKPOINT_FORMAT)
    write_lines(tmp_path / "in" / "1.json", ['{"n": 50}'])
    second = _state_after_a_run(spark, tmp_path)
    assert first.items() < second.items()
    assert {"1.changelog", "2.changelog"} <= second.keys()
    assert second["2.changelog"] != left
    assert checkpoint_format(checkpoint) == "1"
    assert len(_keys_in_state(spark, tmp_path) - keys) == 1
    assert list(missing_state(checkpoint, 1)) == []


def test_a_task_that_is_run_again_draws_what_it_drew(spark: SparkSession, tmp_path: Path) -> None:
    """Its seed is in the plan: so what its first attempt has written of state is what it would write."""
    for file in range(3):
        write_lines(tmp_path / "in" / f"{file}.json", [f'{{"n": {number}}}' for number in range(50)])
    tasks = spark.read.schema("n bigint").json(str(tmp_path / "in")).withColumn("draw", F.rand()).rdd
    first, again = tasks.collect(), tasks.collect()
    assert first == again
    assert len({row.draw for row in first}) == 150


def _leave_an_attempt(path: Path, name: str) -> bytes:
    """Leave a file of an attempt that did not finish."""
    content = b"half of what was to be written"
    (_state_folder(path) / name).write_bytes(content)
    return content


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
    files = [file for file in _state_folder(path).iterdir() if file.is_file()]
    return {file.name: file.read_bytes() for file in files if not file.name.endswith(".crc")}


def _state_folder(path: Path) -> Path:
    return path / "checkpoint" / "state" / "0" / "0"
