r"""Numbers, null, true and false as JSON writes them (RFC 8259 §3, §6), read by eight letters at a time.

Plain numbers are `-?(0|[1-9][0-9]*)(\.[0-9]+)?` of at most 24 letters behind the sign.
"""

from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

from streamshed.columnar.texts.letters import Letters, Mask, Places, Stretches, Words


def _everywhere(letter: int) -> np.uint64:
    return np.uint64(letter * 0x0101_0101_0101_0101)


_MOST_LETTERS = 24
_MOST_DIGITS = 18
"""So many digits are no more than an integer of 64 bits holds."""
_LAST_LETTERS = np.array([2**64 - 2 ** (64 - 8 * count) for count in range(9)], np.uint64)
"""By count, which bits are that many letters at the end of a word."""
_ZEROS, _DOTS, _SIXES = _everywhere(ord("0")), _everywhere(ord(".")), _everywhere(6)
_HIGH_HALVES, _LOW_BITS, _HIGH_BITS = _everywhere(0xF0), _everywhere(0x7F), _everywhere(0x80)
_DOT_TO_ZERO = np.uint64(ord(".") ^ ord("0"))


def are_literal(letters: Letters, stretches: Stretches, literal: bytes) -> Mask:
    """Whether stretches are a word: `null`, `true` or `false`.

    Args:
        letters: Of all texts.
        stretches: Of some texts.
        literal: Its letters.
    """
    are_whole: Mask = stretches.stops - stretches.starts == len(literal)
    return are_whole & letters.are_at(stretches.starts, literal)


def integers(letters: Letters, stretches: Stretches) -> tuple[NDArray[np.int64], Mask]:
    """Stretches as integers, and which are such: plain, without a fraction, of at most 18 digits.

    Args:
        letters: Of all texts.
        stretches: Of some texts.

    Returns:
        Integers, of no meaning where they are not plain; and where they are.
    """
    is_negative = letters.padded[stretches.starts] == ord("-")
    starts, stops = stretches.starts + is_negative, stretches.stops
    lengths = stops - starts
    are_plain = (lengths >= 1) & (lengths <= _MOST_DIGITS)
    values, factor = np.zeros(len(starts), np.uint64), 1
    for word in _words(letters, stops, lengths, _MOST_DIGITS):
        are_plain &= _are_digits(word)
        values += _number(word) * np.uint64(factor)
        factor *= 10**8
    are_plain &= (lengths == 1) | (letters.padded[starts] != ord("0"))
    signed = values.view(np.int64)
    return np.where(is_negative, -signed, signed), are_plain


def are_numbers(letters: Letters, stretches: Stretches) -> Mask:
    """Which stretches are plain numbers, with a fraction or without.

    Args:
        letters: Of all texts.
        stretches: Of some texts.
    """
    is_negative = letters.padded[stretches.starts] == ord("-")
    starts, stops = stretches.starts + is_negative, stretches.stops
    lengths = stops - starts
    are_plain: Mask = (lengths >= 1) & (lengths <= _MOST_LETTERS)
    has_dot = np.zeros(len(starts), np.bool_)
    for word in _words(letters, stops, lengths, _MOST_LETTERS):
        dots = _dots(word)
        are_plain &= _are_digits(word ^ (dots >> np.uint64(7)) * _DOT_TO_ZERO)
        are_plain &= (dots & (dots - np.uint64(1)) == 0) & ~(has_dot & (dots != 0))
        has_dot |= dots != 0
    first, second, last = letters.padded[starts], letters.padded[starts + 1], letters.padded[stops - 1]
    are_plain &= (first != ord(".")) & (last != ord("."))
    are_plain &= (first != ord("0")) | (lengths == 1) | (second == ord("."))
    return are_plain


def _words(letters: Letters, stops: Places, lengths: Places, most: int) -> Iterator[Words]:
    """Letters by eight, from the last on; where there are none, zeros. Of longer stretches not all of them."""
    longest = min(int(lengths.max(initial=0)), most)
    for offset in range(0, longest, 8):
        mask = _LAST_LETTERS[np.clip(lengths - offset, 0, 8)]
        yield letters.words[stops - (offset + 8)] & mask | _ZEROS & ~mask


def _are_digits(words: Words) -> Mask:
    """Whether all eight letters are: their high halves are 3, also when 6 is added to each."""
    are_digits: Mask = ((words & _HIGH_HALVES) == _ZEROS) & (((words + _SIXES) & _HIGH_HALVES) == _ZEROS)
    return are_digits


def _dots(words: Words) -> Words:
    """The highest bit of each letter that is a dot."""
    others = words ^ _DOTS
    return ~((others & _LOW_BITS) + _LOW_BITS | others) & _HIGH_BITS


def _number(words: Words) -> Words:
    """Eight digits as a number: two, four, eight of them at a time."""
    words = words & _everywhere(0x0F)
    words = (words * np.uint64(10) + (words >> np.uint64(8))) & np.uint64(0x00FF_00FF_00FF_00FF)
    words = (words * np.uint64(100) + (words >> np.uint64(16))) & np.uint64(0x0000_FFFF_0000_FFFF)
    return (words * np.uint64(10_000) + (words >> np.uint64(32))) & np.uint64(0xFFFF_FFFF)
