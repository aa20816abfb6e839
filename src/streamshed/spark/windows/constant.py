"""Constants that Spark works out once, not in every micro-batch.

Rests on Spark's internals: tests/spark/contracts/test_constant.py.
"""

from __future__ import annotations

from typing import Any

from pyspark.sql import Column, SparkSession
from pyspark.sql.classic.column import Column as ClassicColumn


def constant(column: Column) -> Column:
    """Return the value of an expression without columns as a literal.

    Spark optimizes a streaming query anew in every micro-batch, and so works constants out in each: 10 ms of a core for
    a map that is parsed from JSON. Its optimizer is asked to do so once. The plan's expressions and `ExpressionUtils`
    are Spark's internals; `tests/spark/contracts/test_constant.py` holds them.

    Args:
        column: An expression that gives the same whenever it is computed.
    """
    spark = SparkSession.active()
    alone: Any = spark.range(1).select(column.alias("value"))
    optimized = alone._jdf.queryExecution().optimizedPlan()  # noqa: SLF001 - plans have no public way
    literal = optimized.expressions().head().child()
    java: Any = spark.sparkContext._jvm  # noqa: SLF001 - nor have expressions
    folded: Column = ClassicColumn(java.org.apache.spark.sql.classic.ExpressionUtils.column(literal))
    return folded
