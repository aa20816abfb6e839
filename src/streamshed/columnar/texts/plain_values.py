"""Values written plainly, as JSON and CSV write them alike: whole numbers, fractions, `true` and `false`."""

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from streamshed.columnar.texts.letters import Letters, Mask, Stretches
from streamshed.columnar.texts.plain_numbers import are_literal, are_numbers, integers


def plain_values(letters: Letters, stretches: Stretches, wanted: pa.DataType) -> tuple[pa.Array, Mask]:
    """Read stretches as values of a type.

    Args:
        letters: Of all texts.
        stretches: Of some texts, ascending.
        wanted: Integers of 64 bits, doubles or Booleans; nothing is a plain value of another type.

    Returns:
        The values, of no meaning where they are not plain; and where they are.

    Example:
        >>> from streamshed.columnar.texts.letters import letters_of
        >>> letters = Letters.of(*letters_of(pa.array([b"12", b"1.5", b"x"])))
        >>> values, are_plain = plain_values(letters, Stretches(letters.starts, letters.stops), pa.float64())
        >>> values.to_pylist(), are_plain.tolist()
        ([12.0, 1.5, None], [True, True, False])
    """
    if pa.types.is_integer(wanted):
        numbers, are_plain = integers(letters, stretches)
        return pa.array(numbers), are_plain
    if pa.types.is_floating(wanted):
        are_plain = are_numbers(letters, stretches)
        return null_unless(are_plain, letters.strings(stretches)).cast(wanted), are_plain
    if pa.types.is_boolean(wanted):
        return pa.array(are_literal(letters, stretches, b"true")), are_booleans(letters, stretches)
    return pa.nulls(len(stretches), wanted), np.zeros(len(stretches), np.bool_)


def are_booleans(letters: Letters, stretches: Stretches) -> Mask:
    """Whether stretches are `true` or `false`."""
    return are_literal(letters, stretches, b"true") | are_literal(letters, stretches, b"false")


def null_unless(mask: Mask, values: pa.Array) -> pa.Array:
    """Values where a mask says so, nulls elsewhere."""
    return values if mask.all() else pc.if_else(pa.array(mask), values, pa.scalar(None, values.type))
