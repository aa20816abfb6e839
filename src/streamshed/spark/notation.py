"""How an answer writes values: numbers in plain decimal, times in ISO 8601 and UTC."""

from __future__ import annotations

from pyspark.sql import Column
from pyspark.sql import functions as F

from streamshed.spark.value_kind import Notation

_MICROSECONDS_PER_DAY = 86_400_000_000


def long_text(long: Column, notation: Column) -> Column:
    """A number from state (see `as_long`) as the text of what it stands for."""
    return (
        F.when(notation == str(Notation.TIMESTAMP), F.concat(_local_time(long), F.lit("Z")))
        .when(notation == str(Notation.TIMESTAMP_NTZ), _local_time(long))
        .when(notation == str(Notation.DATE), F.date_from_unix_date(long.cast("int")).cast("string"))
        .when(notation == str(Notation.BOOLEAN), F.when(long == 1, F.lit("true")).when(long == 0, F.lit("false")))
        .otherwise(long.cast("string"))
    )


def decimal_text(unscaled: Column, scale: Column) -> Column:
    """An unscaled decimal with its point set, as Spark writes it: 12345 of scale 2 is "123.45"."""
    digits = F.lpad(
        F.abs(unscaled).cast("string"),
        F.greatest(scale + 1, F.length(F.abs(unscaled).cast("string"))),
        F.lit("0"),
    )
    sign = F.when(unscaled < 0, F.lit("-")).otherwise(F.lit(""))
    whole = F.substr(digits, F.lit(1), F.length(digits) - scale)
    fraction = F.substr(digits, F.length(digits) - scale + F.lit(1), scale)
    return F.when(scale == 0, unscaled.cast("string")).otherwise(F.concat(sign, whole, F.lit("."), fraction))


def key_as_written(keys: Column, notations: Column) -> Column:
    """Keys as an answer writes them: what is a number only in state, as the time, date or truth value that it is."""
    plain = F.array(*[F.lit(str(Notation.NUMBER)), F.lit(str(Notation.TEXT))])

    def written(pair: Column) -> Column:
        text, notation = pair["keys"], pair["notations"]
        return F.when(F.array_contains(plain, notation), text).otherwise(long_text(text.try_cast("bigint"), notation))

    zipped = F.arrays_zip(keys.alias("keys"), notations.alias("notations"))
    return F.transform(zipped, written)


def _local_time(microseconds: Column) -> Column:
    """Microseconds since 1970-01-01T00:00:00 on some clock as ISO 8601, independent of the session's time zone."""
    rest = F.pmod(microseconds, F.lit(_MICROSECONDS_PER_DAY))
    days = ((microseconds - rest) / F.lit(_MICROSECONDS_PER_DAY)).cast("int")
    date = F.date_from_unix_date(days)
    seconds = F.floor(rest / F.lit(1_000_000))
    hours, minutes = F.floor(seconds / 3600), F.floor(F.pmod(seconds, F.lit(3600)) / 60)
    parts = [hours.cast("int"), minutes.cast("int"), F.pmod(seconds, F.lit(60)).cast("int")]
    fraction = F.pmod(rest, F.lit(1_000_000)).cast("int")
    return F.concat(date.cast("string"), F.lit("T"), F.format_string("%02d:%02d:%02d.%06d", *parts, fraction))
