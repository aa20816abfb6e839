"""A stream's source as a DataFrame: what it reads, with the columns that identify a row."""

from __future__ import annotations

import os
from collections.abc import Container
from typing import assert_never

from pyspark.errors import AnalysisException
from pyspark.sql import DataFrame, DataFrameReader, SparkSession
from pyspark.sql import functions as F
from pyspark.sql.streaming.readwriter import DataStreamReader

from streamshed.columnar.file_way import OF_LISTING, are_in_files_here
from streamshed.control.rows_to_read import FIRST_BYTES, FIRST_ROWS
from streamshed.errors import InvalidNetworkError, SourceUnavailableError, near_miss
from streamshed.network.model.join_source import JoinSource
from streamshed.network.model.network import TimeDomain
from streamshed.network.model.source_folder import require_folder
from streamshed.network.model.stream import Stream
from streamshed.network.source.delta_source import DeltaSource
from streamshed.network.source.iceberg_source import IcebergSource
from streamshed.network.source.identity import IdentityKind
from streamshed.network.source.kafka_source import KafkaSource
from streamshed.network.source.sources import (
    DataFrameSource,
    FileFormat,
    FolderSource,
    RateSource,
    source_columns,
)
from streamshed.network.words.columns import format_schema
from streamshed.spark.common.connector import AVRO, KAFKA
from streamshed.spark.common.internal_names import BYTES, CORRUPT, FILE_PATH, FILE_ROW, RAW_TEXT
from streamshed.spark.relations.table_rows import table_rows
from streamshed.spark.source.carrier import carrier_frame
from streamshed.spark.source.file_identity import NUMBERED, found_in_files, numbered
from streamshed.spark.source.iceberg_rows import iceberg_rows


def streaming_frame(spark: SparkSession, stream: Stream, *, in_pieces: bool = False) -> DataFrame:
    """Return the streaming DataFrame of a stream's source.

    Args:
        spark: The session.
        stream: The stream.
        in_pieces: Whether the first micro-batches take little of a folder: `ReadingPace` says how much the others do.

    Raises:
        SourceUnavailableError: A folder that is not there, a DataFrame that is not streaming.
    """
    match stream.source:
        case FolderSource() as source:
            require_folder(stream)
            reader = _limited(spark.readStream.options(**_options(source)), source, in_pieces=in_pieces)
            return _loaded(reader, source, stream)
        case DeltaSource() as source:
            return table_rows(spark.readStream, source)
        case IcebergSource() as source:
            return iceberg_rows(spark.readStream, source)
        case KafkaSource() as source:
            return _topic_rows(spark, source)
        case RateSource() as source:
            return spark.readStream.format("rate").option("rowsPerSecond", source.rows_per_second).load()
        case DataFrameSource() as source:
            frame: DataFrame = source.handle
            if not frame.isStreaming:
                raise SourceUnavailableError(
                    f'stream "{stream.name}": its DataFrame is not streaming: was it made by spark.read instead of'
                    " spark.readStream?"
                )
            return _identified(frame, stream)
        case JoinSource():
            raise _no_source(stream)
        case _:
            assert_never(stream.source)


def _limited(reader: DataStreamReader, source: FolderSource, *, in_pieces: bool) -> DataStreamReader:
    if source.max_files_per_micro_batch is not None:
        return reader.option("maxFilesPerTrigger", source.max_files_per_micro_batch)
    return reader.option("maxBytesPerTrigger", FIRST_BYTES) if in_pieces and source.can_be_paced else reader


def files_read_by_tasks(
    spark: SparkSession, domain: TimeDomain, names: Container[str], *, is_streaming: bool
) -> dict[str, DataFrame]:
    """Return, by stream whose rows are in files, these files: tasks may read them in the place of Spark.

    By stream over topics that is a carrier, whose row stands for what a micro-batch is to read of them.

    Sides of joins read the rows of a stream once more, and all who read it read it alike: there Spark reads the files.

    Args:
        spark: The session that the rows are read in.
        domain: The time domain.
        names: The streams whose folders are read.
        is_streaming: Whether what comes later is read, too; if not, topics are left out.
    """
    reader = spark.readStream if is_streaming else spark.read
    read = [stream for stream in domain.sources if stream.name in names and stream.name not in domain.sides]
    of_topics = [stream.name for stream in read if isinstance(stream.source, KafkaSource)]
    return {stream.name: _files(reader, stream) for stream in read if are_in_files_here(stream)} | {
        name: carrier_frame(spark) for name in of_topics if is_streaming
    }


def _files(reader: DataFrameReader | DataStreamReader, stream: Stream) -> DataFrame:
    """The files of a folder: of each `FILE_PATH` and `BYTES`, and nothing of what is in it."""
    source = stream.source
    if not isinstance(source, FolderSource):
        raise TypeError(f"{source} has no files")
    reader = reader.options(**{name: value for name, value in source.options if name.lower() in OF_LISTING})
    if isinstance(reader, DataStreamReader):
        reader = _limited(reader, source, in_pieces=True)
    files = reader.format("binaryFile").schema(_FILE_SCHEMA).load(_location(source.path))
    return files.select(F.input_file_name().alias(FILE_PATH), F.col("length").alias(BYTES))


_FILE_SCHEMA = "path string, modificationTime timestamp, length bigint, content binary"
"""What Spark tells of a file as a whole; of columns that nobody asks for it reads nothing."""


