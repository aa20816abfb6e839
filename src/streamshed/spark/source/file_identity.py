"""What identifies a row of a file: the file's path, and the row's number in it.

Rests on Spark's internals: tests/spark/contracts/test_file_identity.py.
"""

from __future__ import annotations

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F

from streamshed.spark.common.internal_names import FILE_PATH, FILE_ROW

_GENERATED_BY_SPARK = "_tmp_metadata_row_index"
"""Spark's Parquet reader puts a row's number into a column of this name that a file does not have; it is internal."""

NUMBERED = f"{_GENERATED_BY_SPARK} bigint"
"""What to add to the schema of Parquet files that we read ourselves, for `numbered`."""


def numbered(rows: DataFrame) -> DataFrame:
    """Number each row, where the rows were read with `NUMBERED`; `file_path` tells the rest of what identifies it.

    `_metadata` would give the same, but makes Spark build a struct for every row, a sixth of what the scan costs.
    """
    return rows.withColumnRenamed(_GENERATED_BY_SPARK, FILE_ROW)


def file_path(rows: DataFrame) -> Column:
    """Return the path of the file that a row is from.

    It is asked for only where it is needed: Spark keeps the path for the task, not for the row. That is as good as long
    as nothing holds rows back on their way, such as a Python function.
    """
    return F.col(FILE_PATH) if FILE_PATH in rows.columns else F.input_file_name()


def found_in_files(rows: DataFrame) -> DataFrame:
    """Name what identifies a row of any DataFrame over Parquet files."""
    return rows.withColumns({FILE_PATH: F.col("_metadata.file_path"), FILE_ROW: F.col("_metadata.row_index")})
