"""Sums of decimals that do not overflow: of their halves, low + 10²⁰·high, as of whole numbers low + 2³²·high."""

from __future__ import annotations

from pyspark.sql import Column
from pyspark.sql import functions as F

from streamshed.answering.table.written import DECIMAL_HALF


def low_half(decimal: Column) -> Column:
    """The last twenty digits of a decimal without its point, with its sign."""
    return F.when(_is_small(decimal), decimal).otherwise(decimal % _half()).cast("decimal(38,0)")


def high_half(decimal: Column) -> Column:
    """The digits before those, with its sign; null where there are none: most decimals cost no division."""
    return F.when(~_is_small(decimal), F.call_function("div", decimal, _half())).cast("decimal(38,0)")


def _is_small(decimal: Column) -> Column:
    """Whether a decimal has no more than twenty digits. Spark's `abs` would round decimals to 34 of them."""
    return decimal.between(-_half() + 1, _half() - 1)


def _half() -> Column:
    return F.lit(str(DECIMAL_HALF)).cast("decimal(38,0)")
