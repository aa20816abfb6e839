"""What the plan tells, as columns of rows: the values of a subquery."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F
from pyspark.sql import types as T

from streamshed.spark.internal_names import PLAN


@dataclass(frozen=True)
class Plan:
    """What a stream is told in a micro-batch.

    Attributes:
        row: One row, which may tell other streams as well: what many are told is asked for once.
        part: The column that is for this stream, a struct; None: all columns are.
    """

    row: DataFrame
    part: str | None = None


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
    told = plan.row.select(F.struct(*_told(plan))).scalar()
    whole = rows.withColumn(PLAN, F.when(F.spark_partition_id() >= 0, told))
    return whole.withColumns({name: F.col(PLAN).getField(_flat_name(plan.part, name)) for name in names}).drop(PLAN)


def _told(plan: Plan) -> list[Column]:
    """All that any stream is told, side by side: to reach into a struct in a struct, Java makes an object per row."""
    if plan.part is None:
        return [F.col(name) for name in plan.row.columns]
    return [
        F.col(field.name).getField(name).alias(_flat_name(field.name, name))
        for field in plan.row.schema
        if isinstance(field.dataType, T.StructType)
        for name in field.dataType.names
    ]


def _flat_name(part: str | None, name: str) -> str:
    return name if part is None else f"{part}{name}"
