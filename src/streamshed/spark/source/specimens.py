"""Specimens: a few rows of a stream to try its SQL on, real ones where its source has any yet."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from pyspark.sql import Column, DataFrame, SparkSession
from pyspark.sql import functions as F
from pyspark.sql import types as T

from streamshed.network.model.stream import Stream
from streamshed.network.source.sources import FileFormat, FolderSource
from streamshed.network.terms.parsing import TextFormat
from streamshed.network.words.columns import Column as SchemaColumn
from streamshed.network.words.columns import format_schema
from streamshed.spark.common.internal_names import CORRUPT
from streamshed.spark.source.source_frame import bounded_frame, empty_frame, folder_frame

_LENGTH = 8
"""Of lists that are made up."""

_EPOCH_SECONDS = 1_700_000_000


@dataclass(frozen=True)
class Specimens:
    """A few rows of a stream.

    Attributes:
        rows: As its source would deliver them.
        made_up: Whether they are made up.
        has_text: Whether text that is parsed is in them as it comes.
    """

    rows: DataFrame
    made_up: bool
    has_text: bool = True


def specimens(spark: SparkSession, stream: Stream, count: int) -> Specimens:
    """Return some rows of a stream.

    Those of a folder are read from its files. Other sources cannot be asked for rows without taking them from the
    query that is to run; so are folders without files. There rows of the right types are made up, of which it is not
    known how like the real ones they are: numbers below 100, texts of 16 letters, lists of eight.

    Args:
        spark: The session.
        stream: A stream with a source of its own.
        count: How many.
    """
    if isinstance(stream.source, FolderSource):
        there = folder_frame(spark, stream)
        # Not `limit`, which would look into every file.
        if taken := there.take(count):
            return Specimens(spark.createDataFrame(taken, there.schema), made_up=False)
    rows, parse = bounded_frame(stream, _made_up(spark, stream, count)), stream.parse
    if parse is not None and parse.format is TextFormat.AVRO:
        return Specimens(rows.drop(parse.column), made_up=True, has_text=False)
    return Specimens(rows, made_up=True, has_text=parse is not None)


def _made_up(spark: SparkSession, stream: Stream, count: int) -> DataFrame:
    is_lines = isinstance(stream.source, FolderSource) and stream.source.format is FileFormat.JSON
    kinds = _kinds(stream.schema) if is_lines else _kinds_of(empty_frame(spark, stream).schema)
    columns = {name: _value(kind) for name, kind in kinds.items() if name != CORRUPT}
    parse = stream.parse
    if parse is not None and parse.format is TextFormat.AVRO:
        columns |= {name: _value(kind) for name, kind in _kinds(parse.schema).items()}
    elif parse is not None:
        values = F.struct(*[_value(kind).alias(name) for name, kind in _kinds(parse.schema).items()])
        options = dict(parse.options)
        text = F.to_json(values, options) if parse.format is TextFormat.JSON else F.to_csv(values, options)
        columns |= {name: text.cast(kinds[name]) for name in columns if name.lower() == parse.column.lower()}
    ids = spark.range(count, numPartitions=1).select(F.col("id").alias("__id"))
    return ids.select(*[column.alias(name) for name, column in columns.items()])


def _kinds(columns: Iterable[SchemaColumn]) -> dict[str, T.DataType]:
    schema = T.StructType.fromDDL(format_schema(columns))
    return _kinds_of(schema) if isinstance(schema, T.StructType) else {}


def _kinds_of(schema: T.StructType) -> dict[str, T.DataType]:
    return {field.name: field.dataType for field in schema.fields}


def _value(kind: T.DataType) -> Column:
    number = F.col("__id") % 100
    match kind:
        case T.BooleanType():
            made = number % 2 == 0
        case T.StringType() | T.BinaryType():
            made = F.substring(F.sha2(F.col("__id").cast("string"), 256), 1, 16)
        case T.TimestampType() | T.TimestampNTZType():
            made = F.timestamp_seconds(F.lit(_EPOCH_SECONDS) + F.col("__id"))
        case T.DateType():
            made = F.date_add(F.lit("2024-01-01").cast("date"), number.cast("int"))
        case T.ArrayType():
            made = F.array_repeat(_value(kind.elementType), _LENGTH)
        case T.MapType():
            made = F.create_map(_value(kind.keyType), _value(kind.valueType))
        case T.StructType():
            made = F.struct(*[_value(field.dataType).alias(field.name) for field in kind.fields])
        case T.NumericType():
            made = number
        case _:
            made = F.lit(None)
    return made.cast(kind)
