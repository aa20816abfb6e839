"""The head of a stream's straight line: sampler at the input, then parsing, then event time."""

from __future__ import annotations

from dataclasses import dataclass

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F
from pyspark.sql import types as T

from streamshed.network.columns import Column as SchemaColumn
from streamshed.network.columns import format_schema
from streamshed.network.sources import FileFormat, FolderSource
from streamshed.network.stream import IdentityKind, Parse, Stream, TextFormat
from streamshed.spark.internal_names import (
    CORRUPT,
    FILE_PATH,
    FILE_ROW,
    OPEN,
    SAMPLING_CODES,
    TEXT,
    TIME,
    UNREADABLE,
)

NO_TIME = "event time is null"
NO_TEXT = "text is null"
NO_PARSE = "text cannot be parsed"

SAMPLING_RATE = "__sampling_rate"

_UNIT = 2.0**-53


@dataclass(frozen=True)
class Admission:
    """How a stream's rows are admitted in a micro-batch.

    Attributes:
        plan: A one-row DataFrame with `OPEN`, `SAMPLING_RATE` and `SAMPLING_CODES`; None: everything is admitted, as
            in batch mode.
    """

    plan: DataFrame | None = None


def sampled_rows(source: DataFrame, stream: Stream, admission: Admission) -> DataFrame:
    """Sample, parse and time a stream's rows.

    A row is kept iff u < sampling rate, u a hash of what identifies it: read again, it is kept again. While nothing
    is shed, u is not computed. What is shed is not parsed.

    Returns:
        The stream's columns with `TIME`, `UNREADABLE`, `OPEN`, `SAMPLING_CODES` (and `TEXT` where text is parsed).
    """
    rows = _admitted(source, stream, admission)
    rows = _parsed(rows, stream)
    microseconds = event_time_microseconds(rows, stream.time)
    unreadable = F.coalesce(F.col(UNREADABLE), F.when(microseconds.isNull(), F.lit(NO_TIME)))
    return rows.withColumns({TIME: microseconds, UNREADABLE: unreadable})


def event_time_microseconds(rows: DataFrame, time: str) -> Column:
    """The event time column as microseconds since the epoch; a time without zone is taken for UTC."""
    column = F.col(f"`{time}`")
    if isinstance(rows.select(column).schema[0].dataType, T.TimestampNTZType):
        return F.timestamp_diff("MICROSECOND", F.to_timestamp_ntz(F.lit("1970-01-01 00:00:00")), column)
    return F.unix_micros(column.cast("timestamp"))


def _admitted(source: DataFrame, stream: Stream, admission: Admission) -> DataFrame:
    if admission.plan is None:
        nothing = F.lit(None).cast("string")
        return source.withColumns({OPEN: F.lit(-(2**62)), SAMPLING_CODES: nothing})
    rows = source.crossJoin(F.broadcast(admission.plan))
    kept = F.when(F.col(SAMPLING_RATE) < 1.0, uniform(stream) < F.col(SAMPLING_RATE)).otherwise(F.lit(True))
    return rows.where(kept)


def uniform(stream: Stream) -> Column:
    """A number in [0, 1) that is the row's own: the same at every reading, where the row has an identity."""
    match stream.identity.kind:
        case IdentityKind.NONE:
            return F.rand()
        case IdentityKind.FILE_ROW:
            identity = [F.col(FILE_PATH), F.col(FILE_ROW)]
        case IdentityKind.COLUMNS:
            identity = [F.col(f"`{name}`") for name in stream.identity.columns]
    salted = F.xxhash64(F.lit(stream.name), *identity)
    return F.shiftrightunsigned(salted, 11).cast("double") * F.lit(_UNIT)


def _parsed(rows: DataFrame, stream: Stream) -> DataFrame:
    parse = stream.parse or _folder_parse(stream)
    if parse is None:
        corrupt = F.col(CORRUPT) if CORRUPT in rows.columns else F.lit(None).cast("string")
        reason = F.when(corrupt.isNotNull(), F.lit(NO_PARSE))
        return rows.withColumns({UNREADABLE: reason, TEXT: corrupt})
    text = F.col(f"`{parse.column}`").cast("string")
    read = rows.withColumns({TEXT: text}).withColumns({"__read": _reader(parse)})
    failed = F.col("__read").isNull() | F.col(f"__read.{CORRUPT}").isNotNull()
    reason = F.when(F.col(TEXT).isNull(), F.lit(NO_TEXT)).when(failed, F.lit(NO_PARSE))
    columns = {column.name: F.col("__read").getField(column.name) for column in parse.schema}
    return read.drop(parse.column).withColumns({**columns, UNREADABLE: reason}).drop("__read")


def _folder_parse(stream: Stream) -> Parse | None:
    source = stream.source
    if isinstance(source, FolderSource) and source.format is FileFormat.JSON:
        return Parse(TextFormat.JSON, "value", source.columns, source.options)
    return None


def _reader(parse: Parse) -> Column:
    schema = format_schema((*parse.schema, SchemaColumn(CORRUPT, "string")))
    options = {**dict(parse.options), "mode": "PERMISSIVE", "columnNameOfCorruptRecord": CORRUPT}
    reader = F.from_json if parse.format is TextFormat.JSON else F.from_csv
    return reader(F.col(TEXT), schema, options)
