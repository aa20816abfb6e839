"""Lines of CSV from a seed: ordinary ones, ones that are odd in one value, and nonsense."""

from __future__ import annotations

import random
from collections.abc import Callable, Mapping

Value = Callable[[random.Random], str]

_LIMITS = {"tinyint": 7, "smallint": 15, "int": 31, "bigint": 63}
_FRACTIONS = ("", ".1", ".12", ".123", ".1234", ".12345", ".123456")
_ZONES = ("", "Z", "+00:00", "+01:00", "-05:30", "+17:59", "-00:00")
_WORDS = ("a", "10.0.0.1", "two words", " before", "behind ", "null", "NaN", "ä", "日本", "😀", "{}", "#x", "it's", "1")


def _integer(bits: int) -> Value:
    def text(rng: random.Random) -> str:
        most = min(2**bits, 10**18)
        return str(rng.choice((0, 1, -1, most - 1, 1 - most, rng.randrange(1 - most, most))))

    return text


def _fraction(rng: random.Random) -> str:
    return rng.choice(("0", "0.5", "1.25", "16777216", "-3.75", f"{rng.uniform(-1e6, 1e6):.4f}", f"{rng.random():.9f}"))


def _date(rng: random.Random) -> str:
    return f"{rng.choice((1, 1582, 1899, 1970, 2024, 9999)):04}-{rng.randrange(1, 13):02}-{rng.randrange(1, 29):02}"


def _timestamp(rng: random.Random) -> str:
    clock = f"{rng.randrange(24):02}:{rng.randrange(60):02}:{rng.randrange(60):02}"
    return f"{_date(rng)}{rng.choice('T ')}{clock}{rng.choice(_FRACTIONS)}{rng.choice(_ZONES)}"


ORDINARY: Mapping[str, Value] = {
    "boolean": lambda rng: rng.choice(("true", "false")),
    **{name: _integer(bits) for name, bits in _LIMITS.items()},
    "float": lambda rng: rng.choice(("0", "1.5", "-2.25", "16777216", "0.75")),
    "double": _fraction,
    "string": lambda rng: rng.choice(_WORDS) + rng.choice(("", "", rng.choice(_WORDS))),
    "date": _date,
    "timestamp": _timestamp,
}
"""By Spark's name for a type, plain values of it."""

ODD = (
    *(
        "",
        " ",
        "  ",
        "\t",
        "-",
        "+",
        ".",
        "NA",
        "null",
        "NULL",
        "nan",
        "NaN",
        "Inf",
        "-Inf",
        "Infinity",
        "true",
        "TRUE",
    ),
    *("True", "tRuE", "t", "1", "0", "00", "007", "-0", "-0.0", "+5", " 5", "5 ", "5L", "5d", "1.5f", "1e3", "1E-400"),
    *("1e400", "0x10", "0x1p3", "1_000", "1,000", "1.", ".5", "-.5", "5.0", "127", "128", "-128", "-129", "32768"),
    *("2147483647", "2147483648", "-2147483649", "9223372036854775807", "9223372036854775808", "123456789012345678901"),
    *("0.1", "3.4028235e38", "1e39", "1e-46", "16777217", "0.30000000000000004", "2.2250738585072012e-308", "4.9e-324"),
    *("2024-01-01", "2024-1-1", "2024-13-01", "2024-02-30", "0000-01-01", "10000-01-01", "-2024-01-01", "20240101"),
    *("2024-01-01T00:00:00Z", "2024-01-01 0:0:0", "2024-01-01T00", "2024-01-01T24:00:00", "2024-01-01T00:00:60Z"),
    *("2024-01-01T00:00:00.1234567Z", "2024-01-01T00:00:00 UTC", "2024-01-01T00:00:00 Europe/Berlin", "T00:00:00"),
    *("2024-01-01T00:00:00+18:01", "2024-01-01T00:00:00+1", "2024-01-01T00:00:00,5Z", "epoch", "now", "today", "1970"),
    *('"', '""', '"a"', '" a "', '"a', 'a"', 'a"b', '"a"b', '"a""b"', '"a\\"b"', '"a,b"', '"a;b"', '"5"', '"1.5"'),
    *('"true"', '"NA"', '"2024-01-01"', '"2024-01-01T00:00:00Z"', ' "a"', '"a" ', '"\\\\"', '"a\\', '"""a"""', '"#"'),
    *("\\", "a\\b", "\\N", "\\t", "a\\,b", "\x00", "\x01a", "a\x7f", "\u00a0", "\ufeff", "a\u2028b", "'a'", "#", "# a"),
    *(",", ",,", ";", "a,b", "|"),
)
"""Values that readers may take in different ways, or that are none."""


def ordinary_line(columns: Mapping[str, str], rng: random.Random, separator: str = ",") -> str:
    """A line of plain values and nothing; some of them are quoted."""
    values = []
    for kind in columns.values():
        value = ORDINARY[kind](rng) if rng.random() < 0.9 else ""
        is_quoted = value and rng.random() < 0.1
        values.append(f'"{value}"' if is_quoted else value)
    return separator.join(values)


def odd_line(columns: Mapping[str, str], rng: random.Random, separator: str = ",") -> bytes:
    """A line with odd values, or of another number of them, or with any bytes."""
    values = [rng.choice(ODD) if rng.random() < 0.3 else ORDINARY[kind](rng) for kind in columns.values()]
    chance = rng.random()
    if chance < 0.1:
        values = values[: rng.randrange(len(values) + 1)]
    elif chance < 0.2:
        values.insert(rng.randrange(len(values) + 1), rng.choice(ODD))
    line = separator.join(values).encode()
    if chance > 0.95:
        place = rng.randrange(len(line) + 1)
        line = line[:place] + rng.choice((b"\xff", b"\xc3", b"\xed\xa0\x80", b"\xf4\x90\x80\x80")) + line[place:]
    return line.replace(b"\n", b" ").replace(b"\r", b" ")
