"""Which texts are such that all readers of JSON take them alike, or refuse them.

What differs between Spark's reader (Jackson) and Arrow's (RapidJSON) is told from bytes, for all texts at once:

- Arrow takes `NaN`, `Inf` and `Infinity` as numbers, in members that are no columns, too; Spark not all of them.
- Bytes that are not UTF-8: Spark reads U+FFFD, Arrow what is there.
- Control characters: a newline would part a text, a zero end it.
- Jackson limits numbers to 1,000 letters, depth to 1,000, names to 50,000 letters; Arrow has no limits.
"""

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from streamshed.columnar.texts.letters import Bytes, letters_of
from streamshed.columnar.texts.valid_texts import is_utf8

Mask = NDArray[np.bool_]

_SHORT = 1000
"""So short a text cannot pass any limit."""
_LONGEST = 50_000
"""So long a text may have a name that is too long."""
_DEEPEST = 1000
_LONG_NUMBER = "[-+.0-9Ee]{500}"
_MAY_FOLLOW_NUMBERS = np.isin(np.arange(256), np.frombuffer(b" ,]}", np.uint8))


def are_plain(texts: pa.Array) -> Mask:
    r"""Whether texts may be read by any reader of JSON: as such a reader sees them, all see them.

    Args:
        texts: Binary or string, some null.

    Returns:
        One Boolean per text. Of plain texts none is null; each begins with `{`, ends with `}`, is UTF-8, without
        control characters and numbers that are none, and what passes a limit of Jackson's.

    Example:
        >>> texts = ['{"a": 1}', "", None, " {}", '{"a": NaN}', '{"a": "NaN"}', '{\n}', "{}"]
        >>> are_plain(pa.array(texts)).astype(int).tolist()
        [1, 0, 0, 0, 0, 1, 0, 1]
    """
    texts = texts.cast(pa.binary())
    offsets, letters = letters_of(texts)
    lengths = np.diff(offsets)
    plain: Mask = (lengths >= 2) & (lengths <= _LONGEST)
    plain &= texts.is_valid().to_numpy(zero_copy_only=False)
    # Offsets of empty texts may lie behind the last byte.
    last = max(len(letters) - 1, 0)
    if len(letters):
        plain &= letters[np.minimum(offsets[:-1], last)] == ord("{")
        plain &= letters[np.maximum(offsets[1:] - 1, 0)] == ord("}")
    for places in (_control_characters(letters), _numbers_that_are_none(letters)):
        if len(places):
            plain[np.searchsorted(offsets, places, side="right") - 1] = False
    if len(letters) and letters.max() >= 0x80:
        plain &= _are_utf8(texts)
    long = plain & (lengths > _SHORT)
    if long.any():
        plain[long] = _are_within_limits(texts.filter(pa.array(long)))
    return plain


def _control_characters(letters: Bytes) -> NDArray[np.int64]:
    # Mostly there are none, and the smallest letter is found faster.
    return np.flatnonzero(letters < 0x20) if letters.min(initial=0x20) < 0x20 else np.zeros(0, np.int64)


def _numbers_that_are_none(letters: Bytes) -> NDArray[np.int64]:
    """Where `NaN`, `Inf` and `Infinity` stand that may be numbers: a string ends with a quotation mark."""
    places = np.flatnonzero((letters == ord("N")) | (letters == ord("I")))
    places = places[places < len(letters) - 3]
    first, second, third, behind = (letters[places + distance] for distance in range(4))
    is_nan = (first == ord("N")) & (second == ord("a")) & (third == ord("N"))
    is_infinity = (first == ord("I")) & (second == ord("n")) & (third == ord("f"))
    behind = np.where(behind == ord("i"), letters[np.minimum(places + len("Infinity"), len(letters) - 1)], behind)
    numbers: NDArray[np.int64] = places[(is_nan | is_infinity) & _MAY_FOLLOW_NUMBERS[behind]]
    return numbers


def _are_utf8(texts: pa.Array) -> Mask:
    try:
        texts.view(pa.string()).validate(full=True)
    except pa.ArrowInvalid:
        return np.fromiter((text is not None and is_utf8(text) for text in texts.to_pylist()), np.bool_, len(texts))
    return np.ones(len(texts), np.bool_)


def _are_within_limits(texts: pa.Array) -> Mask:
    depths = pc.add(pc.count_substring(texts, b"["), pc.count_substring(texts, b"{"))
    within = pc.and_not(pc.less(depths, _DEEPEST), pc.match_substring_regex(texts, _LONG_NUMBER))
    mask: Mask = within.to_numpy(zero_copy_only=False)
    return mask
