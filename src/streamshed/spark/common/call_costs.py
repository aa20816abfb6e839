"""How long user functions take, measured where they run and told to the driver."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

from pyspark.accumulators import Accumulator, AccumulatorParam
from pyspark.sql import SparkSession

from streamshed.statistics.measured import CallCost

CallCosts = dict[str, CallCost]
"""By the column that a call adds to the straight line."""


class CallCostsParam(AccumulatorParam[CallCosts]):
    """How Spark brings the tasks' measurements to the driver."""

    def zero(self, value: CallCosts) -> CallCosts:
        """Return no measurements."""
        return {}

    def addInPlace(self, value1: CallCosts, value2: CallCosts) -> CallCosts:
        """Put measurements together."""
        return {name: value1.get(name, CallCost()) + value2.get(name, CallCost()) for name in {**value1, **value2}}


def new_call_costs(spark: SparkSession) -> Accumulator[CallCosts]:
    """Return what tasks tell their measurements to."""
    nothing: CallCosts = {}
    return spark.sparkContext.accumulator(nothing, CallCostsParam())


def timed(function: Callable[..., Any], column: str, costs: Accumulator[CallCosts]) -> Callable[..., Any]:
    """Wrap a function of Series so that it tells how long it took for how many rows.

    Args:
        function: The function.
        column: The column that the call adds.
        costs: Whom to tell.
    """

    def measured(*series: Any) -> Any:
        begun = time.perf_counter()
        answered = function(*series)
        costs.add({column: CallCost(float(len(series[0])), time.perf_counter() - begun)})
        return answered

    return measured
