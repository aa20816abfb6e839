"""A table of rows with the odd values of every type, to evaluate expressions on."""

from __future__ import annotations

import random
from decimal import Decimal

import pyarrow as pa

ROWS = 60
_MICROS = 1_000_000
_HALF_YEAR = 182 * 86_400 * _MICROS
_DST_EDGES = (
    1_711_846_800,  # 2024-03-31T01:00:00Z: Berlin's clocks go forward
    1_729_990_800,  # 2024-10-27T01:00:00Z: and back
    1_710_054_000,  # 2024-03-10T07:00:00Z: New York's go forward
    1_730_613_600,  # 2024-11-03T06:00:00Z: and back
    1_728_142_200,  # 2024-10-05T15:30:00Z: Lord Howe's go forward by half an hour
    1_541_300_400,  # 2018-11-04T03:00:00Z: São Paulo's midnight is skipped
)
_INSTANTS = [
    0,
    -1,
    1,
    -62_135_596_800 * _MICROS,  # 0001-01-01
    -12_219_292_800 * _MICROS - 1,  # the last moment before the Gregorian calendar
    -2_208_988_800 * _MICROS + 7,
    253_402_300_799 * _MICROS + 999_999,
    1_709_164_800 * _MICROS,  # 2024-02-29
    1_735_689_599_999_999,
    2_200_000_000 * _MICROS,
    *(edge * _MICROS + shift for edge in _DST_EDGES for shift in (-1, 0, 1_800 * _MICROS)),
]
_DAYS = [0, -1, 1, -719_162, 2_932_896, -141_428, -141_427, 19_782, 19_813, 20_023, 17_839, 18_993, 11_016, -25_567]
_TEXTS = [
    *(
        "",
        " ",
        "a",
        "A",
        "abc",
        " abc ",
        "Abc%d_e",
        "ab\ncd",
        "a_b",
        "a%b",
        "tcp",
        "TCP",
        "\t",
        "ÄÖ",
        "ß",
        "éa",
        "日本語",
    ),
    *("😀a", "e\u0301", "İ", "ς", "zz" * 40, "abcabc", "ab", "b", "ba", "'", "a.b*c", "x" * 300, "\x00a", "true", "no"),
    *("abc\n", "abc\r\n", "c\u2028", "a\x85c", "c\n\n"),
]
_NUMERALS = [
    *("0", "1", "-1", "+5", " 7 ", "007", "127", "128", "-128", "32768", "2147483647", "2147483648", "-2147483648"),
    *("9223372036854775807", "9223372036854775808", "1.5", "-0", "1e3", "0x10", "0X1f", "abc", "", "1.", ".5", "1e400"),
    *("NaN", "inf", "1f", "1d", "1_000", "12a", "--1", "+", "t", "Yes", "FALSE", "0.1", "123456789012345678.125"),
]
_TIMES = [
    *("2024-02-29", "2023-02-29", "2024-2-9", "1969-12-31", "0001-01-01", "9999-12-31", "2024-02-29 12:34:56"),
    *("2024-02-29T12:34:56Z", "2024-02-29T12:34:56.789", "2024-03-31 02:30:00", "2024-10-27 02:30:00", "2024"),
    *("2024-02-29T12:34:56.1234567Z", "2024-02-29 12:34:56+01:00", " 2024-02-29 ", "x", "", "2024-02-29 24:00:00"),
    *(
        "2024-02-29T12:34:56ZZ",
        "0000-01-01",
        "2024-02-29T12:34:56.5Z",
        "2024-02-29T12:34Z",
        "2024-02-29T12:34:56.Z",
        "2024-13-01",
        "12:34:56",
        "1500-01-01",
        "1582-10-10",
        "2024-02-29 12:34",
    ),
]
_DOUBLES = [
    *(0.0, -0.0, float("nan"), float("inf"), float("-inf"), 5e-324, -5e-324, 2.2e-308, 1.7976931348623157e308, 1.5),
    *(-1.5, 0.1, 1.0, -1.0, 2.5, 127.9, 128.0, 2147483647.0, 2147483648.0, -2147483649.0, 9.223372036854776e18),
    *(-9.223372036854776e18, 9.22337203685477e18, 1e19, 16777217.0, 9007199254740993.0, 3.0, 80.0, 443.0),
]


