"""What tasks tell the driver, by keys: accumulators of dictionaries."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeVar

from pyspark.accumulators import Accumulator, AccumulatorParam
from pyspark.sql import SparkSession

_K = TypeVar("_K")
_V = TypeVar("_V")


def latest(_: _V, value: _V) -> _V:
    """Return the second value: what is told again replaces what was told."""
    return value


def gathered(spark: SparkSession, merge: Callable[[_V, _V], _V] = latest) -> Accumulator[dict[_K, _V]]:
    """Return what tasks add dictionaries to.

    Args:
        spark: The session.
        merge: What becomes of two values of a key; a function that can be pickled.
    """
    nothing: dict[_K, _V] = {}
    return spark.sparkContext.accumulator(nothing, _Gathering(merge))


class _Gathering(AccumulatorParam[dict[_K, _V]]):
    """How Spark brings dictionaries to the driver."""

    def __init__(self, merge: Callable[[_V, _V], _V]) -> None:
        self._merge = merge

    def zero(self, value: dict[_K, _V]) -> dict[_K, _V]:
        """Return nothing."""
        return {}

    def addInPlace(self, value1: dict[_K, _V], value2: dict[_K, _V]) -> dict[_K, _V]:
        """Put both together."""
        more = {key: self._merge(value1[key], value) if key in value1 else value for key, value in value2.items()}
        return {**value1, **more}
