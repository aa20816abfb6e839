"""What the plan tells, as columns of rows: the values of a subquery."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from streamshed.spark.common.internal_names import PLAN


@dataclass(frozen=True)
class Plan:
    """What a stream is told in a micro-batch.

    Attributes:
        row: One row, which may tell other streams as well: what many are told is asked for once.
        prefix: What the names of the columns for this stream begin with. They lie side by side with those for others:
            to reach into a struct in a struct, Java would make an object per row.
    """

    row: DataFrame
    prefix: str = ""


def with_plan(rows: DataFrame, plan: Plan, names: Sequence[str]) -> DataFrame:
    """Tell every row what the plan's one row says: as the value of a subquery, which costs a row nothing.

    Spark would copy the subquery to wherever one of its columns is asked for, and look each copy up for every row. It
    does not copy what might be another at the next reading, such as the number of a task; every task has one. All rows
    that are told the same plan share one subquery, run once per micro-batch.

    Args:
        rows: The rows.
        plan: The plan.
        names: What of it to tell.
    """
    plan_row = plan.row.select(F.struct("*")).scalar()
    whole = rows.withColumn(PLAN, F.when(F.spark_partition_id() >= 0, plan_row))
    return whole.withColumns({name: F.col(PLAN).getField(f"{plan.prefix}{name}") for name in names}).drop(PLAN)
