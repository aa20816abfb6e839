"""Stored relations as static DataFrames; a file is read again at every micro-batch in which it has changed."""

from __future__ import annotations

import functools
import operator
import os
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache

import pyarrow as pa
import pyarrow.compute as pc
from pyarrow import csv, dataset, json
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

from streamshed.errors import InvalidNetworkError, SourceUnavailableError
from streamshed.network.columns import Column as SchemaColumn
from streamshed.network.columns import format_schema
from streamshed.network.relation import Relation
from streamshed.network.sources import DataFrameSource, FileFormat
from streamshed.spark.one_partition import one_partition

_ROWS = "__rows"
_CSV_OPTIONS = frozenset({"header", "sep", "delimiter"})


def relation_frame(relation: Relation, on: Sequence[tuple[str, str]], *, brings_columns: bool) -> DataFrame:
    """Return a relation, one row per key.

    Where a lookup takes columns of it, a key that is there twice has no one row: the micro-batch fails, and says which
    key it was. A semijoin asks only whether a key is there, however often.

    Spark fixes the list of files of a DataFrame when it is made. A relation given as a path is therefore read by a
    function of our own, on an executor, once per micro-batch; what it reads is kept until the file changes.

    Args:
        relation: The relation.
        on: Pairs (column of the stream, column of the relation).
        brings_columns: Whether more than the keys is wanted.

    Raises:
        SourceUnavailableError: The file is not there or cannot be read.
    """
    keys = list(dict.fromkeys(theirs for _, theirs in on))
    if isinstance(relation.source, DataFrameSource):
        frame: DataFrame = relation.source.handle
        if brings_columns:
            return _with_one_row_per_key(frame, relation.name, keys)
        return frame.select(*[f"`{key}`" for key in keys]).distinct()
    path, columns = str(relation.source), _columns(relation)
    if not brings_columns:
        columns = [column for column in columns if column.name.lower() in {key.lower() for key in keys}]
    reader = _RelationReader(
        name=relation.name,
        path=path if "://" in path else os.path.abspath(path),
        format=FileFormat(str(relation.format)),
        keys=tuple(keys),
        brings_columns=brings_columns,
        options=relation.options,
    )
    return one_partition(SparkSession.active(), reader.batches, format_schema(columns))


def _with_one_row_per_key(frame: DataFrame, name: str, keys: Sequence[str]) -> DataFrame:
    """Fail when the relation is read and a key is there twice. Of a null, which equals nothing, any row will do."""
    others = [column for column in frame.columns if column.lower() not in {key.lower() for key in keys}]
    rows = frame.groupBy(*[f"`{key}`" for key in keys]).agg(
        F.count(F.lit(1)).alias(_ROWS), *[F.first(f"`{column}`").alias(column) for column in others]
    )
    key = F.concat_ws(", ", *[F.concat(F.lit(f"{key} = "), F.col(f"`{key}`").cast("string")) for key in keys])
    message = F.concat(
        F.lit(f'relation "{name}": '),
        F.col(_ROWS).cast("string"),
        F.lit(" rows of its DataFrame have the key "),
        key,
        F.lit("; a lookup needs one row per key"),
    )
    has_key = functools.reduce(operator.and_, [F.col(f"`{key}`").isNotNull() for key in keys])
    is_alone = F.when(has_key & (F.col(_ROWS) > 1), F.raise_error(message).isNull()).otherwise(F.lit(True))
    return rows.where(is_alone).drop(_ROWS)


def _columns(relation: Relation) -> Sequence[SchemaColumn]:
    if relation.columns is not None:
        return relation.columns
    spark = SparkSession.active()
    sample = spark.read.format(str(relation.format)).options(**{"inferSchema": "true", **dict(relation.options)})
    return [SchemaColumn(name, kind) for name, kind in sample.load(str(relation.source)).dtypes]


@dataclass(frozen=True)
class _RelationReader:
    """Reads all of a relation in files."""

    name: str
    path: str
    format: FileFormat
    keys: tuple[str, ...]
    brings_columns: bool
    options: tuple[tuple[str, str], ...]

    def batches(self, schema: pa.Schema) -> Iterator[pa.RecordBatch]:
        """Yield the relation in a schema, from memory unless its file has changed."""
        try:
            version = _version(self.path)
        except OSError as error:
            raise SourceUnavailableError(
                f'relation "{self.name}": cannot read "{self.path}": {error.strerror}'
            ) from error
        yield from _read(self, version).select(schema.names).cast(schema).to_batches()


def _version(path: str) -> tuple[tuple[str, int, int], ...]:
    """What changes when a file, or a file of a folder, does."""
    names = [path]
    if os.path.isdir(path):
        names = sorted(entry.path for entry in os.scandir(path) if not entry.name.startswith(("_", ".")))
    return tuple((name, os.stat(name).st_mtime_ns, os.stat(name).st_size) for name in names)


@lru_cache(maxsize=16)
def _read(reader: _RelationReader, version: tuple[tuple[str, int, int], ...]) -> pa.Table:
    try:
        table = _table(reader, [file for file, _, _ in version])
    except (pa.ArrowInvalid, OSError) as error:
        raise SourceUnavailableError(f'relation "{reader.name}": cannot read "{reader.path}": {error}') from error
    keys = list(reader.keys)
    if missing := [key for key in keys if key not in table.column_names]:
        raise SourceUnavailableError(f'relation "{reader.name}": "{reader.path}" has no column "{missing[0]}"')
    table = table.filter(functools.reduce(operator.and_, [pc.field(key).is_valid() for key in keys]))
    distinct = table.group_by(keys).aggregate([])
    if not reader.brings_columns:
        return distinct
    if distinct.num_rows < table.num_rows:
        raise SourceUnavailableError(
            f'relation "{reader.name}": {table.num_rows - distinct.num_rows} rows of "{reader.path}" repeat a key'
            f" ({', '.join(keys)}); a lookup needs one row per key"
        )
    return table


def _table(reader: _RelationReader, files: Sequence[str]) -> pa.Table:
    match reader.format:
        case FileFormat.PARQUET:
            return dataset.dataset(list(files), format="parquet").to_table()
        case FileFormat.JSON:
            return pa.concat_tables([json.read_json(file) for file in files])
        case FileFormat.CSV:
            return pa.concat_tables([_csv(file, reader) for file in files])
        case FileFormat.TEXT:
            lines = [line for file in files for line in _lines(file)]
            return pa.table({"value": pa.array(lines, pa.string())})


def _csv(file: str, reader: _RelationReader) -> pa.Table:
    settings = {name.lower(): value for name, value in reader.options}
    if unknown := set(settings) - _CSV_OPTIONS:
        raise InvalidNetworkError(
            f'relation "{reader.name}": unknown option "{min(unknown)}" for CSV, known are:'
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
