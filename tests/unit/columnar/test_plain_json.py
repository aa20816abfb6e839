import pyarrow as pa
import pytest

from streamshed.columnar.texts.json_texts import JsonTexts
from streamshed.columnar.texts.plain_json import are_plain

SCHEMA = pa.schema([("a", pa.float64()), ("at", pa.timestamp("us", "UTC"))])


def is_sure(text: bytes) -> bool:
    return bool(JsonTexts.of(SCHEMA, {}, "UTC").read(pa.array([text], pa.binary())).is_sure[0])


@pytest.mark.parametrize(
    "text",
    [
        b"",
        b" ",
        b"{",
        b"}",
        b"[{}]",
        b" {}",
        b"{} ",
        b'{"a":\t1}',
        b'{"a":1}\n{}',
        b'{"a":1}\x00{}',
        b'{"b":"\xff"}',
        b'{"b":"\xed\xa0\x80"}',
        b'{"b":NaN}',
        b'{"b":[-Inf]}',
        b'{"b":{"c":-Infinity }}',
        b'{"a":' + b"1" * 1001 + b"}",
        b'{"b":0.' + b"1" * 1001 + b"}",
        b'{"b":' + b"[" * 1000 + b"]" * 1000 + b"}",
        b'{"' + b"n" * 50_001 + b'":1}',
    ],
)
def test_other_texts_are_not(text: bytes) -> None:
    """Alone, and between texts that are plain."""
    assert are_plain(pa.array([b"{}", text, '{"ä":"NaN"}'.encode()], pa.binary())).tolist() == [True, False, True]
    assert not is_sure(text)


@pytest.mark.parametrize(
    "text",
    [
        b"{}",
        '{"b":"ä日😀"}'.encode(),
        rb'{"b":"\ud83d\ude00\u0000\n"}',
        b'{"b":"NaN","Infinity":"Inf"}',
        b'{"b":"' + b"word " * 1000 + b'"}',
        b'{"b":' + b"[" * 900 + b"]" * 900 + b"}",
        b'{"a":' + b"1" * 300 + b"}",
    ],
)
def test_these_are(text: bytes) -> None:
    assert are_plain(pa.array([None, text, b"x"])).tolist() == [False, True, False]
    assert is_sure(text)


def test_texts_do_not_complete_each_other() -> None:
    """Three lines that are three objects, but not one each."""
    texts = pa.array(['{"a":1,"b":', '{"a":2}}', '{"a":3}{"a":4}'])
    assert not JsonTexts.of(SCHEMA, {}, "UTC").read(texts).is_sure.any()


@pytest.mark.parametrize(
    "text",
    [
        *("2024-01-01", "2024-01-01T00", "2024-01-01 00:00", "2024-01-01T00:00+01:00", "2024-01-01T00+0100:00Z"),
        *("2024-01-01T00:00:00.", "2024-01-01T00:00:00.1234567", "2024-01-01T00:00:00+01", "2024-01-01T00:00:00+0100"),
        *("2024-01-01T00:00:00+18:00", "2024-01-01T00:00:00-23:00", "2024-01-01T00:00:00+01:60", "2024-01-01T00:00:60"),
        *("2024-02-30T00:00:00Z", "2024-01-01T24:00:00", "2024-01-01T00:00:00z", " 2024-01-01T00:00:00", ""),
    ],
)
def test_of_times_in_other_forms_nobody_is_sure(text: str) -> None:
    assert not is_sure(f'{{"at":"{text}"}}'.encode())


@pytest.mark.parametrize("number", ["1e-308", "2.2250738585072012e-308", "4.9e-324", "-0", "1e400", '"NaN"'])
def test_of_doubles_that_java_reads_in_its_own_way_nobody_is_sure(number: str) -> None:
    assert not is_sure(f'{{"a":{number}}}'.encode())
