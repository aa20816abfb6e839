"""Numbers against the grammar of RFC 8259 as a regular expression, and Python's integers."""

import itertools
import random
import re

import numpy as np
import pyarrow as pa
import pytest

from streamshed.columnar.texts.letters import Letters, Stretches, letters_of
from streamshed.columnar.texts.plain_numbers import are_literal, are_numbers, integers

NUMBER = re.compile(rb"(-?)((?:0|[1-9][0-9]*)(\.[0-9]+)?)")


def stretches_of(texts: list[bytes]) -> tuple[Letters, Stretches]:
    letters = Letters.of(*letters_of(pa.array(texts, pa.binary())))
    return letters, Stretches(letters.starts, letters.stops)


def assert_as_written(texts: list[bytes]) -> None:
    some = stretches_of(texts)
    values, are_integers = integers(*some)
    matches = [NUMBER.fullmatch(text) for text in texts]
    expected = [match is not None and match[3] is None and len(match[2]) <= 18 for match in matches]
    assert [text for text, a, b in zip(texts, are_integers, expected, strict=True) if a != b] == []
    assert values[are_integers].tolist() == [int(text) for text, right in zip(texts, expected, strict=True) if right]
    numbers = [match is not None and len(match[2]) <= 24 for match in matches]
    assert [text for text, a, b in zip(texts, are_numbers(*some), numbers, strict=True) if a != b] == []


@pytest.mark.parametrize("length", [1, 2, 3, 4, 5])
def test_short_texts_are_what_the_grammar_says(length: int) -> None:
    assert_as_written([bytes(letters) for letters in itertools.product(b"019-./:e", repeat=length)])


def test_each_letter_counts_wherever_it_is() -> None:
    """One wrong letter of 256 at each place of a number of each length."""
    for length in range(1, 27):
        right = [b"1234567890123456789012345678"[:length], (b"0.12345678901234567890123456")[:length]]
        texts = [
            text[:place] + bytes([letter]) + text[place + 1 :]
            for text in right
            for place in range(length)
            for letter in range(256)
        ]
        assert_as_written(texts)


def test_long_numbers_are_what_the_grammar_says() -> None:
    rng = random.Random(5)
    texts = []
    for _ in range(5000):
        text = "".join(rng.choices("0123456789", k=rng.randrange(30)))
        for _ in range(rng.choice((0, 0, 1, 1, 2))):
            place = rng.randrange(len(text) + 1)
            text = text[:place] + "." + text[place:]
        texts.append((rng.choice(("", "", "-")) + text).encode())
    assert_as_written(texts)


def test_the_largest_and_the_smallest_are_theirs() -> None:
    values, are_integers = integers(*stretches_of([b"999999999999999999", b"-999999999999999999", b"0", b"-0"]))
    assert values.tolist() == [10**18 - 1, 1 - 10**18, 0, 0]
    assert are_integers.all()


@pytest.mark.parametrize("literal", [b"null", b"true", b"false"])
def test_literals_are_whole(literal: bytes) -> None:
    others = [literal[:-1], literal[1:], literal + b" ", literal + literal, literal.upper(), b"", b"x" * len(literal)]
    assert are_literal(*stretches_of([literal, *others, literal]), literal).tolist() == [True, *[False] * 7, True]


def test_there_may_be_none() -> None:
    none = stretches_of([])
    assert len(integers(*none)[0]) == len(are_numbers(*none)) == 0
    assert np.zeros(0).tolist() == none[0].strings(none[1]).to_pylist()
