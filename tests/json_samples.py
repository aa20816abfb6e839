"""Texts of JSON from a seed: ordinary ones, ones that are wrong in one place, and nonsense."""

from __future__ import annotations

import json
import random
import re
from collections.abc import Callable, Mapping

import pyarrow as pa

Value = Callable[[random.Random], str]

_WORDS = ("", "a", "10.0.0.1", "INFO", "NaN", "Infinity", "Info, or", "ä", "日本", "😀", "a}", "{", "[,:", "\x7f")
_ESCAPES = (r"\"", r"\\", r"\/", r"\b\f\n\r\t", r"\u00e4", r"\uD7A3", r"\u0041", r"\u0000", r"\uD83D\ude00", r"\\ud800")
_FRACTIONS = ("", ".1", ".12", ".123", ".1234", ".12345", ".123456")
_ZONES = ("", "Z", "+00:00", "+01:00", "-05:30", "+17:59", "-00:00")
_LIMITS = {"tinyint": 7, "smallint": 15, "int": 31, "bigint": 63}


def _string(rng: random.Random) -> str:
    text = json.dumps(rng.choice(_WORDS) + rng.choice(_WORDS), ensure_ascii=rng.random() < 0.2)
    return text[:-1] + rng.choice(_ESCAPES) + '"' if rng.random() < 0.2 else text


def _integer(bits: int) -> Value:
    def text(rng: random.Random) -> str:
        return str(rng.choice((0, 1, -1, 2**bits - 1, -(2**bits), rng.randrange(-(2**bits), 2**bits))))

    return text


def _double(rng: random.Random) -> str:
    number = rng.choice((0.5, 1.0, rng.random(), rng.uniform(-1e6, 1e6), rng.random() * 10.0 ** rng.randrange(-30, 30)))
    shapes = (
        repr(number),
        f"{number:.3e}",
        f"{number:.3f}",
        f"{number:.25e}".replace("e", "E"),
        str(rng.randrange(10**9)),
    )
    text = rng.choice(shapes)
    return "0.5" if float(text) == 0 else text


def _date(rng: random.Random) -> str:
    return f"{rng.choice((1, 1582, 1899, 1970, 2024, 9999)):04}-{rng.randrange(1, 13):02}-{rng.randrange(1, 29):02}"


def _timestamp(rng: random.Random) -> str:
    clock = f"{rng.randrange(24):02}:{rng.randrange(60):02}:{rng.randrange(60):02}"
    return f'"{_date(rng)}{rng.choice("T ")}{clock}{rng.choice(_FRACTIONS)}{rng.choice(_ZONES)}"'


ORDINARY: Mapping[str, Value] = {
    "boolean": lambda rng: rng.choice(("true", "false")),
    **{name: _integer(bits) for name, bits in _LIMITS.items()},
    "float": lambda rng: rng.choice(("0", "1.5", "-2.25e3", "16777216", "0.1", str(rng.random()))),
    "double": _double,
    "string": _string,
    "date": lambda rng: f'"{_date(rng)}"',
    "timestamp": _timestamp,
}
"""Values of Spark's types as JSON, which nobody reads in two ways."""

