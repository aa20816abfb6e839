"""Spark numbers the rows of Parquet files in a column that it knows by its name."""

from __future__ import annotations

from pathlib import Path

import pyarrow as pa
from pyarrow import parquet
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

from streamshed.spark.common.internal_names import FILE_ROW
from streamshed.spark.source.file_identity import NUMBERED, file_path, found_in_files, numbered

ROWS = 5_000


def places(rows: DataFrame) -> dict[int, tuple[str, int]]:
    found = rows.select("v", F.element_at(F.split(file_path(rows), "/"), -1).alias("file"), FILE_ROW).collect()
    return {row.v: (row.file, row[FILE_ROW]) for row in found}


def test_rows_are_numbered_as_in_the_metadata(spark: SparkSession, tmp_path: Path) -> None:
    for file in range(2):
        table = pa.table({"v": range(file * ROWS, (file + 1) * ROWS)})
        parquet.write_table(table, tmp_path / f"{file} 100%.parquet", row_group_size=ROWS // 3)
    ours = numbered(spark.read.schema(f"v bigint, {NUMBERED}").parquet(str(tmp_path)))
    known = found_in_files(spark.read.schema("v bigint").parquet(str(tmp_path)))
    assert len(places(ours)) == 2 * ROWS
    assert places(ours) == places(known)
    some = F.col("v") % 7 == 0
    assert places(ours.where(some)) == places(known.where(some))
