"""Texts read as numbers, truth values and times; sure where the text is in a plain form."""

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from streamshed.columnar.expressions.coercion import BOOLEAN, DATE, INTEGERS, STRING, TIMESTAMP, TIMESTAMP_NTZ
from streamshed.columnar.expressions.values import Mask, Numbers, SureValues, either, noted, numbers, truths, valid

_DIGITS = {8: 3, 16: 5, 32: 10, 64: 19}
"""By bits, how many digits the largest number has."""
_FRACTION = r"\A[+-]?([0-9]{1,30}(\.[0-9]{0,30})?|\.[0-9]{1,30})([eE][+-]?[0-9]{1,2})?\z"
_WITH_SECONDS = 19
"""Characters of 2024-02-29 12:00:00: Arrow reads shorter times as well, Spark otherwise."""
_TRUE, _FALSE = pa.array(["t", "true", "y", "yes", "1"]), pa.array(["f", "false", "n", "no", "0"])


def parsed_numbers(datum: pa.StringArray, kind: pa.DataType, *, ansi: bool) -> SureValues:
    """Numbers of texts. Without ANSI, a text with a letter that no number has is null."""
    form = rf"\A[+-]?[0-9]{{1,{_DIGITS[kind.bit_width]}}}\z" if kind in INTEGERS else _FRACTION
    has_form = pc.match_substring_regex(datum, form)
    unsure = noted(~truths(has_form) & valid(datum))
    plain = datum if unsure is None else pc.if_else(has_form, datum, pa.scalar(None, STRING))
    if pc.any(pc.starts_with(plain, "+")).as_py():
        plain = pc.replace_substring_regex(plain, r"\A\+", "")
    values, unreadable = _cast(plain, kind)
    unsure = either(unsure, unreadable)
    if unsure is None or ansi or kind not in INTEGERS:
        return SureValues(values, unsure)
    has_letter = truths(pc.match_substring_regex(datum, "[A-Za-z]"))
    return SureValues(values, noted(unsure & ~has_letter))


def parsed_truths(datum: pa.StringArray) -> SureValues:
    """Truth values of texts."""
    lower = pc.ascii_lower(datum)
    is_true, is_false = pc.is_in(lower, value_set=_TRUE), pc.is_in(lower, value_set=_FALSE)
    outcome = pc.if_else(pc.is_valid(datum), is_true, pa.scalar(None, BOOLEAN))
    return SureValues(outcome, noted(~truths(pc.or_(is_true, is_false)) & valid(datum)))


def parsed_dates(datum: pa.StringArray) -> SureValues:
    """Dates of texts such as 2024-02-29."""
    return SureValues(*_cast(datum, DATE))


def parsed_times(datum: pa.StringArray) -> tuple[Numbers, Mask, Mask]:
    """Times of texts such as 2024-02-29 12:00:00.5 and 2024-02-29T12:00:00Z.

    Returns:
        Microseconds since 1970 of the clock that the text means; whether that is UTC's; which are unsure.
    """
    ends_in_z = pc.ends_with(datum, "Z")
    is_utc, is_text = truths(ends_in_z), valid(datum)
    if (is_utc | ~is_text).all():
        values, unreadable = _cast(datum, TIMESTAMP)
    else:
        bare = pc.replace_substring_regex(datum, r"Z\z", "") if is_utc.any() else datum
        values, unreadable = _cast(bare, TIMESTAMP_NTZ)
    length = numbers(pc.binary_length(datum)) - is_utc
    is_short = (length < _WITH_SECONDS) & is_text
    return numbers(values), is_utc, is_short if unreadable is None else is_short | unreadable


def decoded_texts(datum: pa.BinaryArray) -> SureValues:
    """Texts of bytes; unsure where they are not UTF-8."""
    return SureValues(*_cast(datum, STRING))


def _cast(plain: pa.Array, kind: pa.DataType) -> tuple[pa.Array, Mask | None]:
    """Convert texts or bytes, of which some are no values for all their form: 2023-02-29."""
    try:
        return pc.cast(plain, kind), None
    except pa.ArrowInvalid:
        readable = _readable(plain, kind)
    values = pc.cast(pc.if_else(pa.array(readable), plain, pa.scalar(None, plain.type)), kind)
    return values, noted(~readable)


def _readable(plain: pa.Array, kind: pa.DataType) -> Mask:
    """Where texts or bytes can be converted: halves, and halves of those where some cannot."""
    try:
        pc.cast(plain, kind)
    except pa.ArrowInvalid:
        middle = len(plain) // 2
        if middle == 0:
            return np.zeros(1, np.bool_)
        return np.concatenate([_readable(plain[:middle], kind), _readable(plain[middle:], kind)])
    return np.ones(len(plain), np.bool_)
