"""Texts that `unfit_literals` refuses beside a column are those that Spark cannot take for a value of its type."""

from __future__ import annotations

import pytest
from pyspark.errors import PySparkException
from pyspark.sql import SparkSession

from streamshed.network.sql.expression import parse_expression
from streamshed.network.sql.unfit_literals import unfit_literals

TEXTS = (
    "tcp",
    "1",
    " 7 ",
    "+1",
    "1.5",
    "1e3",
    ".5",
    "5.",
    "1d",
    "2F",
    "nan",
    "-Infinity",
    "inf",
    "",
    "0x1",
    "yes",
    "F",
    "2",
)


@pytest.mark.parametrize("kind", ["int", "bigint", "double", "decimal(9,2)", "boolean"])
def test_spark_agrees(spark: SparkSession, kind: str) -> None:
    refused = {text for text in TEXTS if unfit_literals(parse_expression(f"c = '{text}'"), {"c": kind})}
    assert refused == {text for text in TEXTS if _fails(spark, kind, text)}


def _fails(spark: SparkSession, kind: str, text: str) -> bool:
    """Under ANSI rules, which are Spark's default."""
    try:
        spark.sql(f"SELECT c = '{text}' FROM (SELECT CAST(1 AS {kind}) AS c)").collect()
    except PySparkException:
        return True
    return False
