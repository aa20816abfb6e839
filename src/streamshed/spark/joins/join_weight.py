"""What results of a join are worth: Spark tells each row its part before it is joined, pairs put parts together."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from hashlib import sha256
from typing import assert_never

import numpy as np
import pyarrow as pa
from pyspark.errors import AnalysisException
from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from streamshed.errors import InvalidExpressionError
from streamshed.joins.model.arrays import Floats
from streamshed.joins.model.side import Side
from streamshed.joins.model.side_rows import WORTH
from streamshed.network.model.join_problems import side_columns
from streamshed.network.model.join_source import JoinSource
from streamshed.network.sql.weight_parts import Combined, OfOneRow, PairSide, WeightPart, one_row_parts, weight_parts
from streamshed.spark.operators.analysis import complaint

_SIDES = {Side.LEFT: PairSide.LEFT, Side.RIGHT: PairSide.RIGHT}


@dataclass(frozen=True)
class JoinWeight:
    """The weight of pairs, by columns that their rows have for it.

    Args:
        parts: What it is made of.

    Example:
        >>> from streamshed.network.sql.expression import parse_expression
        >>> weight = JoinWeight(weight_parts(parse_expression("a_x * b_y - b_y"), ["a_x"], ["b_y"]))
        >>> (x,), (y,) = weight.columns
        >>> left, right = pa.table({x: [2.0, 5.0, None]}), pa.table({y: [10.0, 0.5, 1.0]})
        >>> weight(left, right).tolist()
        [10.0, 2.0, nan]
    """

    parts: WeightPart

    def texts(self, side: Side) -> Mapping[str, str]:
        """Return, by the name of a column that a side's rows have for it, the SQL that it is."""
        parts_of_side = (part for part in one_row_parts(self.parts) if part.side is _SIDES[side])
        return {_column(part): part.expression.text for part in parts_of_side}

    @property
    def columns(self) -> tuple[tuple[str, ...], tuple[str, ...]]:
        """The names of those columns, of left rows and of right ones."""
        return tuple(self.texts(Side.LEFT)), tuple(self.texts(Side.RIGHT))

    def __call__(self, left: pa.Table, right: pa.Table) -> Floats:
        """Return what pairs are worth; NaN where a part of it is null.

        Args:
            left: Their left rows.
            right: Their right rows.
        """
        with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
            return _worth(self.parts, {PairSide.LEFT: left, PairSide.RIGHT: right})


def join_weight(join: JoinSource) -> JoinWeight | None:
    """Return what results of a join are worth; None: all the same."""
    weight = join.shedding.weight
    if weight is None:
        return None
    return JoinWeight(weight_parts(weight, *side_columns(join.left, join.right, join.prefixes)))


def with_worth(rows: DataFrame, weight: JoinWeight | None, side: Side) -> DataFrame:
    """Add to the rows of a side what of the weight of results they tell.

    Args:
        rows: With the columns that results have of them.
        weight: What results are worth; None: all the same.
        side: Whose rows.

    Raises:
        InvalidExpressionError: Spark refuses a part of it, or it is no number.
    """
    for name, text in ({} if weight is None else weight.texts(side)).items():
        try:
            rows = rows.withColumn(name, F.expr(f"try_cast(({text}) AS DOUBLE)"))
        except AnalysisException as error:
            raise InvalidExpressionError(f'the weight of a join, "{text}": {complaint(error, {})}') from error
    return rows


def _column(part: OfOneRow) -> str:
    return WORTH + sha256(part.expression.canonical.encode()).hexdigest()[:16]


def _worth(part: WeightPart, rows: Mapping[PairSide, pa.Table]) -> Floats:
    match part:
        case OfOneRow():
            return np.asarray(rows[part.side].column(_column(part)), np.float64)
        case Combined():
            first, second = _worth(part.first, rows), _worth(part.second, rows)
            return _combined(part.operator, first, second)
        case _:
            assert_never(part)


def _combined(operator: str, first: Floats, second: Floats) -> Floats:
    match operator:
        case "+":
            return first + second
        case "-":
            return first - second
        case "*":
            return first * second
        case _:
            return first / second
