"""Expressions of Spark SQL over the columns of `odd_rows`, drawn by a grammar: well typed, with few parentheses.

A rule is SQL with places `<what>` or `<what@binding>`. What is a type, several of them (`<int|bigint>`), `K` for the
type that the rule is for, `N` for a number that is no wider, or words of `WORDS`. An operand that binds less tightly
than its place wants is put in parentheses, others at times.
"""

from __future__ import annotations

import random
import re
from collections.abc import Mapping

ATOM, UNARY, PRODUCT, SUM, BITS, PREDICATE, NOT, AND, OR = 9, 8, 7, 6, 5, 4, 3, 2, 1
_BINDINGS = {name: value for name, value in globals().items() if name.isupper() and isinstance(value, int)}
_PLACE = re.compile(r"<([\w|]+)(?:@(\w+))?>")

INTEGERS = ("tinyint", "smallint", "int", "bigint")
NUMBERS = (*INTEGERS, "float", "double")

LEAVES: Mapping[str, tuple[tuple[str, ...], tuple[str, ...]]] = {
    "tinyint": (("t1", "t2"), ("1Y", "-128Y", "7Y")),
    "smallint": (("s1",), ("3S", "-5S")),
    "int": (("i1", "i2"), ("0", "1", "-1", "2", "80", "443", "2147483647", "-2147483648", "7")),
    "bigint": (("l1", "l2"), ("1L", "2147483648", "-5L", "9223372036854775807", "100L")),
    "float": (("f1",), ("1.5F", "0F")),
    "double": (("d1", "d2"), ("1.5D", "0D", "-0D", "1e3", "2.5e0", "sqrt(-1D)", "1e308")),
    "boolean": (("b1", "b2"), ("true", "false")),
    "string": (("x1", "x2"), ("'abc'", "''", "'a'", "'ÄÖ'", "'tcp'", "'true'")),
    "binary": (("bytes1", "bytes2"), ()),
    "decimal(10,2)": (("money1", "money2"), ()),
    "date": (("day1", "day2"), ("date '2024-02-29'", "date '1500-01-01'", "date'1969-12-31'")),
    "timestamp": (("ts1", "ts2"), ("timestamp '2024-03-31 03:30:00'", "timestamp '2024-02-29 00:00:00.5'")),
    "timestamp_ntz": (("ntz1",), ("timestamp_ntz '2024-02-29 12:00:00'",)),
}
"""Columns and literals by type."""

WORDS: Mapping[str, tuple[str, ...]] = {
    "COMPARES": ("=", "==", "!=", "<>", "<", "<=", ">", ">=", "<=>", "IS DISTINCT FROM", "IS NOT DISTINCT FROM"),
    "DECIMAL": ("1.5", "0.1", "-2.25", "100.0", "2147483647.5"),
    "EXTREME": ("greatest", "least"),
    "FIELD": ("year", "quarter", "month", "day", "dayofyear", "dayofweek", "weekday", "weekofyear", "dayofmonth"),
    "CLOCK": ("hour", "minute", "second"),
    "PART": ("YEAR", "hour", "dow", "week"),
    "INTERVAL": (
        *("INTERVAL 5 MINUTES", "INTERVAL '30' SECOND", "interval 3 hours", "INTERVAL '1 hour'", "interval 1 day"),
        "interval 250 milliseconds",
    ),
    "IS": ("IS", "IS NOT"),
    "LENGTH": ("0", "1", "2", "3", "-1", "100", "2147483647"),
    "MONEY": ("money1", "money2", "share", "1.5", "80"),
    "NOT": ("", "NOT"),
    "ONE_OF": ("nvl", "ifnull", "nullif", "coalesce"),
    "PATTERN": (
        *("'a%'", "'%c'", "'%b%'", "'a%c'", "'_b%'", "''", "'%'", "'a__'", "'abc'", "'A%d!_e' ESCAPE '!'", "'%a_b'"),
        *("'ÄÖ'", "'😀%'", "'%.%*%'"),
    ),
    "REGEX": (
        *(
            "'^a'",
            "'c$'",
            "'b|t'",
            "'^[a-z]+$'",
            "'[^a-z]'",
            "'a.c'",
            "'^.$'",
            "'(ab)+c?'",
            "'b{2}'",
            "'^$'",
            "'日.語'",
            "'c[^a]$'",
        ),
        *("'[a-z'", "'a*?b'", "'A.*_'", "' '"),
    ),
    "PLACE": ("0", "1", "2", "-1", "-2", "-5", "4", "2147483647"),
    "PLAIN": ("'80'", "'0'", "'-1'"),
    "SEARCH": ("startswith", "endswith", "contains"),
    "SINCE": ("unix_seconds", "unix_millis", "unix_micros", "unix_timestamp"),
    "TEXT": ("'abc'", "'a'", "'b'", "'ÄÖ'"),
    "TO_TIMESTAMP": ("timestamp_seconds", "timestamp_millis", "timestamp_micros"),
    "TRIM": ("lower", "upper", "trim", "ltrim", "rtrim"),
    "TRUTH": ("TRUE", "FALSE", "NULL"),
    "UNIT": (
        "year",
        "QUARTER",
        "month",
        "week",
        "day",
        "hour",
        "minute",
        "second",
        "MILLISECOND",
        "microsecond",
        "mon",
    ),
    "DATE_UNIT": ("year", "MONTH", "week", "quarter", "mm"),
    "CLOCK_TEXT": ("clock", "clock", "clock", "'2024-03-31T02:30:00'"),
}

