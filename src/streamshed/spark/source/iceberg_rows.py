"""The rows of a table of Iceberg, as they are added or as they are now.

PyIceberg reads them, behind Spark's interface for sources in Python.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass, field
from hashlib import blake2b
from typing import TYPE_CHECKING, Any

import pyarrow as pa
from pyspark.sql import DataFrame, DataFrameReader, SparkSession
from pyspark.sql.datasource import DataSource, DataSourceReader, DataSourceStreamReader, InputPartition
from pyspark.sql.streaming.datasource import ReadLimit, ReadMaxFiles
from pyspark.sql.streaming.readwriter import DataStreamReader
from pyspark.sql.types import StructType

from streamshed.errors import SourceUnavailableError, near_miss
from streamshed.network.source.iceberg_source import IcebergSource
from streamshed.network.source.sources import source_columns
from streamshed.network.words.columns import Column, format_schema
from streamshed.network.words.footer import spark_type
from streamshed.spark.common.iceberg_catalog import catalog_description, iceberg_table
from streamshed.spark.common.one_partition import arrow_schema
from streamshed.spark.source.iceberg_log import TableLog, TablePosition

if TYPE_CHECKING:
    from pyiceberg.table import FileScanTask, Table
    from pyiceberg.table.metadata import TableMetadata

_MOST_FILES = 1000
"""As many new files as Delta's source takes in a micro-batch."""


def iceberg_rows(reader: DataFrameReader | DataStreamReader, source: IcebergSource) -> DataFrame:
    """Return the DataFrame of a table, with the columns of the source.

    Args:
        reader: Of a stream, or of what is there now.
        source: The table, with its schema.

    Raises:
        SourceUnavailableError: There is no such catalog or table, or it has other columns.
        ServerUnavailableError: Its catalog does not answer.
        MissingExtraError: The extra `iceberg` is not installed.
    """
    described = catalog_description(source.catalog, source.label, SourceUnavailableError)
    spark = SparkSession.active()
    schema = arrow_schema(format_schema(source_columns(source)))
    reading = TableReading(source, schema, described, spark.sparkContext.defaultParallelism)
    with reading.table() as table:
        reading.check(table)
    name = reading.name
    spark.dataSource.register(type(name, (IcebergRows,), {"reading": reading, "__module__": __name__}))
    return reader.format(name).schema(reading.ddl).load()


@dataclass(frozen=True)
class TableReading:
    """How a table is read, wherever that is: the configuration of its catalog goes along.

    Attributes:
        source: The table, with its schema.
        schema: The same in Arrow's types, as Spark takes them.
        described: The configuration of its catalog, which may hold passwords.
        parallel_tasks: Among how many tasks files are divided.
    """

    source: IcebergSource
    schema: pa.Schema
    described: Mapping[str, Any] = field(repr=False)
    parallel_tasks: int

    @property
    def name(self) -> str:
        """A name of the source for Spark."""
        return f"streamshed_iceberg_{blake2b(repr(self.source).encode(), digest_size=6).hexdigest()}"

    @property
    def ddl(self) -> str:
        """The columns that are read, as DDL."""
        return format_schema(source_columns(self.source))

    def table(self) -> AbstractContextManager[Table]:
        """Open the table as it is now; raises as `iceberg_table` does."""
        return iceberg_table(self.source, self.source.label, self.described)

    def check(self, table: Table) -> None:
        """See that a table has the columns that are read.

        Raises:
            SourceUnavailableError: It lacks one, or has it with another type.
        """
        types = {each.name: spark_type(each.type) for each in table.schema().as_arrow()}
        columns = source_columns(self.source)
        problems = [problem for column in columns if (problem := _difference(column, types))]
        if problems:
            raise SourceUnavailableError(f"{self.source.label}: {'; '.join(problems)}")

    def divided(self, log: TableLog, since: TablePosition, until: TablePosition) -> Sequence[FilesOfTask]:
        """Divide the files between two positions among tasks.

        Raises:
            SourceUnavailableError: They are no longer there.
        """
        tasks = log.files(since, until)
        metadata, properties = _for_reading(log.table.metadata), dict(log.table.io.properties)
        count = min(len(tasks), self.parallel_tasks)
        return [FilesOfTask(tasks[number::count], metadata, properties) for number in range(count)]

    def rows(self, partition: InputPartition) -> Iterator[pa.RecordBatch]:
        """Read the files of a task."""
        if not isinstance(partition, FilesOfTask):
            raise TypeError(f"{partition!r} is none of ours")
        for rows in _record_batches(partition, self.schema.names):
            yield rows.select(self.schema.names).cast(self.schema)


class IcebergRows(DataSource):
    """A table as Spark sees it."""

    reading: TableReading

    def schema(self) -> StructType | str:
        """Return the columns that are read."""
        return self.reading.ddl

    def streamReader(self, schema: StructType) -> DataSourceStreamReader:
        """Return what reads rows as they are added."""
        return IcebergStreamReader(self.reading)

    def reader(self, schema: StructType) -> DataSourceReader:
        """Return what reads the rows that there are now."""
        return IcebergWholeReader(self.reading)


