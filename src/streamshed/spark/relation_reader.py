"""Stored relations as static DataFrames; a file is read again at every micro-batch in which it has changed."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping, Sequence
from functools import lru_cache
from typing import Any

import pyarrow as pa
from pyarrow import csv, dataset, json
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.datasource import DataSource, DataSourceReader, InputPartition
from pyspark.sql.types import StructType

from streamshed.errors import InvalidNetworkError, SourceUnavailableError
from streamshed.network.columns import format_schema
from streamshed.network.relation import Relation
from streamshed.network.sources import DataFrameSource, FileFormat

FORMAT = "streamshed_relation"

_CSV_OPTIONS = frozenset({"header", "sep", "delimiter"})


def relation_frame(relation: Relation, on: Sequence[tuple[str, str]]) -> DataFrame:
    """Return a relation, one row per key.

    Spark fixes the list of files of a DataFrame when it is made. A relation given as a path is therefore read by a
    data source of our own, on an executor, once per micro-batch; what it reads is kept until the file changes.

    Args:
        relation: The relation.
        on: Pairs (column of the stream, column of the relation).

    Raises:
        SourceUnavailableError: The file is not there or cannot be read.
    """
    if isinstance(relation.source, DataFrameSource):
        frame: DataFrame = relation.source.handle
        return frame.dropDuplicates([theirs for _, theirs in on])
    spark = SparkSession.active()
    spark.dataSource.register(RelationDataSource)
    reader = spark.read.format(FORMAT).schema(format_schema(_columns(relation)))
    keys = "\x1f".join(theirs for _, theirs in on)
    settings = {
        "path": str(relation.source) if "://" in str(relation.source) else os.path.abspath(str(relation.source)),
        "fileFormat": str(relation.format),
        "keys": keys,
    }
    return reader.options(name=relation.name, **settings, **dict(relation.options)).load()


def _columns(relation: Relation) -> Sequence[Any]:
    if relation.columns is not None:
        return relation.columns
    spark = SparkSession.active()
    sample = spark.read.format(str(relation.format)).options(**{"inferSchema": "true", **dict(relation.options)})
    from streamshed.network.columns import Column

    return [Column(name, kind) for name, kind in sample.load(str(relation.source)).dtypes]


class RelationDataSource(DataSource):
    """Spark's view of a stored relation in files."""

    @classmethod
    def name(cls) -> str:
        """Return the format's name."""
        return FORMAT

    def reader(self, schema: StructType) -> DataSourceReader:
        """Return what reads the file."""
        return RelationReader(dict(self.options), schema)


class RelationReader(DataSourceReader):
    """Reads all of a relation in one partition."""

    def __init__(self, options: Mapping[str, str], schema: StructType) -> None:
        self._options = options
        self._schema = schema

    def partitions(self) -> Sequence[InputPartition]:
        """Return the one partition."""
        return [InputPartition(0)]

    def read(self, partition: InputPartition) -> Iterator[pa.RecordBatch]:
        """Yield the relation, from memory unless its file has changed."""
        from pyspark.sql.pandas.types import to_arrow_schema

        path = self._options["path"]
        try:
            version = _version(path)
        except OSError as error:
            raise SourceUnavailableError(
                f'relation "{self._options["name"]}": cannot read "{path}": {error.strerror}'
            ) from error
        table = _read(tuple(sorted(self._options.items())), version)
        yield from table.select(self._schema.names).cast(to_arrow_schema(self._schema)).to_batches()


def _version(path: str) -> tuple[tuple[str, int, int], ...]:
    """What changes when a file, or a file of a folder, does."""
    names = [path]
    if os.path.isdir(path):
        names = sorted(entry.path for entry in os.scandir(path) if not entry.name.startswith(("_", ".")))
    return tuple((name, os.stat(name).st_mtime_ns, os.stat(name).st_size) for name in names)


@lru_cache(maxsize=16)
def _read(options: tuple[tuple[str, str], ...], version: tuple[tuple[str, int, int], ...]) -> pa.Table:
    settings = dict(options)
    name, path = settings["name"], settings["path"]
    try:
        table = _table(FileFormat(settings["fileformat"]), [file for file, _, _ in version], settings)
    except (pa.ArrowInvalid, OSError) as error:
        raise SourceUnavailableError(f'relation "{name}": cannot read "{path}": {error}') from error
    keys = settings["keys"].split("\x1f")
    if missing := [key for key in keys if key not in table.column_names]:
        raise SourceUnavailableError(f'relation "{name}": "{path}" has no column "{missing[0]}"')
    distinct = table.group_by(keys).aggregate([]).num_rows
    if distinct < table.num_rows:
        raise SourceUnavailableError(
            f'relation "{name}": {table.num_rows - distinct} rows of "{path}" repeat a key ({", ".join(keys)});'
            " a lookup needs one row per key"
        )
    return table


def _table(kind: FileFormat, files: Sequence[str], settings: Mapping[str, str]) -> pa.Table:
    match kind:
        case FileFormat.PARQUET:
            return dataset.dataset(list(files), format="parquet").to_table()
        case FileFormat.JSON:
            return pa.concat_tables([json.read_json(file) for file in files])
        case FileFormat.CSV:
            return pa.concat_tables([_csv(file, settings) for file in files])
        case FileFormat.TEXT:
            lines = [line for file in files for line in _lines(file)]
            return pa.table({"value": pa.array(lines, pa.string())})


def _csv(file: str, settings: Mapping[str, str]) -> pa.Table:
    known = {"path", "fileformat", "keys", "name", *_CSV_OPTIONS}
    if unknown := set(settings) - known:
        raise InvalidNetworkError(
            f'relation "{settings["name"]}": unknown option "{min(unknown)}" for CSV, known are:'
            f" {', '.join(sorted(_CSV_OPTIONS))}"
        )
    has_header = settings.get("header", "true").lower() == "true"
    separator = settings.get("sep", settings.get("delimiter", ","))
    return csv.read_csv(
        file,
        read_options=csv.ReadOptions(autogenerate_column_names=not has_header),
        parse_options=csv.ParseOptions(delimiter=separator),
    )


def _lines(file: str) -> list[str]:
    with open(file, encoding="utf-8") as text:
        return text.read().splitlines()
