"""What changes the meaning of an expression."""

from collections.abc import Mapping
from dataclasses import dataclass

ASSUMED_SETTINGS: Mapping[str, str] = {
    "spark.sql.ansi.doubleQuotedIdentifiers": "false",
    "spark.sql.ansi.enforceReservedKeywords": "false",
    "spark.sql.caseSensitive": "false",
    "spark.sql.decimalOperations.allowPrecisionLoss": "true",
    "spark.sql.legacy.consecutiveStringLiterals.enabled": "false",
    "spark.sql.legacy.exponentLiteralAsDecimal.enabled": "false",
    "spark.sql.legacy.literal.pickMinimumPrecision": "true",
    "spark.sql.legacy.typeCoercion.datetimeToString.enabled": "false",
    "spark.sql.parser.escapedStringLiterals": "false",
    "spark.sql.parser.quotedRegexColumnNames": "false",
    "spark.sql.timestampType": "TIMESTAMP_LTZ",
}
"""Settings of Spark at which compiled expressions have Spark's answers: its defaults. At others, leave all to Spark."""


@dataclass(frozen=True, slots=True)
class Dialect:
    """The settings of a Spark session that change what an expression answers; others are `ASSUMED_SETTINGS`.

    Attributes:
        ansi: `spark.sql.ansi.enabled`: overflow and casts that fail are errors.
        time_zone: `spark.sql.session.timeZone`, such as "UTC", "+02:00" or "Europe/Berlin". The hours of regions come
            from this machine's time zone database, those of Spark from Java's.
    """

    ansi: bool
    time_zone: str
