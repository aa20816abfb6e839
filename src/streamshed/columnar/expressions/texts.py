"""Functions of texts. Characters are code points, as in Spark; letters change case where all are ASCII."""

from collections.abc import Callable, Sequence
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from streamshed.columnar.expressions.casts import cast
from streamshed.columnar.expressions.coercion import (
    BINARY,
    INT,
    INTEGERS,
    STRING,
    Builder,
    expect,
    is_scalar_type,
)
from streamshed.columnar.expressions.column_node import ColumnNode, strict
from streamshed.columnar.expressions.dialect import Dialect
from streamshed.columnar.expressions.values import Datum, SureValues, noted, truths, valid
from streamshed.columnar.untranslatable import Untranslatable

_FARTHEST = 1_000_000_000
"""Places beyond that overflow in Spark."""


def _text(node: ColumnNode, dialect: Dialect, what: str) -> ColumnNode:
    """An operand as text: Spark converts others by itself."""
    if is_scalar_type(node.type) and node.type != BINARY:
        return cast(node, STRING, dialect)
    return expect(node, [STRING], what)


def character_count(dialect: Dialect, operands: Sequence[ColumnNode]) -> ColumnNode:
    """`length` of a text in characters, of bytes in bytes."""
    if operands[0].type == BINARY:
        return strict(INT, lambda datum: SureValues(pc.binary_length(datum)), operands[0])
    text = _text(operands[0], dialect, "length")
    return strict(INT, lambda datum: SureValues(pc.utf8_length(datum)), text)


def in_case(function: Callable[..., Any]) -> Builder:
    """Make nodes of `lower` and `upper`."""

    def kernel(datum: pa.Array) -> SureValues:
        is_ascii = pc.string_is_ascii(datum)
        return SureValues(function(datum), noted(~truths(is_ascii) & valid(datum)))

    return lambda dialect, operands: strict(STRING, kernel, _text(operands[0], dialect, "lower and upper"))


def trimmed(function: Callable[..., Any]) -> Builder:
    """Make nodes of `trim`, `ltrim` and `rtrim`: of spaces, not of other white space."""

    def kernel(datum: Datum) -> SureValues:
        return SureValues(function(datum, " "))

    def build(dialect: Dialect, operands: Sequence[ColumnNode]) -> ColumnNode:
        if len(operands) != 1:
            raise Untranslatable("trimming other characters than spaces is evaluated by Spark")
        return strict(STRING, kernel, _text(operands[0], dialect, "trim"))

    return build


def concatenation(dialect: Dialect, operands: Sequence[ColumnNode]) -> ColumnNode:
    """`concat` and `||`: null where any operand is."""
    if not operands or all(operand.type == pa.null() for operand in operands):
        raise Untranslatable("concat of nothing is evaluated by Spark")
    texts = [_text(operand, dialect, "concat") for operand in operands]
    return strict(STRING, lambda *data: SureValues(pc.binary_join_element_wise(*data, pa.scalar("", STRING))), *texts)


def substring(dialect: Dialect, operands: Sequence[ColumnNode]) -> ColumnNode:
    """`substring(text, start, length)` with literals: start counts from 1, or from the end if it is negative."""
    text = _text(operands[0], dialect, "substring")
    start, *length = (_literal_integer(operand, "substring") for operand in operands[1:])
    first = start - 1 if start > 0 else start
    stop = first + length[0] if length else None
    if stop is not None and length[0] <= 0:
        stop = first
    if stop is not None and first < 0 <= stop:
        stop = None
    return _slice(text, first, stop)


def left(dialect: Dialect, operands: Sequence[ColumnNode]) -> ColumnNode:
    """`left(text, length)`."""
    length = _literal_integer(operands[1], "left")
    return _slice(_text(operands[0], dialect, "left"), 0, max(0, length))


def right(dialect: Dialect, operands: Sequence[ColumnNode]) -> ColumnNode:
    """`right(text, length)`."""
    length = _literal_integer(operands[1], "right")
    text = _text(operands[0], dialect, "right")
    return _slice(text, -length, None) if length > 0 else _slice(text, 0, 0)


def _slice(text: ColumnNode, start: int, stop: int | None) -> ColumnNode:
    def kernel(datum: pa.Array) -> SureValues:
        return SureValues(pc.utf8_slice_codeunits(datum, start, stop))

    return strict(STRING, kernel, text)


def _literal_integer(node: ColumnNode, what: str) -> int:
    if node.constant is None or not node.constant.is_valid or node.type not in INTEGERS:
        raise Untranslatable(f"{what} with a place that is no literal is evaluated by Spark")
    place = int(node.constant.as_py())
    if abs(place) > _FARTHEST:
        raise Untranslatable(f"{what} with the place {place} is evaluated by Spark")
    return place


def _literal_text(node: ColumnNode, what: str) -> str:
    if node.constant is None or not node.constant.is_valid or node.type != STRING:
        raise Untranslatable(f"{what} with a text that is no literal is evaluated by Spark")
    return str(node.constant.as_py())


def replacement(dialect: Dialect, operands: Sequence[ColumnNode]) -> ColumnNode:
    """`replace(text, search, replacement)` with literals."""
    text = _text(operands[0], dialect, "replace")
    search, new = (_literal_text(operand, "replace") for operand in operands[1:])
    if not search:
        raise Untranslatable("replace of an empty text is evaluated by Spark")
    return strict(STRING, lambda datum: SureValues(pc.replace_substring(datum, search, new)), text)
