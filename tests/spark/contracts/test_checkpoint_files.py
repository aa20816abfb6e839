"""What Spark writes into its checkpoint before a micro-batch runs."""

from __future__ import annotations

import json
from pathlib import Path
from urllib.parse import unquote, urlsplit

import pytest
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

from streamshed.errors import SourceMismatchError
from streamshed.spark.checkpoint.checkpoint_reader import files_of, query_id, rows_by_offsets, watermark_milliseconds
from streamshed.spark.checkpoint.source_places import SourcePlaces
from streamshed.spark.checkpoint.storage import Storage
from streamshed.spark.source.carrier import carrier_frame
from tests.spark.event_times import EPOCH
from tests.spark.files import timed_values, write_parquet

PLACES = SourcePlaces(streams=(("s",), ()), lines=(0, 1))
OF_BROKERS = SourcePlaces(streams=(("packets",), ("files",), ("flows",), ()), lines=(0, 1, 2, 3, 0))
FILES = 4
COMPACTED = ("spark.sql.streaming.fileSource.log.compactInterval", "3")
"""So many entries Spark puts together into one file of its log: one less than there are."""


def test_files_and_watermark_of_each_micro_batch_are_known_while_it_runs(spark: SparkSession, tmp_path: Path) -> None:
    spark = spark.newSession()
    spark.conf.set(*COMPACTED)
    folder, checkpoint = tmp_path / "in put", Storage.at(str(tmp_path / "checkpoint"))
    for number in range(FILES):
        write_parquet(folder / f"{number} 100%.parquet", timed_values([number], [number]))
    read: dict[int, list[str]] = {}
    told: dict[int, list[str]] = {}
    watermarks: dict[int, int] = {}

    def look(rows: DataFrame, number: int) -> None:
        watermarks[number] = watermark_milliseconds(checkpoint, number)
        told[number] = [_path(uri) for uris in files_of(checkpoint, number, PLACES).values() for uri in uris]
        read[number] = [_path(row.file) for row in rows.where("file IS NOT NULL").collect()]

    files = spark.readStream.schema("ts timestamp, v bigint").option("maxFilesPerTrigger", 1).parquet(str(folder))
    named = files.withWatermark("ts", "2 seconds").select("ts", F.col("_metadata.file_path").alias("file"))
    carriers = carrier_frame(spark).select(F.lit(EPOCH).alias("ts"), F.lit(None).cast("string").alias("file"))
    # Spark tracks no watermark where nothing is stateful.
    rows = named.unionByName(carriers).dropDuplicatesWithinWatermark(["file"])
    writer = rows.writeStream.foreachBatch(look).option("checkpointLocation", checkpoint.root)
    running = writer.trigger(processingTime="0 seconds").start()
    try:
        while len(read) < FILES + 2:
            assert not running.awaitTermination(1)
        write_parquet(folder / "last.parquet", timed_values([100], [100]))
        while "last" not in json.dumps(read):
            assert not running.awaitTermination(1)
        assert query_id(checkpoint) == running.id
    finally:
        running.stop()
    # The micro-batch that the stop interrupted, if any, was told of and not read.
    assert {number: told[number] for number in read} == read
    assert [len(read[number]) for number in range(FILES + 2)] == [1] * FILES + [0, 0]
    assert (tmp_path / "checkpoint" / "sources" / "0" / "2.compact").exists()
    epoch = int(EPOCH.timestamp()) * 1000
    expected = {number: epoch + (number - 1 - 2) * 1000 for number in range(1, FILES + 1)}
    assert {number: watermarks[number] for number in expected} == expected
    assert watermarks[0] == 0


def _path(uri: str) -> str:
    return unquote(urlsplit(uri).path)


def test_of_a_checkpoint_that_is_not_there_nothing_is_known(tmp_path: Path) -> None:
    nowhere = Storage.at(str(tmp_path))
    assert query_id(nowhere) == ""
    assert watermark_milliseconds(nowhere, 7) == 0
    assert files_of(nowhere, 7, PLACES) == {}
    assert rows_by_offsets(nowhere, 7, PLACES) == {}


@pytest.fixture
def brokers(tmp_path: Path) -> Storage:
    """Offsets as Kafka's source writes them, beside those of a folder and of a generator."""
    storage = Storage.at(str(tmp_path))
    header = ["v1", json.dumps({"batchWatermarkMs": 5})]
    before = [{"packets": {"0": 100, "1": 40}}, {"logOffset": 3}, {"flows": {"0": 7}}]
    after = [{"packets": {"0": 130, "1": 40, "2": 5}}, {"logOffset": 3}, {"flows": {"0": 9}, "new": {"0": 2}}]
    for number, offsets in ((4, before), (5, after)):
        storage.write_text(
            f"offsets/{number}", "\n".join([*header, *map(json.dumps, offsets), "12", json.dumps(offsets[0])])
        )
    return storage


def test_offsets_of_brokers_count_rows(brokers: Storage) -> None:
    assert rows_by_offsets(brokers, 5, OF_BROKERS) == {0: 35, 2: 4}


def test_without_the_offsets_before_nothing_is_counted(brokers: Storage) -> None:
    assert rows_by_offsets(brokers, 4, OF_BROKERS) == {}


def test_a_log_without_new_entries_brings_no_files(brokers: Storage) -> None:
    assert files_of(brokers, 5, OF_BROKERS) == {}


def test_offsets_of_another_plan_are_refused(brokers: Storage) -> None:
    with pytest.raises(SourceMismatchError, match="offsets of 5 sources, but the network's plan reads 2"):
        rows_by_offsets(brokers, 5, PLACES)
