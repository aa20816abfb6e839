"""What Spark notes of files that a source has read, and that it does without those that it has forgotten."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from pyspark.sql import SparkSession

from streamshed.network.model.declared_stream import stream
from streamshed.network.source.sources import folder
from streamshed.spark.checkpoint import source_logs as logs
from streamshed.spark.checkpoint.source_places import SourcePlaces
from streamshed.spark.checkpoint.storage import Storage

PLACES = SourcePlaces(streams=(("lines",),), lines=(0,))
INTERVAL, ENTRIES = 5, 23
MINUTE, DAY = 60_000, 86_400_000
NEWEST = 1_700_000_000_000
AGE_DAYS = 7


class SparkLog:
    """Spark's own log of a source, and its own memory of files."""

    def __init__(self, spark: SparkSession, path: Path) -> None:
        jvm: Any = spark.sparkContext._jvm  # noqa: SLF001 - Spark's own classes say what they read
        self.gateway: Any = spark.sparkContext._gateway  # noqa: SLF001
        self.spark, self.path, self.java = spark, path, jvm
        self.inner = jvm.org.apache.spark.sql.execution.streaming.runtime

    def add(self, number: int, files: dict[str, int]) -> None:
        """Note the files of an entry, by path with the time of each."""
        kind = getattr(self.inner, "FileStreamSource$FileEntry")
        entries = self.gateway.new_array(kind, len(files))
        for place, (path, at) in enumerate(files.items()):
            entries[place] = kind(path, at, number)
        assert self._log().add(number, entries)

    def files(self) -> dict[str, int]:
        """All files that it notes, read by a process that has just begun."""
        return {entry.path(): entry.timestamp() for entry in self._log().allFiles()}

    def is_new(self, files: dict[str, int]) -> dict[str, bool]:
        """Which files a source takes for new that remembers what the log notes."""
        seen = getattr(self.inner, "FileStreamSource$SeenFilesMap")(AGE_DAYS * DAY, False)
        as_path = self.java.org.apache.spark.paths.SparkPath.fromPathString
        for path, at in self.files().items():
            seen.add(as_path(path), at)
        seen.purge()
        return {path: seen.isNewFile(as_path(path), at) for path, at in files.items()}

    def _log(self) -> Any:
        return self.inner.FileStreamSourceLog(1, self.spark._jsparkSession, str(self.path))  # noqa: SLF001


def write_offsets(checkpoint: Storage, micro_batch_id: int, entry: int) -> None:
    """Write down up to which entry a micro-batch reads, as Spark does."""
    checkpoint.write_text(f"offsets/{micro_batch_id}", "\n".join(["v1", "{}", json.dumps({"logOffset": entry})]))


@pytest.mark.parametrize("seed", range(3))
def test_spark_reads_the_same_files_without_what_it_has_forgotten(
    spark: SparkSession, tmp_path: Path, seed: int
) -> None:
    spark = spark.newSession()
    spark.conf.set("spark.sql.streaming.fileSource.log.compactInterval", str(INTERVAL))
    chance = np.random.default_rng(seed)
    log, files = SparkLog(spark, tmp_path / "sources" / "0"), dict[str, int]()
    for number in range(ENTRIES):
        days = AGE_DAYS * 2 * (1 - number / ENTRIES)
        ages = (days + chance.normal(scale=2, size=3)).clip(0) * DAY
        entry = {f"/in/{number}-{place} 100%.json": round(NEWEST - age) for place, age in enumerate(ages)}
        log.add(number, entry)
        files |= entry
    noted, is_new = log.files(), log.is_new(files)
    assert noted == files
    assert not any(is_new[path] for path, at in files.items() if at >= max(files.values()) - AGE_DAYS * DAY)
    checkpoint = Storage.at(str(tmp_path))
    write_offsets(checkpoint, logs.COMPACT_INTERVAL - 1, ENTRIES - 2)
    write_offsets(checkpoint, logs.COMPACT_INTERVAL, ENTRIES - 1)
    source = folder(str(tmp_path / "in"), "json", schema="at timestamp", options={"maxFileAge": f"{AGE_DAYS}d"})
    source_logs = logs.source_logs(checkpoint, PLACES, [stream("lines", source, time="at").stream])
    source_logs.shorten(logs.COMPACT_INTERVAL - 1)
    assert log.files() == noted, "not at every micro-batch"
    source_logs.shorten(logs.COMPACT_INTERVAL)
    left = log.files()
    assert len(left) < 0.9 * len(noted)
    assert left.items() <= noted.items()
    # Files that are there still, and files that come with any time.
    others = {f"/in/new-{days}": NEWEST - days * DAY for days in range(2 * AGE_DAYS)}
    assert log.is_new(files | others) == is_new | {path: at >= NEWEST - AGE_DAYS * DAY for path, at in others.items()}
    # It is put together again, by Spark, as if nothing had been left out.
    for number in range(ENTRIES, ENTRIES + INTERVAL):
        log.add(number, {f"/in/later-{number}": NEWEST + number * MINUTE})
    assert log.files().keys() == left.keys() | {f"/in/later-{number}" for number in range(ENTRIES, ENTRIES + INTERVAL)}
