"""SureValues of some rows: Arrow arrays, NumPy views of them, and which of them are sure."""

from dataclasses import dataclass
from functools import reduce
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

Datum: TypeAlias = Any
"""An Arrow array, or an Arrow scalar that is not null: the same value in every row."""
Mask: TypeAlias = npt.NDArray[np.bool_]
Numbers: TypeAlias = npt.NDArray[Any]


@dataclass(frozen=True, slots=True)
class SureValues:
    """What an expression gives for some rows.

    Attributes:
        datum: The values.
        unsure: True where Spark may answer otherwise or fail, whatever stands in `datum`; None: nowhere.
    """

    datum: Datum
    unsure: Mask | None = None


def either(*masks: Mask | None) -> Mask | None:
    """Where any of some masks is true; None: nowhere."""
    present = [mask for mask in masks if mask is not None]
    return reduce(np.logical_or, present) if present else None


def noted(mask: Mask) -> Mask | None:
    """A mask, None if it is true nowhere."""
    return mask if mask.any() else None


def numbers(datum: Datum) -> Numbers:
    """The numbers of an array as they lie in memory, without a copy; those of nulls mean nothing.

    Times are microseconds since 1970, dates days. A scalar, of numbers or dates, becomes an array without dimensions.

    Example:
        >>> numbers(pa.array([1, 2, 3], pa.int16())[1:])
        array([2, 3], dtype=int16)
    """
    width = _storage(datum.type)
    if isinstance(datum, pa.Scalar):
        stored = datum.cast(pa.int32()) if pa.types.is_date32(datum.type) else datum
        return np.asarray(stored.as_py() if datum.is_valid else 0, width)
    if pa.types.is_boolean(datum.type):
        return np.asarray(datum.fill_null(False).to_numpy(zero_copy_only=False))
    buffer = datum.buffers()[1]
    if buffer is None or not len(datum):
        return np.zeros(len(datum), width)
    return np.frombuffer(buffer, width, count=len(datum), offset=datum.offset * width.itemsize)


def array_of(kind: pa.DataType, values: Numbers, *operands: Datum) -> pa.Array:
    """Make an Arrow array of numbers or truth values, null where any of some operands is null.

    Args:
        kind: The array's type.
        values: One number per row, as they lie in memory.
        operands: Arrays of as many rows, or scalars, which are not null.

    Example:
        >>> array_of(pa.date32(), np.array([0, 1]), pa.array([None, 5])).to_pylist()
        [None, datetime.date(1970, 1, 2)]
    """
    validity = _validity(operands)
    if pa.types.is_boolean(kind):
        truths = pa.array(values)
        return truths if validity is None else pc.if_else(validity, truths, pa.scalar(None, pa.bool_()))
    stored = np.ascontiguousarray(values, _storage(kind))
    # A copy: the bits of an array may begin in the middle of its buffer.
    bitmap = None if validity is None else pa.concat_arrays([validity]).buffers()[1]
    return pa.Array.from_buffers(kind, len(stored), [bitmap, pa.py_buffer(stored)])


def valid(*operands: Datum) -> Mask:
    """Where no operand is null: for each row, or, where none is, for all at once."""
    validity = _validity(operands)
    return np.asarray(True if validity is None else validity.to_numpy(zero_copy_only=False))


def truths(datum: Datum) -> Mask:
    """Where a truth value is true, neither false nor null."""
    return np.asarray(datum.fill_null(False).to_numpy(zero_copy_only=False))


def _validity(operands: tuple[Datum, ...]) -> pa.BooleanArray | None:
    validities = [pc.is_valid(operand) for operand in operands if isinstance(operand, pa.Array) and operand.null_count]
    return reduce(pc.and_, validities) if validities else None


def _storage(kind: pa.DataType) -> np.dtype[Any]:
    if pa.types.is_timestamp(kind):
        return np.dtype(np.int64)
    if pa.types.is_date32(kind):
        return np.dtype(np.int32)
    storage: np.dtype[Any] = np.dtype(kind.to_pandas_dtype())
    return storage
