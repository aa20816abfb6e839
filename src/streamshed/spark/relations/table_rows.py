"""The rows of a table of Delta Lake, as they are committed or as they are now, read by its connector.

Rests on Spark's internals: tests/spark/batch/test_relations.py.
"""

from __future__ import annotations

from py4j.protocol import Py4JJavaError
from pyspark.errors import AnalysisException
from pyspark.sql import DataFrame, DataFrameReader
from pyspark.sql.streaming.readwriter import DataStreamReader
from pyspark.sql.types import DataType

from streamshed.errors import SourceUnavailableError, near_miss
from streamshed.network.source.delta_source import DeltaSource
from streamshed.network.sql.expression import quoted
from streamshed.network.words.columns import Column
from streamshed.spark.checkpoint.storage import absolute_location
from streamshed.spark.common.connector import DELTA
from streamshed.spark.common.failures import innermost_cause


def table_rows(reader: DataFrameReader | DataStreamReader, source: DeltaSource) -> DataFrame:
    """Return the DataFrame of a table, with the columns of the source.

    Args:
        reader: Of a stream, or of what is there now.
        source: The table.

    Raises:
        SourceUnavailableError: The session has no connector to Delta Lake, there is no such table, or it has other
            columns.
    """
    reader = reader.format("delta")
    if isinstance(reader, DataStreamReader):
        reader = reader.options(**dict(source.options))
        if source.max_files_per_micro_batch is not None:
            reader = reader.option("maxFilesPerTrigger", source.max_files_per_micro_batch)
    try:
        rows = reader.load(absolute_location(source.path))
    except (AnalysisException, Py4JJavaError) as error:  # without the connector, it is Java's
        refused = DELTA.refused(error, source.label)
        if refused is not error:
            raise refused from error
        cause = str(error).splitlines()[0] if isinstance(error, AnalysisException) else innermost_cause(error)
        raise SourceUnavailableError(f"{source.label} cannot be read: {cause}") from error
    if problems := [problem for column in source.columns if (problem := _difference(column, rows))]:
        raise SourceUnavailableError(f"{source.label}: {'; '.join(problems)}")
    return rows.select(*[quoted(column.name) for column in source.columns])


def _difference(column: Column, rows: DataFrame) -> str:
    """How the table's column differs from what the network takes it for; empty: it does not."""
    types = {name.lower(): kind for name, kind in rows.dtypes}
    kind = types.get(column.name.lower())
    if kind is None:
        return f'the table has no column "{column.name}"{near_miss(column.name, types)}'
    if column.type is not None and kind != DataType.fromDDL(column.type).simpleString():
        return f'the column "{column.name}" is {kind} in the table, and {column.type} in the schema'
    return ""