_ANY = "|".join(kind for kind in LEAVES if kind.isidentifier())
_NUMBER = "|".join(NUMBERS)
_INTEGER = "|".join(INTEGERS)
Rules = tuple[tuple[str, int], ...]

FOR_ALL: Rules = (
    ("CASE WHEN <boolean> THEN <K> WHEN <boolean> THEN <K> ELSE <K> END", ATOM),
    ("CASE WHEN <boolean> THEN <K> END", ATOM),
    ("CASE <int> WHEN <int> THEN <K> WHEN <tinyint> THEN <K> ELSE <K> END", ATOM),
    ("CASE <double|string> WHEN NULL THEN <K> ELSE <K> END", ATOM),
    ("if(<boolean>, <K>, <K>)", ATOM),
    ("if(<boolean>, NULL, <K>)", ATOM),
    ("<EXTREME>(<K>, <K>, <K>)", ATOM),
    ("<ONE_OF>(<K>, <K>)", ATOM),
    ("coalesce(<K>, NULL, <K>)", ATOM),
    (f"nvl2(<{_ANY}>, <K>, <K>)", ATOM),
)
"""Rules for every type."""

_OF_NUMBERS: Rules = (
    ("<K@SUM> + <N@PRODUCT>", SUM),
    ("<N@SUM> - <K@PRODUCT>", SUM),
    ("<K@PRODUCT> * <N@UNARY>", PRODUCT),
    ("<N@PRODUCT> % <K@UNARY>", PRODUCT),
    ("- <K@ATOM>", UNARY),
    ("abs(<K>)", ATOM),
    (f"CAST(<{_NUMBER}|boolean> AS <K>)", ATOM),
    ("CAST(numeral AS <K>)", ATOM),
)
_OF_INTEGERS: Rules = (
    *_OF_NUMBERS,
    ("mod(<K>, <N>)", ATOM),
    ("pmod(<K>, <N>)", ATOM),
    ("<K@ATOM> & <N@ATOM>", BITS),
    ("<K@ATOM> | <N@ATOM>", BITS),
    ("<K@ATOM> ^ <N@ATOM>", BITS),
    ("~<K@ATOM>", UNARY),
)
RULES: Mapping[str, Rules] = {
    "tinyint": _OF_INTEGERS,
    "smallint": _OF_INTEGERS,
    "int": (
        *_OF_INTEGERS,
        ("shiftleft(<int>, <int>)", ATOM),
        ("<int@ATOM> >> <int@ATOM>", BITS),
        ("length(<string|binary|int>)", ATOM),
        ("datediff(<date>, <date>)", ATOM),
        ("<FIELD>(<date|timestamp|timestamp_ntz>)", ATOM),
        ("<FIELD>(<date|timestamp>)", ATOM),
        ("<CLOCK>(<timestamp|timestamp_ntz>)", ATOM),
        ("EXTRACT(<PART> FROM <timestamp>)", ATOM),
        ("unix_date(<date>)", ATOM),
    ),
    "bigint": (
        *_OF_INTEGERS,
        (f"<{_INTEGER}@PRODUCT> div <{_INTEGER}@UNARY>", PRODUCT),
        ("floor(<double|int>)", ATOM),
        ("ceil(<double|float>)", ATOM),
        ("shiftright(<bigint>, <int>)", ATOM),
        ("<bigint@ATOM> << <int@ATOM>", BITS),
        ("<SINCE>(<timestamp>)", ATOM),
        ("unix_timestamp(<date>)", ATOM),
        ("CAST(<timestamp> AS BIGINT)", ATOM),
    ),
    "float": _OF_NUMBERS,
    "double": (
        *_OF_NUMBERS,
        (f"<{_NUMBER}@PRODUCT> / <{_NUMBER}@UNARY>", PRODUCT),
        ("<double@PRODUCT> * <DECIMAL>", PRODUCT),
        ("<DECIMAL> + <float@PRODUCT>", SUM),
        ("sqrt(<double|int>)", ATOM),
        ("CAST(<timestamp> AS DOUBLE)", ATOM),
    ),
    "boolean": (
        ("<boolean@AND> AND <boolean@NOT>", AND),
        ("<boolean@OR> OR <boolean@AND>", OR),
        ("NOT <boolean@NOT>", NOT),
        ("! <boolean@NOT>", NOT),
        ("<boolean@SUM> <IS> <TRUTH>", PREDICATE),
        (f"<{_ANY}@SUM> <IS> NULL", PREDICATE),
        *((f"<{kind}@SUM> <COMPARES> <{kind}@SUM>", PREDICATE) for kind in ("boolean", "string", "date", "timestamp")),
        ("<timestamp_ntz@SUM> <COMPARES> <timestamp_ntz@SUM>", PREDICATE),
        (f"<{_NUMBER}@SUM> <COMPARES> <{_NUMBER}@SUM>", PREDICATE),
        (f"<{_NUMBER}@SUM> <COMPARES> <{_NUMBER}@SUM>", PREDICATE),
        (f"<{_NUMBER}@SUM> <COMPARES> <DECIMAL>", PREDICATE),
        ("<int|bigint|double@SUM> <COMPARES> <PLAIN>", PREDICATE),
        ("<date@SUM> <COMPARES> '2024-02-29'", PREDICATE),
        ("<timestamp@SUM> <COMPARES> '2024-02-29 00:00:00'", PREDICATE),
        (f"<{_NUMBER}@SUM> <NOT> BETWEEN <{_NUMBER}@SUM> AND <{_NUMBER}@SUM>", PREDICATE),
        ("<string@SUM> BETWEEN <string@SUM> AND <string@SUM>", PREDICATE),
        ("<int@SUM> <NOT> IN (80, 443, -1)", PREDICATE),
        ("<tinyint@SUM> <NOT> IN (7, NULL, 300)", PREDICATE),
        ("<double@SUM> IN (1.5, 0, sqrt(-1D), 1e3)", PREDICATE),
        ("<float@SUM> IN (-0F, 1.5F)", PREDICATE),
        ("<bigint@SUM> IN (1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 80, -3)", PREDICATE),
        ("<double@SUM> IN (1D, 2D, 3D, 4D, 5D, 6D, 7D, 8D, 9D, 10D, 11D, 0D, -3D, sqrt(-1D))", PREDICATE),
        ("<string@SUM> <NOT> IN ('tcp', 'abc', '')", PREDICATE),
        ("<date@SUM> IN (date '1970-01-01', date '2024-02-29')", PREDICATE),
        ("<string@SUM> <NOT> LIKE <PATTERN>", PREDICATE),
        ("<string@SUM> <NOT> LIKE <PATTERN>", PREDICATE),
        ("<string@SUM> ILIKE '%aB%'", PREDICATE),
        ("<string@SUM> <NOT> RLIKE <REGEX>", PREDICATE),
        ("<binary@SUM> <COMPARES> <binary@SUM>", PREDICATE),
        ("<MONEY> <COMPARES> <MONEY>", PREDICATE),
        (f"<MONEY> <COMPARES> <{_INTEGER}@SUM>", PREDICATE),
        ("<MONEY> <NOT> IN (1.5, 80, -2.25, NULL)", PREDICATE),
        ("<MONEY> BETWEEN <DECIMAL> AND <MONEY>", PREDICATE),
        ("<SEARCH>(<string>, <TEXT>)", ATOM),
        ("isnan(<double|float>)", ATOM),
        (f"isnotnull(<{_ANY}>)", ATOM),
        (f"CAST(<{_NUMBER}> AS BOOLEAN)", ATOM),
        ("CAST(numeral AS BOOLEAN)", ATOM),
    ),
    "string": (
        ("<TRIM>(<string>)", ATOM),
        ("concat(<string>, <string|int>)", ATOM),
        ("<string@ATOM> || <string@ATOM>", BITS),
        ("CAST(<binary> AS STRING)", ATOM),
        ("left(<string>, <LENGTH>)", ATOM),
        ("right(<string>, <LENGTH>)", ATOM),
        ("replace(<string>, <TEXT>, <TEXT>)", ATOM),
        ("substr(<string>, <PLACE>)", ATOM),
        ("substring(<string>, <PLACE>, <LENGTH>)", ATOM),
        (f"CAST(<{_INTEGER}|boolean|date> AS STRING)", ATOM),
    ),
    "date": (
        ("to_date(<timestamp|timestamp_ntz|date>)", ATOM),
        ("CAST(<timestamp> AS DATE)", ATOM),
        ("CAST(clock AS DATE)", ATOM),
        ("trunc(<date|timestamp>, '<DATE_UNIT>')", ATOM),
        ("date_add(<date>, <int|tinyint>)", ATOM),
        ("date_sub(<date>, <int>)", ATOM),
        ("<date@SUM> + 30", SUM),
        ("<date@SUM> - 366", SUM),
    ),
    "timestamp": (
        ("date_trunc('<UNIT>', <timestamp>)", ATOM),
        ("date_trunc('<UNIT>', <timestamp|date>)", ATOM),
        ("CAST(<CLOCK_TEXT> AS TIMESTAMP)", ATOM),
        ("CAST(<date|timestamp_ntz|int|bigint> AS TIMESTAMP)", ATOM),
        ("<TO_TIMESTAMP>(<int|bigint>)", ATOM),
        ("<timestamp@SUM> + <INTERVAL>", SUM),
        ("<timestamp@SUM> - <INTERVAL>", SUM),
    ),
    "binary": (),
    "decimal(10,2)": (),
    "timestamp_ntz": (
        ("CAST(<timestamp> AS TIMESTAMP_NTZ)", ATOM),
        ("<timestamp_ntz@SUM> - <INTERVAL>", SUM),
    ),
}
"""Rules by the type of what they make, each with how tightly its operator binds in Spark's grammar."""


