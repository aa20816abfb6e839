"""From what Arrow reads of JSON to Spark's values, and of which they are surely Spark's."""

import re
from collections.abc import Mapping

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from streamshed.columnar.texts.parts import in_parts
from streamshed.columnar.untranslatable import Untranslatable

Mask = NDArray[np.bool_]

_READ_AS: Mapping[pa.DataType, pa.DataType] = {
    pa.bool_(): pa.bool_(),
    pa.int8(): pa.int64(),
    pa.int16(): pa.int64(),
    pa.int32(): pa.int64(),
    pa.int64(): pa.int64(),
    pa.float32(): pa.float64(),
    pa.float64(): pa.float64(),
    pa.string(): pa.string(),
    pa.date32(): pa.string(),
}
"""The types that are read by way of others: what does not fit is one value then, not a failure of all rows."""
_SMALLEST_DOUBLE = 1e-307
_SMALLEST_FLOAT, _LARGEST_FLOAT = 2.0**-126, 2.0**127
_PARTS = (1024, 32, 1)
_ZONES_OF_NO_OFFSET = frozenset({"UTC", "GMT", "Z", "Etc/UTC", "Etc/GMT"})
_OFFSET = re.compile(r"([+-])(0\d|1[0-7]):([0-5]\d)")


def type_to_read(field: pa.Field) -> pa.DataType:
    """The type that Arrow shall read for a column.

    Raises:
        Untranslatable: Spark reads columns of this type in its own way.
    """
    if pa.types.is_timestamp(field.type) and field.type.unit == "us" and field.type.tz is not None:
        return pa.string()
    try:
        return _READ_AS[field.type]
    except KeyError:
        raise Untranslatable(f'column "{field.name}" of JSON texts has the type {field.type}') from None


def offset_of(time_zone: str) -> int | None:
    """How many seconds a time zone is ahead of UTC, at all times; None: that changes, or Spark and Arrow may differ.

    Example:
        >>> offset_of("UTC"), offset_of("-01:30"), offset_of("Europe/Berlin")
        (0, -5400, None)
    """
    if time_zone in _ZONES_OF_NO_OFFSET:
        return 0
    match = _OFFSET.fullmatch(time_zone)
    if match is None:
        return None
    sign, hours, minutes = match.groups()
    return (3600 * int(hours) + 60 * int(minutes)) * (1 if sign == "+" else -1)


def spark_values(column: pa.Array, wanted: pa.DataType, offset: int | None) -> tuple[pa.Array, Mask]:
    """Make values of the type that Spark gives them.

    Args:
        column: As Arrow read it, of the type that `type_to_read` names.
        wanted: The type of Spark's column.
        offset: Of times without a zone, how many seconds they are ahead of UTC; None: nobody is sure.

    Returns:
        The values, and of which of them, nulls among them, Spark surely has the same.

    Example:
        >>> values, is_sure = spark_values(pa.array([1.5, 1e300, None]), pa.float32(), 0)
        >>> values.to_pylist()[0], is_sure.tolist()
        (1.5, [True, False, True])
    """
    if pa.types.is_timestamp(wanted):
        return _instants(column, wanted, offset)
    if pa.types.is_date(wanted):
        return _converted(column, wanted)
    if pa.types.is_floating(wanted):
        return _floats(column, wanted)
    if pa.types.is_integer(wanted) and wanted != column.type:
        return _integers(column, wanted)
    return column, np.ones(len(column), np.bool_)


def _integers(column: pa.Array, wanted: pa.DataType) -> tuple[pa.Array, Mask]:
    small = column.cast(wanted, safe=False)
    return small, _where(pc.equal(small.cast(pa.int64()), column))


