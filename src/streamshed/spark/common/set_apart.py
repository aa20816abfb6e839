"""What travels through the stages without belonging to a query: unreadable rows, and the carrier."""

from __future__ import annotations

from pyspark.sql import Column
from pyspark.sql import functions as F

from streamshed.answering.table.unreadable import FIELD_SEPARATOR
from streamshed.network.model.stream import Stream
from streamshed.network.source.identity import IdentityKind
from streamshed.network.source.sources import FileFormat, FolderSource
from streamshed.spark.common.internal_names import FILE_PATH, FILE_ROW, TEXT, UNREADABLE

UNREADABLE_CLASS = 0
"""Class of rows that could not be read; their `key_text` says which and why."""
CARRIER_CLASS = 1
"""Class of the carrier's rows; `key_text` is the stream, `slice_start` to `key_long` the time it has come since."""
NO_TIME_YET = -(2**62)
"""What a carrier says of a stream whose time is not known."""


def unreadable_text(stream: Stream) -> Column:
    """Describe a row that could not be read.

    By stream, reason, what identifies it in its source, and its text where it has one: a row that can be found again
    by its identity and has no text is not copied.
    """
    fields = [F.lit(stream.name), F.col(UNREADABLE), _identity(stream), _text(stream)]
    return F.concat_ws(FIELD_SEPARATOR, *[F.coalesce(field, F.lit("")) for field in fields])


def _identity(stream: Stream) -> Column:
    match stream.identity.kind:
        case IdentityKind.COLUMNS:
            return F.to_json(F.struct(*[F.col(f"`{name}`") for name in stream.identity.columns]))
        case IdentityKind.FILE_ROW:
            return F.concat(F.col(FILE_PATH), F.lit("#"), F.col(FILE_ROW).cast("string"))
        case IdentityKind.NONE:
            return F.lit("")


def _text(stream: Stream) -> Column:
    source = stream.source
    if stream.text is not None:
        return F.col(TEXT)
    if isinstance(source, FolderSource) and source.format is FileFormat.CSV:
        # Spark keeps only the text of rows that it could not parse.
        return F.coalesce(F.col(TEXT), F.to_csv(F.struct(*[F.col(f"`{name}`") for name in stream.columns])))
    if stream.identity.kind is IdentityKind.NONE:
        return F.to_json(F.struct(*[F.col(f"`{name}`") for name in stream.columns]))
    return F.lit("")
