"""How long user functions take, measured where they run and told to the driver."""

from __future__ import annotations

import time
from collections.abc import Callable
from operator import add
from typing import Any

from pyspark.accumulators import Accumulator
from pyspark.sql import SparkSession

from streamshed.spark.common.gathered import gathered
from streamshed.statistics.measured import CallCost

CallCosts = dict[str, CallCost]
"""By the column that a call adds to the straight line."""


def new_call_costs(spark: SparkSession) -> Accumulator[CallCosts]:
    """Return what tasks tell their measurements to."""
    return gathered(spark, add)


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
