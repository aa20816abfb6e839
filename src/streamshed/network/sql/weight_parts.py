"""What a pair of rows is worth, as arithmetic of parts that are each of one row."""

from __future__ import annotations

from collections.abc import Collection, Iterator
from dataclasses import dataclass
from enum import StrEnum
from typing import TypeAlias

from streamshed.errors import InvalidExpressionError
from streamshed.network.sql.expression import Expression, arithmetic


class PairSide(StrEnum):
    """Whose row it is."""

    LEFT = "left"
    RIGHT = "right"


@dataclass(frozen=True, slots=True)
class OfOneRow:
    """A part that one row of a pair says.

    Attributes:
        side: Whose.
        expression: Over the columns of pairs.
    """

    side: PairSide
    expression: Expression


@dataclass(frozen=True, slots=True)
class Combined:
    """Two parts and what is made of them.

    Attributes:
        operator: One of + - * /.
        first: The first.
        second: The second.
    """

    operator: str
    first: WeightPart
    second: WeightPart


WeightPart: TypeAlias = OfOneRow | Combined


def weight_parts(weight: Expression, left: Collection[str], right: Collection[str]) -> WeightPart:
    """Take a weight apart, so that each row can be told its part before it is joined.

    Args:
        weight: SQL over the columns of pairs.
        left: Those of left rows.
        right: Those of right rows.

    Raises:
        InvalidExpressionError: A part of it is of both rows, or of the time of the pair, and no sum, difference,
            product or quotient.

    Example:
        >>> from streamshed.network.sql.expression import parse_expression
        >>> found = weight_parts(parse_expression("2 * (a_x + length(b_y))"), {"a_x"}, {"b_y"})
        >>> found.operator, [(one.side.value, str(one.expression)) for one in one_row_parts(found)]
        ('*', [('left', '2'), ('left', 'a_x'), ('right', 'length(b_y)')])
        >>> weight_parts(parse_expression("1 + greatest(a_x, b_y)"), {"a_x"}, {"b_y"})  # doctest: +ELLIPSIS
        Traceback (most recent call last):
        streamshed.errors.InvalidExpressionError: "greatest(a_x, b_y)" is of both rows of a pair: it is not made...
    """
    sides = {PairSide.LEFT: {one.lower() for one in left}, PairSide.RIGHT: {one.lower() for one in right}}
    used = {name.lower() for name in weight.columns}
    for side, columns in sides.items():
        if used <= columns:
            return OfOneRow(side, weight)
    split = arithmetic(weight)
    if split is None:
        what = "both rows" if used <= set.union(*sides.values()) else "the time"
        raise InvalidExpressionError(
            f'"{weight}" is of {what} of a pair: it is not made by + - * / of parts that are each of one row'
        )
    first, second = (weight_parts(one, left, right) for one in (split.first, split.second))
    return Combined(split.operator, first, second)


def one_row_parts(part: WeightPart) -> Iterator[OfOneRow]:
    """Yield the parts that are of one row each, in order."""
    if isinstance(part, OfOneRow):
        yield part
    else:
        yield from one_row_parts(part.first)
        yield from one_row_parts(part.second)
