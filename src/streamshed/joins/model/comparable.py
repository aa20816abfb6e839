"""Which types of the two sides can be compared."""

from __future__ import annotations

import pyarrow as pa

from streamshed.errors import InvalidNetworkError
from streamshed.joins.model.conditions import Condition, Equality, InnerProduct, Overlap


def check_comparable(condition: Condition, left: pa.Schema, right: pa.Schema) -> None:
    """Check that what a condition compares is of one kind on both sides; columns that are missing are found later.

    Raises:
        InvalidNetworkError: It is not, such as text on one side and numbers on the other.

    Example:
        >>> keys = Equality(("a",), ("b",))
        >>> check_comparable(keys, pa.schema([("a", pa.int32())]), pa.schema([("b", pa.int64())]))
        >>> check_comparable(keys, pa.schema([("a", pa.int32())]), pa.schema([("b", pa.string())]))
        Traceback (most recent call last):
        streamshed.errors.InvalidNetworkError: a join compares 'a' of type int32 with 'b' of type string: ...
    """
    match condition:
        case Equality():
            pairs = list(zip(condition.left, condition.right, strict=True))
        case Overlap() | InnerProduct():
            pairs = [(condition.left, condition.right)]
        case _:
            pairs = []
    for mine, theirs in pairs:
        if mine in left.names and theirs in right.names:
            kinds = left.field(mine).type, right.field(theirs).type
            if _kind(kinds[0]) != _kind(kinds[1]):
                raise InvalidNetworkError(
                    f"a join compares {mine!r} of type {kinds[0]} with {theirs!r} of type {kinds[1]}: cast one of them"
                )


def _kind(of: pa.DataType) -> str:
    """The kind of a type: types of one kind can be compared; lists and maps have the kind of their items."""
    if pa.types.is_map(of):
        return _kind(of.key_type)
    if pa.types.is_list(of) or pa.types.is_large_list(of):
        return _kind(of.value_type.field(0).type if pa.types.is_struct(of.value_type) else of.value_type)
    if pa.types.is_integer(of) and not pa.types.is_uint64(of):
        return "integer"
    if pa.types.is_floating(of):
        return "float"
    if pa.types.is_string(of) or pa.types.is_large_string(of):
        return "text"
    if pa.types.is_binary(of) or pa.types.is_large_binary(of):
        return "bytes"
    return str(of)
