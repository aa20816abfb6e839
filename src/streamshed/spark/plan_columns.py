"""What the plan tells, as columns of rows: the values of a subquery."""

from __future__ import annotations

from collections.abc import Sequence

from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from streamshed.spark.internal_names import PLAN


def with_plan(rows: DataFrame, plan: DataFrame, names: Sequence[str]) -> DataFrame:
    """Tell every row what the plan's one row says: as the value of a subquery, which costs a row nothing.

    Spark would copy the subquery to wherever one of its columns is asked for, and look each copy up for every row. It
    does not copy what might be another at the next reading, such as the number of a task; every task has one. All rows
    that are told the same plan share one subquery, run once per micro-batch.

    Args:
        rows: The rows.
        plan: The plan's one row.
        names: What of it to tell.
    """
    whole = rows.withColumn(PLAN, F.when(F.spark_partition_id() >= 0, plan.select(F.struct("*")).scalar()))
    return whole.withColumns({name: F.col(PLAN).getField(name) for name in names}).drop(PLAN)
