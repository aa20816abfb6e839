"""Decimals travel with all their digits, however many."""

from __future__ import annotations

import random
from decimal import Decimal, localcontext

import pytest
from pyspark.sql import SparkSession
from pyspark.sql import functions as F
from pyspark.sql import types as T

from streamshed.errors import InvalidNetworkError
from streamshed.network.network import network
from streamshed.network.sources import folder
from streamshed.network.stream import stream
from streamshed.spark.value_kind import carried
from tests.spark.event_times import at


@pytest.mark.parametrize(
    ("precision", "scale"),
    [(10, 2), (32, 0), (32, 10), (32, 32), (33, 1), (33, 32), (38, 0), (38, 10), (38, 18), (38, 30), (38, 32)],
)
def test_a_decimal_without_its_point_keeps_every_digit(spark: SparkSession, precision: int, scale: int) -> None:
    chance = random.Random(precision * 100 + scale)
    digits = [0, 1, -1, 10**precision - 1, 1 - 10**precision]
    digits += [chance.randrange(10 ** chance.randint(1, precision)) * chance.choice((1, -1)) for _ in range(50)]
    with localcontext(prec=50):
        decimals = [(Decimal(number).scaleb(-scale),) for number in digits]
    rows = spark.createDataFrame([*decimals, (None,)], f"v decimal({precision},{scale})")
    found = rows.select(carried(F.col("v"), T.DecimalType(precision, scale)).decimal.alias("unscaled")).collect()
    assert [row.unscaled if row.unscaled is None else int(row.unscaled) for row in found] == [*digits, None]


def test_more_digits_after_the_point_are_refused(spark: SparkSession) -> None:
    rows = spark.createDataFrame([(at(0), Decimal(1))], "ts timestamp, v decimal(38,33)")
    source = folder("/nowhere", "parquet", schema="ts timestamp, v decimal(38,33)")
    queries = network(stream("s", source, time="ts").window("10 seconds").agg(total="sum(v)").query("q"))
    with pytest.raises(InvalidNetworkError, match=r"sum does not take decimal\(38,33\).*at most 32 digits after"):
        queries.answers(spark, {"s": rows})