def _no_source(stream: Stream) -> InvalidNetworkError:
    return InvalidNetworkError(f'stream "{stream.name}": its rows come from a join, not from a source')


def bounded_frame(stream: Stream, rows: DataFrame) -> DataFrame:
    """Return a static DataFrame with a stream's columns as its source would deliver it.

    Rows that are from no file have no place in one; nothing is sampled here, so none is needed.

    Raises:
        InvalidNetworkError: It lacks columns, or is not static.
    """
    if rows.isStreaming:
        raise InvalidNetworkError(f'stream "{stream.name}": bounded input is a static DataFrame, this one is streaming')
    there = {name.lower() for name in rows.columns}
    lines = isinstance(stream.source, FolderSource) and stream.source.format is FileFormat.JSON and RAW_TEXT in there
    if missing := [column.name for column in stream.schema if column.name.lower() not in there and not lines]:
        raise InvalidNetworkError(
            *(
                f'stream "{stream.name}": its DataFrame has no column "{name}"{near_miss(name, rows.columns)}'
                for name in missing
            )
        )
    try:
        return _identified(rows, stream)
    except AnalysisException:
        nowhere = {FILE_PATH: F.lit(None).cast("string"), FILE_ROW: F.lit(None).cast("bigint")}
        return rows.withColumns(nowhere)


def folder_frame(spark: SparkSession, stream: Stream) -> DataFrame:
    """Return all that lies in a folder or table now as a static DataFrame.

    Raises:
        SourceUnavailableError: The stream's source is neither: what a bounded input is has to be said.
    """
    source = stream.source
    if isinstance(source, DeltaSource):
        return table_rows(spark.read, source)
    if isinstance(source, IcebergSource):
        return iceberg_rows(spark.read, source)
    if not isinstance(source, FolderSource):
        raise SourceUnavailableError(
            f'stream "{stream.name}": only folders and tables can be read as a whole; pass a static DataFrame for it'
        )
    return _loaded(spark.read.options(**_options(source)), source, stream)


def empty_frame(spark: SparkSession, stream: Stream) -> DataFrame:
    """Return a DataFrame without rows that has the columns which a stream's source would deliver."""
    match stream.source:
        case FolderSource() as source:
            rows = spark.createDataFrame([], _read_schema(source))
        case DeltaSource() | IcebergSource() | KafkaSource() | RateSource() as source:
            rows = spark.createDataFrame([], format_schema(source_columns(source)))
        case DataFrameSource() as source:
            rows = spark.createDataFrame([], source.handle.schema)
        case JoinSource():
            raise _no_source(stream)
        case _:
            assert_never(stream.source)
    return bounded_frame(stream, rows)


def _location(path: str) -> str:
    return path if "://" in path else os.path.abspath(path)


def _options(source: FolderSource) -> dict[str, str]:
    """The user's options; where Spark parses as it reads, what it cannot parse goes to a column of ours.

    Without `enforceSchema`, Spark sees that the names in the first line of CSV are those of the schema.
    """
    options = dict(source.options)
    if source.format is not FileFormat.CSV:
        return options
    names = {name.lower() for name in options}
    checked = {} if "enforceschema" in names else {"enforceSchema": "false"}
    return {**options, **checked, "columnNameOfCorruptRecord": CORRUPT}


def _read_format(source: FolderSource) -> str:
    """JSON is read as text, so that what is shed is never parsed."""
    return "text" if source.format is FileFormat.JSON else str(source.format)


def _read_schema(source: FolderSource) -> str:
    match source.format:
        case FileFormat.JSON:
            return f"{RAW_TEXT} string"
        case FileFormat.CSV:
            return f"{format_schema(source.columns)}, {CORRUPT} string"
        case _:
            return format_schema(source.columns)


def _loaded(reader: DataFrameReader | DataStreamReader, source: FolderSource, stream: Stream) -> DataFrame:
    is_numbered = source.format is FileFormat.PARQUET and stream.identity.kind is not IdentityKind.NONE
    schema = _read_schema(source)
    reader = reader.format(_read_format(source)).schema(f"{schema}, {NUMBERED}" if is_numbered else schema)
    try:
        rows = reader.load(_location(source.path))
    except AnalysisException as error:
        raise AVRO.refused(error, f'folder "{source.path}"') from error
    return numbered(rows) if is_numbered else rows


def _identified(rows: DataFrame, stream: Stream) -> DataFrame:
    return found_in_files(rows) if stream.identity.kind is IdentityKind.FILE_ROW else rows


def _topic_rows(spark: SparkSession, source: KafkaSource) -> DataFrame:
    """Return the streaming DataFrame of topics, with the columns of the source.

    Raises:
        SourceUnavailableError: The session has no connector to Kafka.
    """
    first = FIRST_ROWS if source.max_rows_per_micro_batch is None else source.max_rows_per_micro_batch
    reader = spark.readStream.format("kafka").options(**dict(source.options))
    reader = reader.option("kafka.bootstrap.servers", source.servers)
    reader = reader.option("subscribePattern" if source.is_pattern else "subscribe", ",".join(source.topics))
    reader = reader.option("startingOffsets", source.start).option("includeHeaders", source.headers)
    reader = reader.option("failOnDataLoss", False).option("maxOffsetsPerTrigger", first)
    try:
        rows = reader.load()
    except AnalysisException as error:
        raise KAFKA.refused(error, source.label) from error
    return rows.select(*[F.col(column.name).alias(source.column(column.name)) for column in source.broker_columns])
