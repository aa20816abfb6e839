"""The random queries in plain Spark, over the rows that a trunk has read, micro-batch by micro-batch."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import timedelta
from pathlib import Path

from pyspark.sql import SparkSession

from tests.spark.event_times import EPOCH
from tests.spark.exactness.oracle import Expected, Place
from tests.spark.files import write_parquet
from tests.spark.trunks.random.arrivals import empty_row
from tests.spark.trunks.random.native import native_answers
from tests.spark.trunks.random.read_rows import rows_read, steps_by_micro_batch
from tests.spark.trunks.random.specs import ROWS, aggregate_queries, tables
from tests.spark.trunks.trunk import Cast

_CLOSING = EPOCH + timedelta(hours=1)


@dataclass(frozen=True)
class NativeAnswers:
    """What plain Spark answers, by query."""

    by_query: Mapping[str, Mapping[Place, Expected]]

    def __getitem__(self, query: str) -> Mapping[Place, Expected]:
        return self.by_query[_original(query)]


def answered_natively(cast: Cast, spark: SparkSession, path: Path) -> NativeAnswers:
    """Run all queries with aggregates in one stream.

    Args:
        cast: The trunk, after its run.
        spark: Any session.
        path: A new folder.
    """
    folders = {name: path / name for name in ROWS}
    for name, folder in folders.items():
        _write(cast, name, folder)
    relations = {name: spark.createDataFrame(stored.table) for name, stored in tables(Path()).relations.items()}
    # Of two branches that are the same query, Spark loses groups of the second; it is asked for the first.
    originals = [query for query in aggregate_queries() if _original(query.name) == query.name]
    return NativeAnswers(native_answers(spark, originals, folders, relations, path / "checkpoint"))


def _write(cast: Cast, name: str, folder: Path) -> None:
    """A file for each micro-batch, of no rows where it has read none; the last one closes all windows."""
    rows = cast.inputs[name].rows
    files = [rows_read(rows, name, steps) for steps in steps_by_micro_batch(cast)]
    for number, table in enumerate([*files, empty_row(files[0].schema, -1, _CLOSING)]):
        write_parquet(folder / f"{number:03}.parquet", table)


def _original(name: str) -> str:
    return name.removesuffix("_twin")
