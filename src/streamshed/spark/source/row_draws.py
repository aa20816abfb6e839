"""What a row draws, from which it follows whether samplers keep it: a hash of what identifies it."""

from __future__ import annotations

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F

from streamshed.network.model.stream import Stream
from streamshed.network.source.identity import IdentityKind
from streamshed.spark.common.internal_names import CHANCE, FILE_ROW
from streamshed.spark.source.file_identity import file_path

UNIT = 2.0**-53


def uniform(rows: DataFrame, stream: Stream) -> Column:
    """A number in [0, 1) that is each row's own: the same at every reading, where rows have an identity."""
    return as_uniform(row_hash(rows, stream, salt=stream.name))


def told_apart(rows: DataFrame, stream: Stream) -> DataFrame:
    """Give rows without identity a random number in its stead: the same wherever one asks for it.

    Args:
        rows: As the source delivers them.
        stream: Theirs.
    """
    if stream.identity.kind is not IdentityKind.NONE:
        return rows
    return rows.withColumn(CHANCE, F.rand())


def row_hash(rows: DataFrame, stream: Stream, *, salt: str) -> Column:
    """Return 64 bits that are each row's own.

    Args:
        rows: With what identifies them, or `told_apart`.
        stream: Theirs.
        salt: Each use has another one.
    """
    match stream.identity.kind:
        case IdentityKind.FILE_ROW:
            identity = [file_path(rows), F.col(FILE_ROW)]
        case IdentityKind.NONE:
            identity = [F.col(CHANCE)]
        case IdentityKind.COLUMNS:
            identity = [F.col(f"`{name}`") for name in stream.identity.columns]
    return F.xxhash64(F.lit(salt), *identity)


def as_uniform(hashed: Column) -> Column:
    """Return a hash as a number in [0, 1), from all but its lowest eleven bits."""
    return F.shiftrightunsigned(hashed, 11).cast("double") * F.lit(UNIT)
