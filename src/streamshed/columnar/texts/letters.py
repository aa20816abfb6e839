"""The letters of many texts as one array: where each begins, and eight letters at a time."""

from dataclasses import dataclass
from typing import Self

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

Bytes = NDArray[np.uint8]
Mask = NDArray[np.bool_]
Places = NDArray[np.int64]
Words = NDArray[np.uint64]

MARGIN = 512
"""So many zeros lie before the first letter and behind the last: what reads beyond a text need not look."""


def letters_of(texts: pa.Array) -> tuple[Places, Bytes]:
    """Where each text begins, and one more, in the bytes of all of them.

    Args:
        texts: Binary; the bytes of nulls may be anything.

    Example:
        >>> places, letters = letters_of(pa.array([b"ab", b"", b"c"]))
        >>> places.tolist(), letters.tobytes()
        ([0, 2, 2, 3], b'abc')
    """
    _, offsets, letters = texts.buffers()
    places = np.frombuffer(offsets, np.int32)[texts.offset : texts.offset + len(texts) + 1].astype(np.int64)
    if letters is None:
        return places, np.zeros(0, np.uint8)
    return places - places[0], np.frombuffer(letters, np.uint8)[places[0] : places[-1]]


@dataclass(frozen=True, slots=True)
class Stretches:
    """Parts of texts, one of each, in their order: from `starts` to `stops`, exclusive."""

    starts: Places
    stops: Places

    def __len__(self) -> int:
        return len(self.starts)

    def where(self, mask: Mask) -> Self:
        """Those of some texts."""
        return type(self)(self.starts[mask], self.stops[mask])


@dataclass(frozen=True, slots=True)
class Letters:
    """The letters of texts, with a margin, and their quotation marks.

    Attributes:
        padded: All letters, and `MARGIN` zeros before and behind; all places are in these.
        words: At each place the eight letters from there on, the first in the lowest byte.
        starts: Where each text begins.
        stops: Where each ends, exclusive.
        quotes: Where quotation marks are.
        first_quotes: Of each text the number of its first quotation mark, and one more.
    """

    padded: Bytes
    words: Words
    starts: Places
    stops: Places
    quotes: Places
    first_quotes: Places

    @classmethod
    def of(cls, places: Places, letters: Bytes) -> Self:
        """Add the margin and look for quotation marks.

        Args:
            places: As `letters_of` gives them.
            letters: Likewise.

        Example:
            >>> letters = Letters.of(*letters_of(pa.array([b'{"a":1}', b"{}", b'"'])))
            >>> (letters.quotes - MARGIN).tolist(), letters.first_quotes.tolist()
            ([1, 3, 9], [0, 2, 2, 3])
            >>> letters.words[letters.starts[0]].tobytes()
            b'{"a":1}{'
        """
        margin = np.zeros(MARGIN, np.uint8)
        padded = np.concatenate([margin, letters, margin])
        words: Words = np.ndarray((len(padded) - 7,), "<u8", padded, strides=(1,))
        places = places + MARGIN
        return cls(padded, words, places[:-1], places[1:], *_marks(padded, '"', places))

    def marks(self, letter: str) -> tuple[Places, Places]:
        """Where a letter of ASCII is, and of each text the number of its first one, and one more.

        Example:
            >>> letters = Letters.of(*letters_of(pa.array([b"a,b", b"", b",,"])))
            >>> places, firsts = letters.marks(",")
            >>> (places - MARGIN).tolist(), firsts.tolist()
            ([1, 3, 4], [0, 1, 1, 3])
        """
        return _marks(self.padded, letter, np.append(self.starts, self.stops[-1:]))

    def are_at(self, places: Places, piece: bytes) -> Mask:
        """Whether a piece begins at places.

        Args:
            places: At most half of `MARGIN` away from a text.
            piece: Not empty, at most half as long as `MARGIN`.

        Example:
            >>> letters = Letters.of(*letters_of(pa.array([b"abcd", b"abce"])))
            >>> letters.are_at(letters.starts, b"abcd").tolist()
            [True, False]
        """
        are_at: Mask = np.ones(len(places), np.bool_)
        # By eight letters, the last eight where the piece ends, though some of them are compared twice.
        for offset in {*range(0, len(piece) - 7, 8), max(len(piece) - 8, 0)}:
            letters = piece[offset : offset + 8]
            mask, word = np.uint64(256 ** len(letters) - 1), np.uint64(int.from_bytes(letters, "little"))
            are_at &= (self.words[offset:][places] & mask) == word
        return are_at

    def strings(self, stretches: Stretches) -> pa.Array:
        """Stretches as strings.

        Args:
            stretches: Of ascending texts, in UTF-8.

        Example:
            >>> letters = Letters.of(*letters_of(pa.array([b"abcd", b"ef"])))
            >>> letters.strings(Stretches(letters.starts + 1, letters.stops)).to_pylist()
            ['bcd', 'f']
        """
        if len(stretches) == 0:
            return pa.array([], pa.string())
        # Of twice as many strings each second is what lies between.
        count = 2 * len(stretches)
        offsets = np.empty(count + 1, np.int32)
        offsets[:-1:2], offsets[1::2], offsets[-1] = stretches.starts, stretches.stops, stretches.stops[-1]
        strings = pa.Array.from_buffers(pa.string(), count, [None, pa.py_buffer(offsets), pa.py_buffer(self.padded)])
        return strings.take(pa.array(np.arange(0, count, 2)))


def _marks(padded: Bytes, letter: str, places: Places) -> tuple[Places, Places]:
    """Where a letter is, and the number of the first at or behind each place where a text begins or ends."""
    marks = np.flatnonzero(padded == ord(letter))
    count = len(places) - 1
    each = len(marks) // count if count > 0 else 0
    # Mostly all texts have as many. That is seen faster than the marks are searched.
    are_even = 0 < each * count == len(marks)
    if are_even and (marks[::each] >= places[:-1]).all() and (marks[each - 1 :: each] < places[1:]).all():
        return marks, np.arange(0, len(marks) + 1, each)
    return marks, np.searchsorted(marks, places)


# So large an array, never written and freed at once, lets glibc keep what is freed from now on. Else each call's arrays
# would be of new pages, which has taken a third of the time.
np.empty(30 << 20, np.uint8)
