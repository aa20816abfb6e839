import json
from collections.abc import Sequence
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

from streamshed.columnar.texts.json_layouts import JsonLayouts

SCHEMA = pa.schema([("host", pa.string()), ("size", pa.int64()), ("share", pa.float64()), ("on", pa.bool_())])


def read(layouts: JsonLayouts, texts: Sequence[str | None]) -> dict[int, dict[str, Any]]:
    """By number of the text, its row."""
    array = pa.array([None if text is None else text.encode() for text in texts], pa.binary())
    parts = layouts.read(array, array.is_valid().to_numpy(zero_copy_only=False))
    pairs = [(int(text), row) for part in parts for text, row in zip(part.texts, part.columns.to_pylist(), strict=True)]
    assert len(dict(pairs)) == len(pairs)
    return dict(sorted(pairs))


def row(number: int) -> dict[str, Any]:
    return {"host": f"h{number}", "size": -number, "share": number / 8, "on": number % 2 == 0}


def rows(count: int) -> list[dict[str, Any]]:
    return [row(number) for number in range(count)]


def test_values_are_those_of_the_texts() -> None:
    for separators in ((",", ":"), (", ", ": "), (",", " :  ")):
        texts = [json.dumps(some, separators=separators) for some in rows(500)]
        assert read(JsonLayouts(SCHEMA), texts) == dict(enumerate(rows(500)))


@pytest.mark.parametrize("name", ["host", "size", "share", "on"])
def test_null_is_a_value_of_numbers_and_booleans_but_a_layout_of_strings(name: str) -> None:
    expected = [some | {name: None} if number % 3 == 0 else some for number, some in enumerate(rows(300))]
    assert read(JsonLayouts(SCHEMA), [json.dumps(some) for some in expected]) == dict(enumerate(expected))


def test_of_names_that_are_missing_values_are_null_and_others_are_skipped() -> None:
    texts = [json.dumps({"x": 1.5, "size": number, "y": "z", "z": None, "b": True}) for number in range(99)]
    nothing = {"host": None, "share": None, "on": None}
    assert read(JsonLayouts(SCHEMA), texts) == {number: nothing | {"size": number} for number in range(99)}


@pytest.mark.parametrize("value", ["01", "1.", ".5", "+1", "1e5", "-", "x", "'x'", "NaN", "tru", "1 2", ""])
@pytest.mark.parametrize("name", ["x", "share"])
def test_what_is_no_plain_value_is_left_and_costs_its_neighbors_nothing(name: str, value: str) -> None:
    texts = [f'{{"size":{number},"{name}":0.5,"on":true}}' for number in range(100)]
    texts[40] = texts[40].replace("0.5", value)
    assert [*read(JsonLayouts(SCHEMA), texts)] == [*range(40), *range(41, 100)]


@pytest.mark.parametrize(
    ("name", "value"),
    [
        *(("host", value) for value in ("1", "true", r'"\n"', r'"\""', "{}")),
        *(("size", value) for value in ('"1"', "1.0", "true", "1234567890123456789")),
        *(("share", value) for value in ('"1"', "true", "0.12345678901234567890123")),
        *(("on", value) for value in ('"true"', "1", "0", "falsy")),
    ],
)
def test_what_has_another_type_is_left(name: str, value: str) -> None:
    texts = [json.dumps(some) for some in rows(100)]
    value_of_40 = json.dumps(row(40)[name])
    texts[40] = texts[40].replace(f'"{name}": {value_of_40}', f'"{name}": {value}')
    assert [*read(JsonLayouts(SCHEMA), texts)] == [*range(40), *range(41, 100)]
    assert read(JsonLayouts(SCHEMA), [texts[40]] * 9) == {}


def test_several_layouts_are_learned_and_the_most_frequent_are_kept() -> None:
    shapes = (("host", "size"), ("size", "host"), ("size",), ("on", "size"), ("share", "size"), ("size", "share"))
    texts = [json.dumps({name: row(k)[name] for name in shapes[min(k % 16, 5)]}) for k in range(1600)]
    # The sixth shape has eleven of sixteen texts, the others one each: too few.
    assert [*read(JsonLayouts(SCHEMA), texts)] == [k for k in range(1600) if k % 16 >= 5]
    texts = [json.dumps({name: row(k)[name] for name in shapes[k // 7 % 3]}) for k in range(2100)]
    assert len(read(JsonLayouts(SCHEMA), texts)) == 2100


def test_a_reader_learns_anew_when_texts_change() -> None:
    layouts = JsonLayouts(SCHEMA)
    before, after = ['{"size":1}'] * 30_000, ['{"size":1,"version":2}'] * 30_000
    assert [len(read(layouts, before)), len(read(layouts, after))] == [30_000, 0]
    assert [len(read(layouts, after)) for _ in range(3)][-1] == 30_000


def test_layouts_whose_values_are_not_plain_are_not_learned() -> None:
    layouts = JsonLayouts(SCHEMA)
    texts = ['{"share":1e5}', '{"size":1.5}'] * 100
    assert read(layouts, texts) == {}
    assert layouts.layouts == ()


@pytest.mark.parametrize("texts", [[], [None], ["{}"], [None, "{}", None], ["[]"]])
def test_there_may_be_none(texts: list[str | None]) -> None:
    nothing = dict.fromkeys(SCHEMA.names)
    assert read(JsonLayouts(SCHEMA), texts) == {k: nothing for k, text in enumerate(texts) if text == "{}"}


def test_only_plain_texts_are_looked_at_also_in_a_slice() -> None:
    texts = pa.array([b'{"size":%d}' % k for k in range(10)], pa.binary()).slice(2, 6)
    [part] = JsonLayouts(SCHEMA).read(texts, np.array([True, False, True, True, False, True]))
    assert part.texts.tolist() == [0, 2, 3, 5]
    assert part.columns["size"].to_pylist() == [2, 4, 5, 7]
