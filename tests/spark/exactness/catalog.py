"""The expressions that random networks are made of, each written for Spark and for DuckDB.

DuckDB's text never raises: what fails under Spark's ANSI rules for rows that an earlier filter removed is wrapped
in TRY there, so that the oracle does not depend on the order of evaluation.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from tests.spark.exactness.specification import Kind, Sql

ColumnKinds = Mapping[str, Kind]


@dataclass(frozen=True)
class Entry:
    """An expression, and the columns it can be used over.

    Attributes:
        sql: The expression.
        needs: The columns it reads, and their types.
        into: For maps: the column it is computed for.
    """

    sql: Sql
    needs: tuple[tuple[str, Kind], ...]
    into: str = ""


@dataclass(frozen=True)
class Risk:
    """A predicate, and expressions that may fail for the rows it removes."""

    guard: Entry
    predicate: Entry
    value: Entry


def fitting(entries: Iterable[Entry], columns: ColumnKinds) -> list[Entry]:
    """The entries whose columns are there, with their types."""
    return [entry for entry in entries if all(columns.get(name) is kind for name, kind in entry.needs)]


_INTEGER, _BIG, _DOUBLE, _DECIMAL, _TEXT = Kind.INTEGER, Kind.BIG, Kind.DOUBLE, Kind.DECIMAL, Kind.TEXT
_DATE, _TIMESTAMP, _LOCAL, _BOOLEAN, _BINARY = Kind.DATE, Kind.TIMESTAMP, Kind.LOCAL, Kind.BOOLEAN, Kind.BINARY
_KINDS = {
    "row": _BIG,
    "n": _INTEGER,
    "i": _INTEGER,
    "big": _BIG,
    "x": _DOUBLE,
    "y": _DOUBLE,
    "money": _DECIMAL,
    "wide": _DECIMAL,
    "s": _TEXT,
    "word": _TEXT,
    "d": _DATE,
    "at": _TIMESTAMP,
    "local": _LOCAL,
    "flag": _BOOLEAN,
    "raw": _BINARY,
}


def _entry(needs: str, kind: Kind, spark: str, duckdb: str = "", into: str = "") -> Entry:
    columns = tuple((name, _KINDS[name]) for name in needs.split())
    return Entry(Sql(spark, duckdb or spark, kind), columns, into)


def _predicate(needs: str, spark: str, duckdb: str = "") -> Entry:
    return _entry(needs, _BOOLEAN, spark, duckdb)


PREDICATES = (
    _predicate("n", "n >= 0"),
    _predicate("n", "n BETWEEN -2 AND 5"),
    _predicate("n i", "n > i OR i = 2"),
    _predicate("i", "i IN (1, 2, 3)"),
    _predicate("i", "NOT (i = 1)"),
    _predicate("s", "s = 'a' OR s IS NULL"),
    _predicate("s", "s <> ''"),
    _predicate("s", r"s <> '\\N'", r"s <> '\N'"),
    _predicate("flag", "flag"),
    _predicate("flag", "NOT flag"),
    _predicate("x", "x > 0.5"),
    _predicate("x", "x = 0"),
    _predicate("y", "y < 900.5D", "y < 900.5"),
    _predicate("money", "money > -1000.25"),
    _predicate("big", "big > 0"),
    _predicate("big", "big <> -9223372036854775808"),
    _predicate("d", "d >= DATE'2023-12-31'"),
    _predicate("at", "at > TIMESTAMP'1999-01-01 00:00:00'", "\"at\" > TIMESTAMP'1999-01-01 00:00:00'"),
    _predicate("raw", "length(raw) > 0", "octet_length(raw) > 0"),
    _predicate("row", "row % 3 <> 1"),
    # These are null for some rows, which then do not pass.
    _predicate("i", "nullif(i, 2) < 3"),
    _predicate("n", "CASE WHEN n > 3 THEN NULL ELSE n < 2 END"),
    _predicate("n i", "n > nullif(i, 0)"),
    _predicate("n", "NOT (n > 3)"),
    _predicate("s", "length(s) < 2"),
    _predicate("n i", "n <=> i OR n > 0", "n IS NOT DISTINCT FROM i OR n > 0"),
)

ARITHMETIC = (
    Sql("{0} / {1}", "CAST({0} AS DOUBLE) / nullif(CAST({1} AS DOUBLE), 0)", _DOUBLE),
    Sql("100.0 * {0} / count(*)", "100 * CAST({0} AS DOUBLE) / count(*)", _DOUBLE),
    Sql("-({0} - 2 * {1}) * 3", "-(CAST({0} AS DOUBLE) - 2 * CAST({1} AS DOUBLE)) * 3", _DOUBLE),
    Sql(
        "{0} / ({0} + {1}) - 1",
        "CAST({0} AS DOUBLE) / nullif(CAST({0} AS DOUBLE) + CAST({1} AS DOUBLE), 0) - 1",
        _DOUBLE,
    ),
)
"""Arithmetic over two aggregates; what stands for DuckDB is understood by Spark, too."""

NEVER = _predicate("n", "n > 1000")

MAPS = (
    _entry("n", _INTEGER, "n + 1", into="q"),
    _entry("n", _INTEGER, "n * 2", into="n"),
    _entry("n i", _INTEGER, "coalesce(n, i)", into="i"),
    _entry("s", _TEXT, "upper(s)", into="s"),
    _entry("s", _TEXT, "coalesce(s, '?')", into="label_text"),
    _entry("y", _DOUBLE, "y / 4", into="y"),
    _entry("y n", _DOUBLE, "y / nullif(n, 0)", into="ratio"),
    _entry("x", _DOUBLE, "-x", into="x"),
    _entry("money", _DECIMAL, "CAST(money * 2 AS DECIMAL(12, 2))", into="twice"),
    _entry("n", _TEXT, "CASE WHEN n > 3 THEN 'high' WHEN n IS NOT NULL THEN 'low' END", into="class_text"),
    _entry("big", _TEXT, "CAST(big AS STRING)", "CAST(big AS VARCHAR)", into="big_text"),
    _entry("d", _INTEGER, "year(d)", "CAST(year(d) AS INT)", into="year"),
    _entry("n", _BOOLEAN, "n > 0", into="flag"),
)

SWAP = (_entry("n i", _INTEGER, "i", into="n"), _entry("n i", _INTEGER, "n", into="i"))

RISKS = (
    Risk(
        _predicate("i", "i <> 0"),
        _predicate("n i", "n div i >= 0", "TRY(CAST(trunc(n / i) AS INT)) >= 0"),
        _entry("n i", _INTEGER, "CAST(n div i AS INT)", "TRY(CAST(trunc(n / i) AS INT))", into="divided"),
    ),
    Risk(
        _predicate("word", "word RLIKE '^[0-9]+$'", "regexp_full_match(word, '[0-9]+')"),
        _predicate("word", "CAST(word AS INT) > 7", "TRY_CAST(word AS INT) > 7"),
        _entry("word", _INTEGER, "CAST(word AS INT)", "TRY_CAST(word AS INT)", into="parsed"),
    ),
    Risk(
        _predicate("big", "big BETWEEN -1000 AND 1000"),
        _predicate("big", "big * big * big > 30", "TRY(CAST(big AS HUGEINT) * big * big) > 30"),
        _entry("big", _BIG, "big * big", "TRY(CAST(CAST(big AS HUGEINT) * big AS BIGINT))", into="square"),
    ),
    Risk(
        _predicate("n", "n BETWEEN 1 AND 2"),
        _predicate("s n", "element_at(array(s, 'b'), n) <> ''", "[s, 'b'][n] <> ''"),
        _entry("s n", _TEXT, "element_at(array('c', s), n)", "['c', s][n]", into="picked"),
    ),
)

KEY_EXPRESSIONS = (
    _entry("n", _INTEGER, "n % 3"),
    _entry("s", _TEXT, "substr(s, 1, 1)"),
    _entry("at", _DATE, "CAST(at AS DATE)", 'CAST("at" AS DATE)'),
    _entry("y", _BOOLEAN, "y > 0"),
    _entry("s", _INTEGER, "length(s)", "CAST(length(s) AS INT)"),
    _entry("n i", _BIG, "CAST(n AS BIGINT) * i"),
    _entry("x", _DOUBLE, "x * 0.0D", "x * 0.0::DOUBLE"),
)

VALUE_EXPRESSIONS = (
    _entry("n i", _INTEGER, "n + i"),
    _entry("n", _INTEGER, "nullif(n, 3)"),
    _entry("y", _DOUBLE, "y * 2"),
    _entry("money", _DECIMAL, "CAST(money + 1 AS DECIMAL(12, 2))"),
    _entry("s", _TEXT, "concat(s, 'z')", "s || 'z'"),
    _entry("n", _INTEGER, "CASE WHEN n > 0 THEN 1 END"),
)
