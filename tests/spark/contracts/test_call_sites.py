"""PySpark can be kept from noting which line built a column, which else costs many round trips to Java."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import ExitStack
from typing import Any

import pytest
from pyspark.errors import AnalysisException
from pyspark.sql import Column, SparkSession
from pyspark.sql import functions as F

from streamshed.spark.common.call_sites import without_call_sites

COLUMNS = 20


def _round_trips(spark: SparkSession, monkeypatch: pytest.MonkeyPatch, built: Callable[[], Column]) -> int:
    """How often Java is asked anything."""
    client, asked = spark.sparkContext._gateway._gateway_client, []  # type: ignore[union-attr] # noqa: SLF001
    send = client.send_command

    def counted(*arguments: Any, **named: Any) -> Any:
        asked.append(arguments[0])
        return send(*arguments, **named)

    with monkeypatch.context() as patch:
        patch.setattr(client, "send_command", counted)
        built()
    return len([command for command in asked if not command.startswith("m\n")])


def _sum() -> Column:
    total = F.lit(0)
    for _ in range(COLUMNS):
        total = total + 1
    return total


def test_columns_take_few_round_trips(spark: SparkSession, monkeypatch: pytest.MonkeyPatch) -> None:
    spark.range(1).select(_sum())
    noting = _round_trips(spark, monkeypatch, _sum)
    with without_call_sites():
        silent = _round_trips(spark, monkeypatch, _sum)
    assert silent <= 3 * (COLUMNS + 1)
    assert noting > 2 * silent
    assert _round_trips(spark, monkeypatch, _sum) == noting


def _call_site(spark: SparkSession) -> str:
    """Where Spark says that a column was built that cannot be."""
    with pytest.raises(AnalysisException) as failed:
        spark.range(1).select(F.lit("a") + F.array(F.lit(1))).collect()
    return "".join(found.callSite() for found in failed.value.getQueryContext())


def test_errors_are_as_before_afterwards(spark: SparkSession) -> None:
    assert "test_call_sites.py" in _call_site(spark)
    with without_call_sites():
        assert "test_call_sites.py" not in _call_site(spark)
    assert "test_call_sites.py" in _call_site(spark)


def test_those_at_the_same_time_may_end_in_any_order(spark: SparkSession) -> None:
    _call_site(spark)
    first, second = ExitStack(), ExitStack()
    first.enter_context(without_call_sites())
    second.enter_context(without_call_sites())
    first.close()
    assert "test_call_sites.py" not in _call_site(spark)
    second.close()
    assert "test_call_sites.py" in _call_site(spark)