class Grammar:
    """Draws expressions.

    Args:
        seed: Of what is drawn.
    """

    def __init__(self, seed: int) -> None:
        self._source = random.Random(seed)

    def expression(self) -> str:
        """Draw one."""
        kind = self._source.choice([*LEAVES, "boolean", "boolean", "string", "timestamp"])
        return self._drawn(kind, depth=self._source.choice((1, 2, 2, 3)))[0]

    def _drawn(self, kind: str, depth: int) -> tuple[str, int]:
        if depth == 0 or self._source.random() < 0.1:
            return self._leaf(kind)
        rules = FOR_ALL if self._source.random() < 0.2 or not RULES[kind] else RULES[kind]
        text, tightness = self._source.choice(rules)
        return _PLACE.sub(lambda place: self._filled(place, kind, depth - 1), text), tightness

    def _leaf(self, kind: str) -> tuple[str, int]:
        columns, literals = LEAVES[kind]
        if literals and self._source.random() < 0.05:
            return f"CAST(NULL AS {kind})", ATOM
        text = self._source.choice(columns if not literals or self._source.random() < 0.8 else literals)
        return text, UNARY if text.startswith("-") else ATOM

    def _filled(self, place: re.Match[str], kind: str, depth: int) -> str:
        what, binding = place[1], _BINDINGS[place[2]] if place[2] else 0
        if what in WORDS:
            return self._source.choice(WORDS[what])
        if what == "K" and place.string[: place.start()].endswith(" AS "):
            return kind
        narrower = NUMBERS[: NUMBERS.index(kind) + 1] if what == "N" and kind != "float" else ("float",)
        kinds = [kind] if what == "K" else narrower if what == "N" else what.split("|")
        text, tightness = self._drawn(self._source.choice(kinds), depth)
        return f"({text})" if tightness < binding or (tightness < ATOM and self._source.random() < 0.3) else text
