import itertools

import numpy as np
import pyarrow as pa
import pytest

from streamshed.columnar.texts.layout import Layout
from streamshed.columnar.texts.letters import MARGIN, Letters, letters_of


def letters(*texts: bytes) -> Letters:
    return Letters.of(*letters_of(pa.array(texts, pa.binary())))


def values(layout: Layout, *texts: bytes) -> dict[int, list[str]]:
    """By number of the text, its values."""
    some = letters(*texts)
    numbers, stretches = layout.stretches(some, np.arange(len(texts)))
    columns = [some.strings(column).to_pylist() for column in stretches]
    return {int(number): [column[k] for column in columns] for k, number in enumerate(numbers)}


def layout_of(text: bytes) -> Layout:
    layout = Layout.of(text)
    assert layout is not None
    return layout


@pytest.mark.parametrize(
    "text",
    [
        b"",
        b"[]",
        b"1",
        b"{",
        b"}",
        b"{}x",
        b"{,}",
        b'{"a"}',
        b'{"a":}',
        b'{"a":1',
        b'{"a":1,}',
        b'{"a":1"}',
        b'{"a":"x"',
        b'{"a":"x}',
        b'{"a":"x""}',
        b'{"a":1 2}',
        b'{"a":1}}',
        b'{"a":1} ',
        b' {"a":1}',
        b'{"a":{}}',
        b'{"a":[1]}',
        b'{"a":1,"b":{}}',
        b'{"a":1 "b":2}',
        b'{"a":1,,"b":2}',
        b'{"a":1;"b":2}',
        b"{a:1}",
        b"{'a':1}",
        b'{"a":1,"a":2}',
        b'{"a":1,"b":"","a":"x"}',
        rb'{"\u0061":1}',
        rb'{"a":"\n"}',
        b'{"a":1,"' + b"b" * 300 + b'":2}',
    ],
)
def test_what_has_no_layout(text: bytes) -> None:
    assert Layout.of(text) is None


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (b"{}", []),
        (b"{ }", []),
        (b'{"a":""}', [""]),
        (b'{"a":"x"}', ["x"]),
        (b'{"a":1}', ["1"]),
        (b'{ "a" : 1 , "b" : "x y" }', ["1", "x y"]),
        (b'{"a": "x", "b": "y", "c": null}', ["x", "y", "null"]),
        ('{"ä":"日","":"{}[]:,"}'.encode(), ["日", "{}[]:,"]),
        (b'{"' + b"n" * 200 + b'":1}', ["1"]),
    ],
)
def test_a_text_has_its_own(text: bytes, expected: list[str]) -> None:
    """Alone, and among others."""
    layout = layout_of(text)
    assert values(layout, text) == {0: expected}
    assert values(layout, b'{"', text, b'"}', b"", text + b" ", b" " + text, text[1:], text[:-1]) == {1: expected}


def test_what_differs_in_a_letter_between_values_has_another() -> None:
    text = b'{"name":"x","number":1,"b":"y"}'
    layout = layout_of(text)
    of_values = {text.index(b"x"), text.index(b"1"), text.index(b"y")}
    for place in range(len(text)):
        other = text[:place] + b"?" + text[place + 1 :]
        assert bool(values(layout, text, other, text).get(1)) == (place in of_values), other
        assert len(values(layout, text, other, text)) == (3 if place in of_values else 2)


@pytest.mark.parametrize(
    "other",
    [
        b'{"a":1,"b":"x","b":"x"}',
        b'{"a":1,"b":"x"} ',
        b'{"a":1,"b":"x"',
        b'{"a":1,"b":"x"y"}',
        b'{"a":1,"b":x"}',
        b'{"a":"1","b":x}',
        b'{"a":"b":"x","b}',
        b'{"a":1,"b":""}""',
        b'{"b":1,"a":"x"}',
        b'""""""{"a":1,"b":"x"}',
    ],
)
def test_as_many_quotation_marks_are_not_enough(other: bytes) -> None:
    text = b'{"a":1,"b":"x"}'
    assert values(layout_of(text), text, other, text) == {0: ["1", "x"], 2: ["1", "x"]}


@pytest.mark.parametrize(
    ("text", "other"),
    [
        (b'{"a": 1 ,"b":2}', b'{"a": ,"b":2}'),  # both pieces are there, with a blank in common
        (b'{"a": 1 }', b'{"a": }'),
        (b'{"a":1,"b":2}', b'{"a":1,"b":x""}'),  # all pieces are there, and quotation marks are left
        (b'{"a":1,"b":"x"}', b'{"a":1,"b":"x"},"":""}'),
    ],
)
def test_pieces_do_not_overlap_and_leave_no_quotation_mark(text: bytes, other: bytes) -> None:
    assert [*values(layout_of(text), text, other, text)] == [0, 2]


@pytest.mark.parametrize("count", [0, 1, 2, 3])
def test_quotation_marks_are_those_of_their_texts(count: int) -> None:
    for quotes in itertools.product(range(4), repeat=count):
        some = letters(*(b'x"' * number + b"x" for number in quotes))
        assert some.first_quotes.tolist() == [0, *itertools.accumulate(quotes)]


def test_texts_do_not_complete_each_other() -> None:
    text = b'{"a":1,"b":"x"}'
    for place in range(1, len(text)):
        assert not values(layout_of(text), text[:place], text[place:])


def test_at_the_ends_of_all_letters_the_longest_piece_may_be_missing() -> None:
    """What is read beyond them is the margin."""
    text = b'{"' + b"n" * (MARGIN // 2 - 10) + b'":1,"' + b"m" * (MARGIN // 2 - 10) + b'":2}'
    for other in (b'""""', b'"" ""', b'{"":1,"":2}', b'""""' + text[4:], text[:-4] + b'"' * 4):
        assert values(layout_of(text), other, text, other) == {1: ["1", "2"]}
