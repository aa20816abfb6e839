"""Rows that cannot be read: recognized, described by one text, and told apart again in the answers."""

from __future__ import annotations

from pyspark.sql import Column
from pyspark.sql import functions as F

from streamshed.network.sources import FileFormat, FolderSource
from streamshed.network.stream import IdentityKind, Stream
from streamshed.spark.internal_names import FILE_PATH, FILE_ROW, TEXT, UNREADABLE

FIELD_SEPARATOR = "\x1e"
FIELDS = ("stream", "reason", "identity", "text")


def unreadable_text(stream: Stream) -> Column:
    """Describe an unreadable row: stream, reason, what identifies it in its source, and its text where it has one.

    A row that can be found again by its identity and has no text is not copied.
    """
    fields = [F.lit(stream.name), F.col(UNREADABLE), _identity(stream), _text(stream)]
    return F.when(
        F.col(UNREADABLE).isNotNull(), F.concat_ws(FIELD_SEPARATOR, *[F.coalesce(f, F.lit("")) for f in fields])
    )


def unreadable_field(text: Column, name: str) -> Column:
    """Take one field out of what `unreadable_text` wrote; the text itself may hold separators."""
    return F.element_at(F.split(text, FIELD_SEPARATOR, len(FIELDS)), FIELDS.index(name) + 1)


def _identity(stream: Stream) -> Column:
    match stream.identity.kind:
        case IdentityKind.COLUMNS:
            return F.to_json(F.struct(*[F.col(f"`{name}`") for name in stream.identity.columns]))
        case IdentityKind.FILE_ROW:
            return F.concat(F.col(FILE_PATH), F.lit("#"), F.col(FILE_ROW).cast("string"))
        case IdentityKind.NONE:
            return F.lit("")


def _text(stream: Stream) -> Column:
    if stream.parse is not None or _is_text_folder(stream):
        return F.col(TEXT)
    if stream.identity.kind is IdentityKind.NONE:
        return F.to_json(F.struct(*[F.col(f"`{name}`") for name in stream.columns]))
    return F.lit("")


def _is_text_folder(stream: Stream) -> bool:
    return isinstance(stream.source, FolderSource) and stream.source.format in {FileFormat.JSON, FileFormat.CSV}