_ODD_VALUES = (
    *(
        "-0",
        "-0.0",
        "0.0",
        "1.0",
        "1.",
        ".5",
        "+1",
        "01",
        "-",
        "1e5",
        "1E-400",
        "1e400",
        "-1e400",
        "1e39",
        "3.5e38",
        "1e-46",
    ),
    *(
        "4.9e-324",
        "2.2250738585072012e-308",
        "1.17549435e-38",
        "1.00000005960464477539062500001",
        "1.000000059604644775390625",
    ),
    *("128", "-129", "255", "256", "32768", "-32769", "2147483648", "9223372036854775807", "9223372036854775808"),
    *(
        "16777217",
        "9007199254740993",
        "18446744073709551616",
        "123456789012345678901234567890",
        "1" * 400,
        "0." + "3" * 400,
    ),
    *(
        "NaN",
        "-NaN",
        "Inf",
        "-Inf",
        "Infinity",
        "-Infinity",
        "+Infinity",
        "INF",
        "-INF",
        "nan",
        "True",
        "TRUE",
        "nil",
        "nul",
    ),
    *(
        '"NaN"',
        '"INF"',
        '"Infinity"',
        '"-Infinity"',
        '"1"',
        '"true"',
        '"null"',
        '""',
        '" "',
        "true",
        "1",
        "null",
        "{}",
        "[]",
    ),
    *(
        '{"a": 1, "i": 2}',
        "[1, 2]",
        "[1, ]",
        "[NaN]",
        '{"x": Inf }',
        '["Inf"]',
        "'x'",
        "x",
        '"\\x"',
        '"\\u12"',
        '"\\ud800"',
    ),
    *(
        '"\\ud83d\\ude00"',
        '"\\udc00x"',
        '"\\\\ud800"',
        '"a\tb"',
        '"a\nb"',
        '"a\x00b"',
        '"/* */"',
        "1 /* one */",
        "1 // one",
    ),
    *('"2024-01-01"', '"2024-01-01T00"', '"2024-01-01T00:00"', '"2024-01-01 00:00Z"', '"2024-01-01T000000"', '"2024"'),
    *(
        '"2024-01-01T00:00:00."',
        '"2024-01-01T00:00:00.1234567"',
        '"2024-01-01T00:00:00+01"',
        '"2024-01-01T00:00:00+0100"',
    ),
    *(
        '"2024-01-01T00:00:00+18:00"',
        '"2024-01-01T00:00:00-18:01"',
        '"2024-01-01T00:00:00+23:00"',
        '"2024-01-01T00:00:60Z"',
    ),
    *(
        '"2024-01-01T24:00:00Z"',
        '"2024-02-30T00:00:00Z"',
        '"2024-01-01t00:00:00z"',
        '"2024-01-01T00:00:00 Z"',
        '"12:00:00"',
    ),
    *(
        '" 2024-01-01T00:00:00Z"',
        '"2024-01-01T00:00:00Z "',
        '"2024-1-1"',
        '"2024-1-1T1:2:3"',
        '"0000-01-01"',
        '"12024-01-01"',
    ),
    *(
        '"0000-01-01T00:00:00Z"',
        '"2024-01-01T00:00:00 UTC"',
        '"2024-01-01T00:00:00Europe/Berlin"',
        '"2024-01-01T00:00:00+1:00"',
    ),
    *(
        '"2024-13-01"',
        '"2024-02-30"',
        '"+2024-01-01"',
        '"-001-01-01"',
        '"2024-01-01T00:00:00+01:60"',
        '"2024-01-01T00:00+01:00"',
    ),
    *(
        '"2024-01-01T00:00:00+01:00Z"',
        '"2024-01-01T00:00:00.5-01:00"',
        '"2024-01-01T::::::::Z"',
        '"1704067200"',
        "1704067200",
    ),
    *(
        '"2024-03-31T02:30:00"',
        '"2024-01-01 00:00:00.000001"',
        '"2024-01-01  0:00:00"',
        '"2024-01-01T-1:00:00"',
        '"20240101"',
    ),
)

_ODD_NUMBERS = (
    *("", "-", "--1", "+1", "00", "01", "-01", "-0", "-0.0", "0.", ".", "1.", ".5", "-.5", "1-", "1.2.3", "..", "0x1F"),
    *("1_0", "1,2", "1/2", "1:2", "1;2", "@1", "p1", "1 ", " 1", "1 2", "1e5", "1E+5", "1e", "0e0", "٣", "NaN", "Inf"),
    *("tru", "truefalse", "falsy", "True", "nul", "nulll", "Null", "nullnull", "null", "true", "false", "{}", "[]"),
    *("9" * digits for digits in (7, 8, 9, 15, 16, 17, 18, 19, 20, 23, 24, 25, 26)),
    *("-" + "9" * digits for digits in (8, 16, 18, 19, 24, 25)),
    *("0." + "7" * digits for digits in (5, 6, 7, 14, 15, 21, 22, 23, 24)),
    *("1234567.", "123456789012345.", "1.2345678.9", "12345678.12345678", "1234567.12345678.1234567", "1..23456789"),
)


