"""Decimals travel with all their digits, however many."""

from __future__ import annotations

import random
from datetime import UTC
from decimal import Decimal, localcontext

import pytest
from pyspark.sql import SparkSession
from pyspark.sql import functions as F
from pyspark.sql import types as T

from streamshed.errors import InvalidNetworkError
from streamshed.network.model.declared_stream import stream
from streamshed.network.model.network import network
from streamshed.network.source.sources import folder
from streamshed.spark.common.value_kind import carried
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


@pytest.mark.parametrize("scale", [0, 2, 32])
def test_sums_of_more_digits_than_decimals_hold_are_exact_and_stop_nobody(spark: SparkSession, scale: int) -> None:
    """As sums of integers; Spark's own sum fails, or without ANSI mode is null."""
    chance, seconds = random.Random(scale), range(60)
    largest = 10**38 - 1
    digits = {second: chance.choice((1, -1)) * chance.randrange(10 ** chance.randint(1, 38)) for second in seconds}
    digits |= {0: largest, 1: largest, 2: 1, 20: -largest, 21: -largest, 22: largest}
    with localcontext(prec=80):
        rows = [(at(second), number % 2, Decimal(number).scaleb(-scale)) for second, number in digits.items()]
        sums = {start: sum(digits[start + second] for second in range(10)) for start in range(0, 60, 10)}
        expected = {at(start): Decimal(total).scaleb(-scale) for start, total in sums.items()}
        of_all = Decimal(sum(digits.values())).scaleb(-scale)
    columns = f"v decimal(38,{scale})"
    source = folder("/nowhere", "parquet", schema=f"ts timestamp, odd bigint, {columns}")
    packets = stream("s", source, time="ts", identity="none")
    asked = network(
        packets.window("10 seconds").agg(total="sum(v)", n="count(*)").query("by_window"),
        packets.window("1 minute", every="30 seconds").by("odd").agg(total="sum(v)").query("by_key"),
    )
    frame = spark.createDataFrame(rows, f"ts timestamp, odd bigint, {columns}")
    answers = asked.answers(spark, {"s": frame}).collect()
    totals = [row for row in answers if row.aggregate == "total"]
    assert all(row.exact for row in answers)
    with localcontext(prec=80):
        by_window = {
            row.window_start.astimezone(UTC): Decimal(row.value_text) for row in totals if row.query == "by_window"
        }
        assert {start: total for start, total in by_window.items() if start in expected} == expected
        assert max(map(abs, expected.values())) > Decimal(largest).scaleb(-scale)
        keyed = [
            Decimal(row.value_text)
            for row in totals
            if row.query == "by_key" and row.window_start.astimezone(UTC) == at(0)
        ]
        assert len(keyed) == 2
        assert sum(keyed) == of_all
    for row in totals:
        assert row.value == float(row.value_text)


_OF_INTEGERS = ("sum(l) * 2", "sum(l) - 27021597764222980", "max(a) * max(a) - max(b) * max(b)", "-max(a) * 3")
_OF_DECIMALS = (
    "max(d) - 12345678901234567890",
    "max(d) - min(d)",
    "avg(d)",
    "max(d) * 0.5",
)


def test_arithmetic_of_large_numbers_is_as_spark_says(spark: SparkSession) -> None:
    digits = ("12345678901234567890.12345678", "0.00000001", "-1.5", None, "12345678901234567890.12345679")
    longs = (2**53 + 1, 2**53 + 3, 2**62, -(2**62), 2**53 + 1)
    rows = [
        (at(0), long, 3037000499, 3037000498, None if text is None else Decimal(text))
        for long, text in zip(longs, digits, strict=True)
    ]
    columns = "ts timestamp, l bigint, a bigint, b bigint, d decimal(30,8)"
    frame = spark.createDataFrame(rows, columns)
    asked = {f"x{number}": text for number, text in enumerate((*_OF_INTEGERS, *_OF_DECIMALS))}
    source = stream("s", folder("/nowhere", "parquet", schema=columns), time="ts", identity="none")
    query = source.window("10 seconds").agg(**asked).query("q", mode="exact")
    answers = {row.aggregate: row for row in network(query).answers(spark, {"s": frame}).collect()}
    [expected] = frame.selectExpr(*[f"{text} AS {name}" for name, text in asked.items()]).collect()
    assert all(row.exact for row in answers.values())
    assert {asked[name]: row.value for name, row in answers.items()} == {
        asked[name]: float(expected[name]) for name in asked
    }
    assert {asked[name]: Decimal(row.value_text) for name, row in answers.items()} == {
        asked[name]: Decimal(expected[name]) for name in asked
    }


def test_more_digits_after_the_point_are_refused(spark: SparkSession) -> None:
    rows = spark.createDataFrame([(at(0), Decimal(1))], "ts timestamp, v decimal(38,33)")
    source = folder("/nowhere", "parquet", schema="ts timestamp, v decimal(38,33)")
    queries = network(stream("s", source, time="ts").window("10 seconds").agg(total="sum(v)").query("q"))
    with pytest.raises(InvalidNetworkError, match=r"sum does not take decimal\(38,33\).*at most 32 digits after"):
        queries.answers(spark, {"s": rows})