def _floats(column: pa.Array, wanted: pa.DataType) -> tuple[pa.Array, Mask]:
    """Spark reads the integer -0 as 0, and 2.2250738585072012e-308 as less than it is.

    A `float` is the `double` rounded, unless that lies amid two: then it depends on letters that the double has not.
    """
    numbers = column.fill_null(1.0).to_numpy(zero_copy_only=False)
    sizes = np.abs(numbers)
    is_sure = (sizes >= _SMALLEST_DOUBLE) & np.isfinite(sizes) | ((numbers == 0) & ~np.signbit(numbers))
    if wanted == pa.float32():
        is_amid = numbers.view(np.int64) & 0x1FFFFFFF == 0x10000000
        is_sure &= (sizes == 0) | (sizes >= _SMALLEST_FLOAT) & (sizes <= _LARGEST_FLOAT) & ~is_amid
    return column.cast(wanted, safe=False), is_sure


def _instants(column: pa.Array, wanted: pa.DataType, offset: int | None) -> tuple[pa.Array, Mask]:
    """Times as `2024-01-01T00:00:00`, blank or `T`, up to six digits of a second, `Z`, `+01:00` or no zone."""
    has_form, has_zone = _forms(column)
    parts = [column.is_null().to_numpy(zero_copy_only=False)]
    values = pa.nulls(len(column), wanted)
    for mask, read_as, ahead in ((has_form & has_zone, wanted, 0), (has_form & ~has_zone, pa.timestamp("us"), offset)):
        if ahead is None or not mask.any():
            continue
        texts = column if mask.all() else pc.if_else(pa.array(mask), column, None)
        read, is_sure = _converted(texts, read_as)
        instants = pc.subtract(read.cast(pa.int64()), 1_000_000 * ahead).cast(wanted)
        values = pc.coalesce(values, instants)
        parts.append(mask & is_sure)
    return values, np.logical_or.reduce(parts)


def _forms(column: pa.Array) -> tuple[Mask, Mask]:
    """Which texts have the form of times as far as Arrow does not look at it, and which of those have a zone."""
    _, places, letters = column.buffers()
    offsets = np.frombuffer(places, np.int32)[column.offset : column.offset + len(column) + 1]
    lengths = np.diff(offsets)
    has_form = (lengths >= 19) & (lengths <= 32)
    if not has_form.any():
        return has_form, has_form
    # Texts without the form are looked at, where they are short, outside; what is seen there decides nothing.
    bytes_ = np.frombuffer(letters, np.uint8)
    starts, ends = np.minimum(offsets[:-1], len(bytes_) - 19), np.maximum(offsets[1:], 6)
    has_form &= (bytes_[starts + 13] == ord(":")) & (bytes_[starts + 16] == ord(":"))
    last, colon, sign = bytes_[ends - 1], bytes_[ends - 3], bytes_[ends - 6]
    has_offset = (lengths >= 25) & (colon == ord(":")) & ((sign == ord("+")) | (sign == ord("-")))
    if has_offset.any():
        tens, ones = bytes_[ends - 5], bytes_[ends - 4]
        # Java knows offsets up to 18 hours.
        has_form &= ~has_offset | (tens == ord("0")) | ((tens == ord("1")) & (ones < ord("8")))
    return has_form, has_offset | (last == ord("Z"))


def _converted(texts: pa.Array, wanted: pa.DataType) -> tuple[pa.Array, Mask]:
    """Texts as values of a type; those that cannot be are null, and not sure."""

    def attempt(some: pa.Array) -> pa.Array | None:
        try:
            return some.cast(wanted)
        except pa.ArrowInvalid:
            return None

    parts = list(in_parts(attempt, texts, sizes=_PARTS))
    values = pa.concat_arrays(
        [pa.nulls(part.stop - part.start, wanted) if part.result is None else part.result for part in parts]
    )
    return values, _where(pc.or_(values.is_valid(), texts.is_null()))


def _where(condition: pa.Array) -> Mask:
    """A condition as NumPy's; where it is null, the values are, and so are Spark's."""
    mask: Mask = condition.fill_null(True).to_numpy(zero_copy_only=False)
    return mask