def schema_of(columns: Mapping[str, str]) -> pa.Schema:
    """A schema of Spark's types by name, as Arrow has them."""
    types = {
        "boolean": pa.bool_(),
        "tinyint": pa.int8(),
        "smallint": pa.int16(),
        "int": pa.int32(),
        "bigint": pa.int64(),
        "float": pa.float32(),
        "double": pa.float64(),
        "string": pa.string(),
        "date": pa.date32(),
        "timestamp": pa.timestamp("us", "UTC"),
    }
    return pa.schema([(name, types[kind]) for name, kind in columns.items()])


def ordinary_text(columns: Mapping[str, str], rng: random.Random) -> str:
    """An object with values of the columns: most in order, without blanks; some absent, null, among others."""
    members = [(name, ORDINARY[kind](rng)) for name, kind in columns.items()]
    if rng.random() < 0.3:
        members = [(name, "null" if rng.random() < 0.2 else value) for name, value in members if rng.random() < 0.8]
    if rng.random() < 0.3:
        members += [("other", rng.choice(('{"a": [1, {"i": "x"}]}', "[[]]", '"NaN"', "null", '{"i": 1}')))]
    if rng.random() < 0.3:
        rng.shuffle(members)
    blank = rng.choice(("", "", " "))
    body = f",{blank}".join(f"{json.dumps(name)}{blank}:{blank}{value}" for name, value in members)
    return f"{{{blank if not members else ''}{body}}}"


def alike_texts(columns: Mapping[str, str], rng: random.Random, count: int) -> list[bytes]:
    """Objects of one to three layouts: names, order and blanks alike; one in five is odd in one value or byte."""
    layouts = [_layout(columns, rng) for _ in range(rng.choice((1, 1, 2, 3)))]
    return [_alike_text(*rng.choice(layouts), rng) for _ in range(count)]


def _layout(columns: Mapping[str, str], rng: random.Random) -> tuple[Mapping[str, str], str, str]:
    """Members and their types, and what stands between them."""
    members = [(name, kind) for name, kind in columns.items() if rng.random() < (0.05 if set(name) & {*'"\\'} else 0.9)]
    members += [(f"other {kind}", kind) for kind in ("string", "int", "double", "boolean") if rng.random() < 0.1]
    if rng.random() < 0.5:
        rng.shuffle(members)
    return dict(members), rng.choice((":", ": ", " : ")), rng.choice((",", ", "))


def _alike_text(kinds: Mapping[str, str], colon: str, comma: str, rng: random.Random) -> bytes:
    values = {name: "null" if rng.random() < 0.02 else _short_value(kind, rng) for name, kind in kinds.items()}
    is_odd = rng.random() < 0.1
    if is_odd and values:
        name = rng.choice([*values])
        odd = (
            [value for value in _ODD_VALUES if value.startswith('"')] if values[name].startswith('"') else _ODD_NUMBERS
        )
        values[name] = rng.choice(odd)
    body = comma.join(f"{json.dumps(name, ensure_ascii=False)}{colon}{value}" for name, value in values.items())
    text = f"{{{body}}}".encode()
    return _with_odd_bytes(text, rng) if rng.random() < 0.1 else text


def _short_value(kind: str, rng: random.Random) -> str:
    """Mostly without escapes and exponents, of few digits."""
    value = ORDINARY[kind](rng)
    while rng.random() < 0.99 and re.fullmatch(r'"[^\\]*"|true|false|[-.0-9]{1,18}', value) is None:
        value = ORDINARY[kind](rng)
    return value


