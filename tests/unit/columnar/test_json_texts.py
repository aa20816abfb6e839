import json
import pickle
from collections.abc import Mapping

import numpy as np
import pyarrow as pa
import pytest

from streamshed.columnar.texts.json_texts import JsonTexts
from streamshed.columnar.texts.parsed_texts import ParsedTexts
from streamshed.columnar.untranslatable import Untranslatable

FLOATS = pa.schema([("f", pa.float32())])
PACKETS = pa.schema([("host", pa.string()), ("size", pa.int32()), ("at", pa.timestamp("us", "UTC"))])


def read(texts: list[str | None], schema: pa.Schema = PACKETS, time_zone: str = "UTC") -> ParsedTexts:
    return JsonTexts.of(schema, {}, time_zone).read(pa.array(texts, pa.string()))


def packet(size: object, **others: object) -> str:
    return json.dumps({"host": "a", "size": size, "at": "2024-01-01T00:00:00Z", **others})


@pytest.mark.parametrize("others", [{}, {"tags": []}])
def test_texts_of_another_type_leave_the_others_sure(others: Mapping[str, object]) -> None:
    """Arrow's reader, which reads those of no layout, fails as a whole."""
    wrong: tuple[object, ...] = ("12", 1.5, True, {}, [1], 10**30, 2**31)
    texts = [packet(wrong[k % len(wrong)] if k % 10 == 3 else k, **others) for k in range(3000)]
    parsed = read([*texts])
    assert parsed.is_sure.tolist() == [k % 10 != 3 for k in range(3000)]
    assert parsed.columns["size"].to_pylist() == [None if k % 10 == 3 else k for k in range(3000)]
    assert parsed.columns["host"].null_count == 300


@pytest.mark.parametrize(("others", "most"), [({}, 1), ({"tags": []}, 128)])
def test_what_cannot_be_told_beforehand_costs_its_neighbors_only(others: Mapping[str, object], most: int) -> None:
    """Where texts have a layout, not even these."""
    texts: list[str | None] = [packet(k, **others) for k in range(5000)]
    texts[2000] = "{'host': 'a'}"
    texts[4000] = '{"size": 1}{"size": 2}'
    unsure = np.flatnonzero(~read(texts).is_sure)
    assert {2000, 4000} <= set(unsure)
    assert len(unsure) <= 2 * most


def test_many_texts_are_as_many_rows() -> None:
    texts = pa.array([packet(k) for k in range(70_000)])
    parsed = JsonTexts.of(PACKETS, {}, "UTC").read(texts)
    assert parsed.is_sure.all()
    assert parsed.columns["size"].to_pylist() == [*range(70_000)]


def test_texts_of_several_layouts_and_of_none_are_read_in_their_order() -> None:
    shapes: tuple[Mapping[str, object], ...] = ({}, {"n": 1}, {"s": "x"}, {"tags": [1]}, {"s": "\n"})
    texts = [packet(k, **shapes[k * k % 11 % len(shapes)]) for k in range(2000)]
    parsed = read([*texts])
    assert parsed.is_sure.all()
    assert parsed.columns["size"].to_pylist() == [*range(2000)]


def test_after_a_trial_that_brings_little_nothing_is_read() -> None:
    reader = JsonTexts.of(PACKETS, {}, "UTC")
    right = pa.array([packet(k) for k in range(100)])
    wrong = pa.array([packet(str(k)) for k in range(10_000)])
    assert reader.read(right).is_sure.all()
    assert not reader.read(wrong).is_sure.any()
    assert not reader.read(right).is_sure.any()
    assert JsonTexts.of(PACKETS, {}, "UTC").read(right).is_sure.all()


@pytest.mark.parametrize(
    ("text", "number"),
    [
        ("0.1", np.float32(0.1)),
        ("-0.0", None),
        ("-0", None),
        ("3e38", None),
        ("1e-40", None),
        ("16777217", None),  # amid 16777216 and 16777218
        ("1.00000005960464477539062500001", None),  # rounded twice 1, rounded at once 1.0000001
        ("1.0000001", np.float32(1.0000001)),
    ],
)
def test_floats_are_sure_where_rounding_twice_is_rounding(text: str, number: float | None) -> None:
    parsed = read([f'{{"f": {text}}}'], FLOATS)
    assert parsed.columns["f"].to_pylist() == [number]
    assert parsed.is_sure.tolist() == [number is not None]