@dataclass(frozen=True)
class FilesOfTask(InputPartition):
    """What a task reads.

    Attributes:
        tasks: Files, each with what is deleted of it.
        metadata: Of the table, as far as reading needs it.
        properties: Of its storage, which may hold passwords.
    """

    tasks: Sequence[FileScanTask]
    metadata: TableMetadata
    properties: Mapping[str, str] = field(repr=False)


class IcebergStreamReader(DataSourceStreamReader):
    """Follows a table: offsets are positions along its snapshots, and Spark keeps them.

    Args:
        reading: How the table is read.
    """

    def __init__(self, reading: TableReading) -> None:
        self._reading = reading
        self._files: dict[tuple[int, bool], list[FileScanTask]] = {}
        self._latest: TablePosition | None = None

    def initialOffset(self) -> dict[str, Any]:
        """Return the position at which nothing is read."""
        return self._offset(TablePosition())

    def getDefaultReadLimit(self) -> ReadLimit:
        """Return how much a micro-batch takes at most."""
        return ReadMaxFiles(self._reading.source.max_files_per_micro_batch or _MOST_FILES)

    def latestOffset(self, start: dict[str, Any], limit: ReadLimit) -> dict[str, Any]:
        """Return up to where the next micro-batch reads."""
        since = self._position(start)
        with self._log() as log:
            until = log.reached(since, limit.max_files if isinstance(limit, ReadMaxFiles) else None)
            self._latest = TablePosition(rows=log.rows_by_now(until))
        return self._offset(until)

    def reportLatestOffset(self) -> dict[str, Any] | None:
        """Return how many rows there are, of which some may wait for later micro-batches."""
        return None if self._latest is None else self._offset(self._latest)

    def partitions(self, start: dict[str, Any], end: dict[str, Any]) -> Sequence[InputPartition]:
        """Divide the files of a micro-batch among tasks."""
        with self._log() as log:
            return self._reading.divided(log, self._position(start), self._position(end))

    def read(self, partition: InputPartition) -> Iterator[pa.RecordBatch]:
        """Read the files of a task."""
        return self._reading.rows(partition)

    def commit(self, end: dict[str, Any]) -> None:
        """Forget the manifests of what is read."""
        self._files = {key: files for key, files in self._files.items() if key[0] == self._position(end).snapshot}

    @contextmanager
    def _log(self) -> Iterator[TableLog]:
        source = self._reading.source
        with self._reading.table() as table:
            yield TableLog(table, source.label, skips_changes=source.skip_changes, files_by_snapshot=self._files)

    def _position(self, offset: Mapping[str, Any]) -> TablePosition:
        return TablePosition.from_offset(offset, self._reading.source.table)

    def _offset(self, position: TablePosition) -> dict[str, Any]:
        return position.offset(self._reading.source.table)


class IcebergWholeReader(DataSourceReader):
    """Reads the rows that a table has now.

    Args:
        reading: How the table is read.
    """

    def __init__(self, reading: TableReading) -> None:
        self._reading = reading

    def partitions(self) -> Sequence[InputPartition]:
        """Divide its files among tasks."""
        nothing = TablePosition()
        with self._reading.table() as table:
            log = TableLog(table, self._reading.source.label)
            return self._reading.divided(log, nothing, log.reached(nothing, None))

    def read(self, partition: InputPartition) -> Iterator[pa.RecordBatch]:
        """Read the files of a task."""
        return self._reading.rows(partition)


def _record_batches(files: FilesOfTask, names: Sequence[str]) -> Iterator[pa.RecordBatch]:
    from pyiceberg.expressions import AlwaysTrue
    from pyiceberg.io import load_file_io
    from pyiceberg.io.pyarrow import ArrowScan

    storage = load_file_io(dict(files.properties), files.metadata.location)
    columns = files.metadata.schema().select(*names)
    yield from ArrowScan(files.metadata, storage, columns, AlwaysTrue()).to_record_batches(files.tasks)


def _for_reading(metadata: TableMetadata) -> TableMetadata:
    """Metadata without the history of the table, which each task would get."""
    nothing: dict[str, Any] = {"snapshots": [], "snapshot_log": [], "metadata_log": [], "refs": {}}
    return metadata.model_copy(update={**nothing, "current_snapshot_id": None})


def _difference(column: Column, types: Mapping[str, str | None]) -> str:
    """How the table's column differs from what the network takes it for; empty: it does not."""
    if column.name not in types:
        return f'the table has no column "{column.name}"{near_miss(column.name, types)}'
    kind = types[column.name]
    if column.type != kind:
        there = "of a type that is not read" if kind is None else kind
        return f'the column "{column.name}" is {there} in the table, and {column.type} in the schema'
    return ""
