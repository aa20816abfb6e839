"""Rows of text, or of bytes, become columns; those that cannot be read are marked."""

from __future__ import annotations

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F

from streamshed.network.model.stream import Stream
from streamshed.network.source.sources import FolderSource
from streamshed.network.terms.parsing import Parse, TextFormat
from streamshed.network.words.columns import Column as SchemaColumn
from streamshed.network.words.columns import format_schema
from streamshed.spark.admit.avro_reader import avro_reader
from streamshed.spark.common.internal_names import CORRUPT, FOLDERS, RAW_TEXT, SUMS, TEXT, UNREADABLE
from streamshed.spark.source.partition_values import partition_values, with_folders

NO_TEXT = "text is null"
NO_PARSE = "text cannot be parsed"
NO_PARTITION = "the name of its folder cannot be parsed"


def parsed_rows(rows: DataFrame, stream: Stream) -> DataFrame:
    """Read the columns of a stream out of what its rows hold, if they hold text or bytes.

    Returns:
        Its columns with `TEXT` and `UNREADABLE`: what could not be read, and why. Rows that stand for many, and those
        that are parsed already, stay as they are.
    """
    is_taken = SUMS in rows.columns
    parse = stream.lines if is_taken else None if is_parsed(rows, stream) else stream.text
    if parse is None:
        corrupt = F.col(CORRUPT) if CORRUPT in rows.columns else F.lit(None).cast("string")
        reason = F.when(corrupt.isNotNull(), F.lit(NO_PARSE))
        return rows.withColumns({UNREADABLE: reason, TEXT: corrupt})
    in_folders = stream.source if stream.parse is None and isinstance(stream.source, FolderSource) else None
    rows = rows if in_folders is None or FOLDERS in rows.columns else with_folders(rows, in_folders)
    read, reason = _read(rows, parse)
    columns = {column.name: F.col("__read").getField(column.name) for column in parse.schema}
    for name, partition_value in ({} if in_folders is None else partition_values(in_folders)).items():
        columns[name] = F.when(partition_value.is_told, partition_value.value).otherwise(columns[name])
        reason = reason.when(partition_value.is_wrong, F.lit(NO_PARTITION))
    if stream.text is None:
        # As where Spark parses lines of CSV as it reads them: it keeps the text of those that it cannot parse.
        columns[TEXT] = F.col(f"__read.{CORRUPT}")
    return read.drop(parse.column).withColumns({**columns, UNREADABLE: reason}).drop("__read", FOLDERS)


def _read(rows: DataFrame, parse: Parse) -> tuple[DataFrame, Column]:
    """Read what a column holds into the struct `__read`; returns why that cannot be, too. `TEXT` is what it holds.

    Bytes of Avro are shown as Base64, those that cannot be read: the others are not copied.
    """
    column, corrupt = F.col(f"`{parse.column}`"), F.col(f"__read.{CORRUPT}")
    if parse.format is TextFormat.AVRO:
        read = rows.withColumns({"__read": avro_reader(parse)})
        reason = F.when(column.isNull(), F.lit(NO_TEXT)).when(corrupt.isNotNull(), corrupt)
        shown = F.when(corrupt.isNotNull(), F.base64(column))
        return read.withColumns({TEXT: shown, UNREADABLE: reason}), F.col(UNREADABLE)
    read = rows.withColumns({TEXT: column.cast("string")}).withColumns({"__read": _reader(parse)})
    failed = F.col("__read").isNull() | corrupt.isNotNull()
    return read, F.when(F.col(TEXT).isNull(), F.lit(NO_TEXT)).when(failed, F.lit(NO_PARSE))


def is_parsed(rows: DataFrame, stream: Stream) -> bool:
    """Return whether rows are parsed already, as those of a bounded DataFrame, or some that are made up, may be."""
    there = {name.lower() for name in rows.columns}
    if stream.parse is not None:
        return stream.parse.column.lower() not in there
    wanted = {column.name.lower() for column in stream.schema}
    return wanted <= there and wanted != {RAW_TEXT}


def text_reader(stream: Stream) -> Column | None:
    """What reads the columns of a row out of `TEXT`; None: its source delivers them as such, or as no text."""
    return None if stream.text is None or stream.text.format is TextFormat.AVRO else _reader(stream.text)


def _reader(parse: Parse) -> Column:
    schema = format_schema((*parse.schema, SchemaColumn(CORRUPT, "string")))
    options = {**dict(parse.options), "mode": "PERMISSIVE", "columnNameOfCorruptRecord": CORRUPT}
    reader = F.from_json if parse.format is TextFormat.JSON else F.from_csv
    return reader(F.col(TEXT), schema, options)