def _integers(bits: int) -> list[int]:
    limit = 1 << (bits - 1)
    near = [-limit, -limit + 1, limit - 1, limit - 2, limit // 2, -limit // 2]
    return [*near, 0, 1, -1, 2, 3, -3, 5, 7, 10, 80, 100, *([443, 8080] if bits > 8 else [])]


def _floats() -> list[float]:
    import numpy as np

    with np.errstate(over="ignore"):
        return [
            float(np.float32(value))
            for value in _DOUBLES
            if abs(value) < 1e38 or value in (float("inf"), float("-inf"))
        ] + [
            float("nan"),
            3.4028234663852886e38,
            1.401298464324817e-45,
        ]


def _amounts(unit: str, digits: int) -> list[Decimal]:
    """Decimals of so many digits: the largest, the smallest, and some that others have as well."""
    whole = [0, 1, -1, 10**digits - 1, 1 - 10**digits, 10 ** (digits - 1)]
    return [*(number * Decimal(unit) for number in whole), *(Decimal(text) for text in ("1.5", "80", "-2.25", "1"))]


COLUMNS: dict[str, tuple[pa.DataType, list[object]]] = {
    "t1": (pa.int8(), [*_integers(8)]),
    "t2": (pa.int8(), [*_integers(8)]),
    "s1": (pa.int16(), [*_integers(16)]),
    "i1": (pa.int32(), [*_integers(32)]),
    "i2": (pa.int32(), [*_integers(32)]),
    "l1": (pa.int64(), [*_integers(64), 2**53 + 1]),
    "l2": (pa.int64(), [*_integers(64), -(2**53) - 1]),
    "f1": (pa.float32(), [*_floats()]),
    "d1": (pa.float64(), [*_DOUBLES]),
    "d2": (pa.float64(), [*_DOUBLES]),
    "b1": (pa.bool_(), [True, False]),
    "b2": (pa.bool_(), [True, False]),
    "x1": (pa.string(), [*_TEXTS]),
    "x2": (pa.string(), [*_TEXTS]),
    "numeral": (pa.string(), [*_NUMERALS]),
    "clock": (pa.string(), [*_TIMES]),
    "day1": (pa.date32(), [*_DAYS]),
    "day2": (pa.date32(), [*_DAYS]),
    "ts1": (pa.timestamp("us", "UTC"), [*_INSTANTS]),
    "ts2": (pa.timestamp("us", "UTC"), [*_INSTANTS]),
    "bytes1": (pa.binary(), [b"", b"abc", b"\xff\xfe", "ÄÖ".encode(), b"abc\xc3", b"\x00", b"tcp", b"ab"]),
    "bytes2": (pa.binary(), [b"", b"abc", b"\xff", b"\x7f", b"\x80", b"abd", b"ab"]),
    "money1": (pa.decimal128(10, 2), [*_amounts("0.01", 10)]),
    "money2": (pa.decimal128(10, 2), [*_amounts("0.01", 10)]),
    "share": (pa.decimal128(18, 9), [*_amounts("0.000000001", 18)]),
    "ntz1": (pa.timestamp("us"), [*_INSTANTS]),
}
"""Types and odd values by column."""


def odd_rows(seed: int = 0) -> pa.Table:
    """Rows in which each odd value comes at least once, beside others drawn at random; every seventh is null."""
    source = random.Random(seed)
    return pa.table({name: _column(kind, values, source) for name, (kind, values) in COLUMNS.items()})


def _column(kind: pa.DataType, values: list[object], source: random.Random) -> pa.Array:
    drawn: list[object] = [*values, *source.choices(values, k=ROWS - ROWS // 7 - len(values)), *[None] * (ROWS // 7)]
    source.shuffle(drawn)
    stored = pa.int32() if pa.types.is_date32(kind) else pa.int64() if pa.types.is_timestamp(kind) else kind
    return pa.array(drawn, stored).cast(kind)
