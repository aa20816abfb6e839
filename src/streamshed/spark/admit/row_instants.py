"""The instant of a row: of the column, the expression or the number that the windows of its stream lie along."""

from __future__ import annotations

from pyspark.errors import AnalysisException
from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F
from pyspark.sql import types as T

from streamshed.errors import InvalidExpressionError
from streamshed.network.model.stream import Stream
from streamshed.network.sql.expression import quoted
from streamshed.network.words.numbering import LARGEST_NUMBER, MICROSECONDS_PER_NUMBER
from streamshed.spark.operators.analysis import complaint

NO_TIME = "event time is null"
NOT_COMPUTED = "event time is null or cannot be computed"
NO_NUMBER = "number is null"
NUMBER_TOO_LARGE = f"number is beyond {LARGEST_NUMBER}"


def row_microseconds(rows: DataFrame, stream: Stream) -> Column:
    """The instant of a row of a stream, microseconds since the epoch; null where it has none.

    A time without zone is taken for UTC.

    Raises:
        InvalidExpressionError: Spark makes no sense of its event time, or it is no timestamp.
    """
    if stream.is_numbered:
        return _number_microseconds(F.col(quoted(stream.time)))
    if stream.attribute.column:
        column = F.col(quoted(stream.time))
        kind = rows.select(column).schema[0].dataType
    else:
        column = null_on_error(F.expr(stream.time))
        kind = _computed_type(rows, stream)
    if isinstance(kind, T.TimestampNTZType):
        return F.timestamp_diff("MICROSECOND", F.to_timestamp_ntz(F.lit("1970-01-01 00:00:00")), column)
    return F.unix_micros(column.cast("timestamp"))


def why_without_instant(stream: Stream) -> Column:
    """Why a row of a stream has no instant, if it has none."""
    if stream.is_numbered:
        return F.when(F.col(quoted(stream.time)).isNull(), NO_NUMBER).otherwise(NUMBER_TOO_LARGE)
    return F.lit(NO_TIME if stream.attribute.column else NOT_COMPUTED)


def null_on_error(instant: Column) -> Column:
    """A time; null where it cannot be computed, be it that a text is no time or a number too large for one.

    Spark's `try_add` of what are not two numbers is null for errors within its arguments, too.
    """
    return F.try_add(instant, F.expr("INTERVAL '0' SECOND"))


def _number_microseconds(number: Column) -> Column:
    """The instant that a number stands for; none where it is too large for Spark's watermark."""
    whole = number.cast("bigint")
    is_small = whole.between(-LARGEST_NUMBER, LARGEST_NUMBER)
    return F.when(is_small, whole * F.lit(MICROSECONDS_PER_NUMBER).cast("bigint"))


def _computed_type(rows: DataFrame, stream: Stream) -> T.DataType:
    """The type of an event time that is computed: a timestamp, with a zone or without."""
    where = f'stream "{stream.name}": its time "{stream.time}"'
    try:
        kind = rows.select(F.expr(stream.time)).schema[0].dataType
    except AnalysisException as error:
        raise InvalidExpressionError(f"{where}: {complaint(error, {})}") from error
    if not isinstance(kind, T.TimestampType | T.TimestampNTZType):
        raise InvalidExpressionError(f"{where} is a {kind.simpleString()}, expected a timestamp: cast it?")
    return kind