def _with_odd_value(columns: Mapping[str, str], rng: random.Random) -> bytes:
    name = rng.choice([*columns, "other"])
    rest = {other: kind for other, kind in columns.items() if other != name}
    body = ordinary_text(rest, rng)[1:-1]
    odd = f"{json.dumps(name)}:{rng.choice(_ODD_VALUES)}"
    members = [odd, body] if body.strip() else [odd]
    rng.shuffle(members)
    return ("{" + ",".join(members) + "}").encode()


def _with_odd_frame(columns: Mapping[str, str], rng: random.Random) -> bytes | None:
    text = ordinary_text(columns, rng).encode()
    name = json.dumps(rng.choice([*columns, "other"])).encode()
    deep = rng.choice((10, 400, 990, 998, 999, 1000, 1100))
    odd = (
        None,
        b"",
        b" ",
        b"null",
        b"{",
        b"}",
        b"{}",
        b"[]",
        b"\xef\xbb\xbf" + text,
        b" " + text,
        text + rng.choice((b" ", b"\n", b"\r\n", b"x", b"}", b"{}", b" {}", b"\x00{}", b"//}", b",{}")),
        b"[" + text + b"]",
        text + text,
        text[:-1],
        text[:-1] + b",}",
        text[:-1] + b"," + name + b":null," + name + b":null}",
        text[:-1] + b', "' + name.strip(b'"').upper() + b'": 1}',
        text.replace(b'"', b"'"),
        text.replace(b'"', b""),
        text.replace(b",", b",\n", 1),
        text.replace(b":", b": /* x */", 1),
        text.replace(b"{", b'{"\\u0061":1,'),
        text.replace(b"{", b'{"\\ud800":1,'),
        text[:-1] + b',"deep":' + b"[" * deep + b"]" * deep + b"}",
        text[:-1] + b',"long":' + b"1" * rng.choice((999, 1000, 1001, 1100)) + b"}",
        text[:-1] + b',"' + name.strip(b'"') + b'":' + b"1" * 1001 + b"}",
        text[:-1] + b',"' + b"n" * rng.choice((900, 49_000, 50_001)) + b'":1}' if rng.random() < 0.02 else text,
    )
    return rng.choice(odd)


def _with_odd_bytes(right: bytes, rng: random.Random) -> bytes:
    text = bytearray(right)
    for _ in range(rng.choice((1, 1, 1, 2, 5))):
        place = rng.randrange(len(text))
        byte = rng.choice((rng.randrange(256), rng.choice(b'"{}[]:,\\ 0.-+eEnNI\x00\n\t')))
        match rng.randrange(4):
            case 0:
                text[place] = byte
            case 1:
                text.insert(place, byte)
            case 2:
                del text[place : place + rng.randrange(1, 4)]
            case _:
                other = rng.randrange(len(text))
                text[place], text[other] = text[other], text[place]
        text = text or bytearray(b"{}")
    return bytes(text)


def _nonsense(rng: random.Random) -> bytes:
    if rng.random() < 0.5:
        return b"{" + bytes(rng.randrange(256) for _ in range(rng.randrange(40))) + b"}"
    return b"{" + bytes(rng.choice(b'"ai:,{}[]1.e-\\ ntrue') for _ in range(rng.randrange(20))) + b"}"


def odd_text(columns: Mapping[str, str], rng: random.Random) -> bytes | None:
    """A text that is wrong, or odd, in one place or many."""
    match rng.randrange(8):
        case 0 | 1 | 2:
            return _with_odd_value(columns, rng)
        case 3 | 4:
            return _with_odd_frame(columns, rng)
        case 5 | 6:
            return _with_odd_bytes(ordinary_text(columns, rng).encode(), rng)
        case _:
            return _nonsense(rng)
