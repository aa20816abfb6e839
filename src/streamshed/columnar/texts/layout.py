"""What texts share that say the same about other values: all but the values."""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import pairwise
from typing import Self

import numpy as np

from streamshed.columnar.texts.letters import MARGIN, Letters, Places, Stretches

_MEMBER = re.compile(rb' *"([^"\\]*)" *: *(?:"([^"\\]*)"|([^][{}:," ]+)) *')


@dataclass(frozen=True, slots=True)
class Slot:
    """Where a value stands in a layout: of which name, and whether between quotation marks."""

    name: str
    is_quoted: bool


@dataclass(frozen=True, slots=True)
class Layout:
    """An object of JSON without its values: its names in their order, and all that stands between values.

    Attributes:
        pieces: The letters before the first value, between two, and behind the last; quotation marks of values among
            them. One more than slots.
        slots: What stands between two pieces. No name is there twice.
    """

    pieces: tuple[bytes, ...]
    slots: tuple[Slot, ...]

    @classmethod
    def of(cls, text: bytes) -> Self | None:
        r"""The layout of a text.

        Args:
            text: UTF-8 without control characters.

        Returns:
            None: it is no object, has an object, an array or a backslash in it, a name twice, or more than 256 letters
            between two values.

        Example:
            >>> Layout.of(b'{"a": "x", "b":1}')
            Layout(pieces=(b'{"a": "', b'", "b":', b'}'), slots=(Slot(name='a', is_quoted=True), Slot(name='b', ...)))
            >>> Layout.of(b'{"a":[1]}'), Layout.of(b'{"a":1,"a":2}'), Layout.of(rb'{"a":"\n"}')
            (None, None, None)
        """
        pieces, slots, place = [], [], 0
        for value, slot in _values(text):
            pieces.append(text[place : value[0]])
            slots.append(slot)
            place = value[1]
        pieces.append(text[place:])
        end = rb'" *\}' if slots and slots[-1].is_quoted else rb" *\}"
        if re.fullmatch(end if slots else rb"\{ *\}", pieces[-1]) is None:
            return None
        if len({slot.name for slot in slots}) < len(slots) or max(map(len, pieces)) > MARGIN // 2:
            return None
        return cls(tuple(pieces), tuple(slots))

    @property
    def quotes(self) -> int:
        """How many quotation marks are in a text of this layout."""
        return sum(piece.count(b'"') for piece in self.pieces)

    def stretches(self, letters: Letters, texts: Places) -> tuple[Places, list[Stretches]]:
        """Find texts of this layout, and their values.

        A text has it iff all pieces are where its quotation marks say, and these are all that it has. So between two
        pieces there is no quotation mark. What is there instead may be anything, also nothing.

        Args:
            letters: Of all texts.
            texts: The numbers of those to look at.

        Returns:
            The numbers of those that have the layout, and per slot where their values are.
        """
        counts = letters.first_quotes[texts + 1] - letters.first_quotes[texts]
        texts = texts[counts == self.quotes]
        first_quotes, ends = letters.first_quotes[texts], letters.stops[texts]
        values: list[Stretches] = []
        stops, quotes = letters.starts[texts], 0
        are_alike = np.ones(len(texts), np.bool_)
        for piece, following in pairwise(self.pieces):
            are_alike &= letters.are_at(stops, piece)
            starts, quotes = stops + len(piece), quotes + piece.count(b'"')
            if b'"' in following:
                stops = letters.quotes[first_quotes + quotes] - following.index(b'"')
            else:
                stops = ends - len(following)
            are_alike &= starts <= stops
            values.append(Stretches(starts, stops))
        are_alike &= letters.are_at(stops, self.pieces[-1]) & (stops + len(self.pieces[-1]) == ends)
        if are_alike.all():
            return texts, values
        return texts[are_alike], [value.where(are_alike) for value in values]


def _values(text: bytes) -> Iterator[tuple[tuple[int, int], Slot]]:
    """Members from the left, as far as they are such: where their values are, and their slots."""
    if not text.startswith(b"{"):
        return
    place = 1
    while (match := _MEMBER.match(text, place)) is not None:
        is_quoted = match[2] is not None
        yield match.span(2 if is_quoted else 3), Slot(match[1].decode(), is_quoted)
        if text[match.end() : match.end() + 1] != b",":
            return
        place = match.end() + 1