@pytest.mark.parametrize(
    ("time_zone", "expected"),
    [
        ("UTC", "2024-07-01T12:00:00"),
        ("Etc/UTC", "2024-07-01T12:00:00"),
        ("+02:00", "2024-07-01T10:00:00"),
        ("-09:30", "2024-07-01T21:30:00"),
        ("Europe/Berlin", None),
    ],
)
def test_times_without_a_zone_are_in_that_of_the_session(time_zone: str, expected: str | None) -> None:
    texts: list[str | None] = ['{"at": "2024-07-01 12:00:00"}', '{"at": "2024-07-01T12:00:00+01:00"}', "{}"]
    parsed = read(texts, time_zone=time_zone)
    utc = None if expected is None else np.datetime64(expected, "us").astype(int)
    assert parsed.columns["at"].cast(pa.int64()).to_pylist()[0] == utc
    assert parsed.columns["at"].cast(pa.int64()).to_pylist()[1] == np.datetime64("2024-07-01T11:00:00", "us").astype(
        int
    )
    assert parsed.is_sure.tolist() == [utc is not None, True, True]
    of_options = JsonTexts.of(PACKETS, {"TimeZone": time_zone}, "+12:00").read(pa.array(texts))
    assert of_options.columns.equals(parsed.columns)


def test_columns_that_nobody_needs_must_have_their_types_unless_they_are_strings() -> None:
    texts = pa.array(['{"host": 1, "size": 1}', '{"host": "a", "size": "1"}', '{"at": "x"}', "{}"])
    parsed = JsonTexts.of(PACKETS, {}, "UTC", needed=["size"]).read(texts)
    assert parsed.columns.schema == pa.schema([("size", pa.int32())])
    assert parsed.columns["size"].to_pylist() == [1, None, None, None]
    assert parsed.is_sure.tolist() == [True, False, False, True]


def test_of_columns_that_nobody_needs_texts_are_read_all_the_same() -> None:
    schema = pa.schema([("host", pa.string())])
    parsed = JsonTexts.of(schema, {}, "UTC", needed=[]).read(pa.array(["{}", '{"host": 1', "{,}", '{"host": "a"}']))
    assert parsed.columns.num_columns == 0
    assert parsed.columns.num_rows == 4
    assert not parsed.is_sure[[1, 2]].any()
    for count in (3, 70_000):
        many = JsonTexts.of(schema, {}, "UTC", needed=[]).read(pa.array(["{}"] * count))
        assert many.columns.num_rows == len(many.is_sure) == count


@pytest.mark.parametrize("texts", [[], [None], ["", None], ["{}"], ["{}", None]])
def test_there_are_as_many_rows_as_texts(texts: list[str | None]) -> None:
    for kind in (pa.string(), pa.binary(), pa.large_string()):
        parsed = JsonTexts.of(PACKETS, {}, "UTC").read(pa.array(texts, kind))
        assert parsed.columns.schema == PACKETS
        assert parsed.columns.num_rows == len(texts)
        assert parsed.is_sure.tolist() == [text == "{}" for text in texts]


def test_a_slice_is_read_as_such() -> None:
    texts = pa.array(["x", *(packet(k) for k in range(10)), None])
    parsed = JsonTexts.of(PACKETS, {}, "UTC").read(texts.slice(3, 9))
    assert parsed.columns["size"].to_pylist() == [*range(2, 10), None]


@pytest.mark.parametrize(
    "options",
    [
        {"mode": "permissive"},
        {"allowComments": "true"},
        {"AllowSingleQuotes": "false"},
        {"columnNameOfCorruptRecord": "c"},
    ],
)
def test_options_that_let_more_be_read_change_nothing(options: Mapping[str, str]) -> None:
    texts = pa.array([packet(1), "{'size': 1}", '{"size": 1 /* one */}', "{size: 1}"])
    parts = [JsonTexts.of(PACKETS, options, "UTC").read(texts.slice(k, 1)).is_sure[0] for k in range(4)]
    assert parts == [True, False, False, False]


@pytest.mark.parametrize(
    ("options", "says"),
    [
        ({"timestampFormat": "yyyy"}, 'the option "timestampFormat" of JSON texts is for Spark'),
        ({"mode": "FAILFAST"}, 'the option "mode" of JSON texts is for Spark'),
        ({"columnNameOfCorruptRecord": "host"}, 'the option "columnNameOfCorruptRecord" of JSON texts is for Spark'),
    ],
)
def test_other_options_are_sparks(options: Mapping[str, str], says: str) -> None:
    with pytest.raises(Untranslatable) as raised:
        JsonTexts.of(PACKETS, options, "UTC")
    assert str(raised.value) == says


@pytest.mark.parametrize(
    "kind",
    [pa.decimal128(10, 2), pa.list_(pa.int32()), pa.binary(), pa.timestamp("us"), pa.timestamp("ns", "UTC"), pa.null()],
)
def test_other_types_are_sparks(kind: pa.DataType) -> None:
    with pytest.raises(Untranslatable, match=r'^column "x" of JSON texts has the type '):
        JsonTexts.of(pa.schema([("x", kind)]), {}, "UTC")


def test_a_reader_goes_to_tasks() -> None:
    reader = pickle.loads(pickle.dumps(JsonTexts.of(PACKETS, {}, "UTC")))
    assert reader.read(pa.array([packet(1)])).is_sure.all()
