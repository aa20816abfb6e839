"""Stored relations as static DataFrames; what has changed is read again at every micro-batch.

Rests on Spark's internals: tests/spark/tables/test_tables_as_streams.py.
"""

from __future__ import annotations

import functools
import operator
import os
from collections.abc import Iterable, Sequence
from typing import cast

import pyarrow as pa
from py4j.protocol import Py4JJavaError
from pyspark.errors import PySparkException
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

from streamshed.errors import SourceUnavailableError
from streamshed.network.model.relation import Relation
from streamshed.network.model.relation_options import csv_layout
from streamshed.network.source.delta_source import DeltaSource
from streamshed.network.source.iceberg_source import IcebergSource
from streamshed.network.source.sources import DataFrameSource, FileFormat
from streamshed.network.terms.problems import unknown_column
from streamshed.network.words.columns import declared_name, format_schema
from streamshed.sharing.instructions import Instruction, Match
from streamshed.spark.common.failures import innermost_cause
from streamshed.spark.common.one_partition import arrow_schema, one_partition
from streamshed.spark.relations.iceberg_reader import IcebergReader
from streamshed.spark.relations.relation_columns import relation_columns
from streamshed.spark.relations.relation_reader import RelationReader, Store
from streamshed.spark.relations.relation_table import TableReader
from streamshed.spark.relations.table_rows import table_rows

_ROWS = "__rows"
_NO_TYPES = frozenset({None, "void"})


def relation_frame(match: Match) -> DataFrame:
    """Return the relation that rows are looked up in, one row per key.

    Where a lookup takes columns of it, a key that is there twice has no one row: the micro-batch fails, and says which
    key it was. A semijoin asks only whether a key is there, however often.

    Spark fixes the list of files of a DataFrame when it is made. A relation in files, or in a table of Iceberg, is
    therefore read by a function of our own, on an executor, once per micro-batch; what it reads is kept until there is
    another version. A DataFrame over a table of Delta Lake has the latest version each time that Spark plans it.

    Raises:
        SourceUnavailableError: The columns of a stored relation cannot be told, or lack one.
    """
    relation, spark = match.relation, SparkSession.active()
    if not relation.is_read_by_spark:
        reader, schema = _stored(spark, match)
        return one_partition(spark, reader.batches, schema)
    frame = _read_by_spark(spark, relation)
    if match.outputs:
        return _with_one_row_per_key(frame, relation, _keys(match))
    return frame.select(*[f"`{key}`" for key in _keys(match)]).distinct()


def _read_by_spark(spark: SparkSession, relation: Relation) -> DataFrame:
    if isinstance(relation.source, DeltaSource):
        try:
            return table_rows(spark.read, relation.source)
        except SourceUnavailableError as error:
            raise SourceUnavailableError(f'relation "{relation.name}": {error}') from error
    frame: DataFrame = cast(DataFrameSource, relation.source).handle
    return frame


def read_relations(instructions: Iterable[Instruction]) -> None:
    """Read the relations in files and tables as a micro-batch would, to find out before there is one whether it can.

    Raises:
        SourceUnavailableError: A relation cannot be read, or repeats a key of a lookup.
    """
    spark = SparkSession.active()
    matches = [instruction for instruction in instructions if isinstance(instruction, Match)]
    in_store = [match for match in matches if not match.relation.is_read_by_spark]
    for reader, schema in dict.fromkeys(_stored(spark, match) for match in in_store):
        reader.read(arrow_schema(schema))
    for match in matches:
        if isinstance(match.relation.source, DeltaSource):
            _read_table(match)


def _read_table(match: Match) -> None:
    try:
        relation_frame(match).write.format("noop").mode("overwrite").save()
    except (PySparkException, Py4JJavaError) as error:
        parameters = error.getMessageParameters() if isinstance(error, PySparkException) else None
        said = (parameters or {}).get("errorMessage") or innermost_cause(error)
        relation = match.relation
        says = said if said.startswith("relation ") else f'relation "{relation.name}": {relation.place}: {said}'
        raise SourceUnavailableError(says) from error


def stored_relation(spark: SparkSession, match: Match) -> tuple[RelationReader, pa.Schema]:
    """Return the reader of a relation that is read here, and the schema to read it in.

    Raises:
        SourceUnavailableError: Its columns cannot be told, or lack one.
    """
    reader, schema = _stored(spark, match)
    return reader, arrow_schema(schema)


def _stored(spark: SparkSession, match: Match) -> tuple[RelationReader, str]:
    relation, label = match.relation, f'relation "{match.relation.name}": {match.relation.place}'
    columns, keys = relation_columns(spark, relation), _keys(match)
    types = {column.name: column.type for column in columns}
    for wanted in (*keys, *(name for name, _ in match.outputs)):
        column = declared_name(wanted, types)
        if column is None:
            raise SourceUnavailableError(f"{label}: {unknown_column(wanted, types)}")
        if types[column] in _NO_TYPES:
            raise SourceUnavailableError(f'{label} does not tell the type of "{column}": say it (schema=...)')
    folded = {key.lower() for key in keys}
    time_zone = str(spark.conf.get("spark.sql.session.timeZone"))
    reader = RelationReader(_store(relation, tuple(types), tuple(keys), time_zone), brings_columns=bool(match.outputs))
    read = [column for column in columns if match.outputs or column.name.lower() in folded]
    return reader, format_schema(column for column in read if column.type not in _NO_TYPES)


def _store(relation: Relation, columns: tuple[str, ...], keys: tuple[str, ...], time_zone: str) -> Store:
    if isinstance(relation.source, IcebergSource):
        return IcebergReader.here(relation.name, relation.source, keys, time_zone)
    location = str(relation.source)
    return TableReader(
        location=location if "://" in location else os.path.abspath(location),
        name=relation.name,
        format=FileFormat(str(relation.format)),
        columns=columns,
        keys=keys,
        layout=csv_layout(dict(relation.options)),
        time_zone=time_zone,
    )


def _keys(match: Match) -> list[str]:
    return list(dict.fromkeys(theirs for _, theirs in match.on))


def _with_one_row_per_key(frame: DataFrame, relation: Relation, keys: Sequence[str]) -> DataFrame:
    """Fail when the relation is read and a key is there twice. Of a null, which equals nothing, any row will do."""
    others = [column for column in frame.columns if column.lower() not in {key.lower() for key in keys}]
    rows = frame.groupBy(*[f"`{key}`" for key in keys]).agg(
        F.count(F.lit(1)).alias(_ROWS), *[F.first(f"`{column}`").alias(column) for column in others]
    )
    key = F.concat_ws(", ", *[F.concat(F.lit(f"{key} = "), F.col(f"`{key}`").cast("string")) for key in keys])
    message = F.concat(
        F.lit(f'relation "{relation.name}": '),
        F.col(_ROWS).cast("string"),
        F.lit(f" rows of {relation.place} have the key "),
        key,
        F.lit("; a lookup needs one row per key"),
    )
    has_key = functools.reduce(operator.and_, [F.col(f"`{key}`").isNotNull() for key in keys])
    is_alone = F.when(has_key & (F.col(_ROWS) > 1), F.raise_error(message).isNull()).otherwise(F.lit(True))
    return rows.where(is_alone).drop(_ROWS)
