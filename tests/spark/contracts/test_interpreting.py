"""A streaming query has a session of its own, whose settings say whether the next micro-batch is compiled."""

from __future__ import annotations

from typing import Any

from pyspark.sql import SparkSession

from streamshed.spark.loop.interpreting import INTERPRETED, Interpreting
from tests.spark.contracts.test_read_limits import QUERY


def test_a_query_has_a_session_of_its_own(spark: SparkSession) -> None:
    java: Any = spark.sparkContext._jvm  # noqa: SLF001 - Spark has no public way
    returned = {method.getName(): method.getReturnType() for method in java.java.lang.Class.forName(QUERY).getMethods()}
    assert returned["sparkSessionForStream"].getSimpleName() == "SparkSession"


def test_a_session_has_the_settings_while_a_query_starts(spark: SparkSession) -> None:
    session = spark.newSession()
    before = {name: session.conf.get(name) for name in INTERPRETED}
    with Interpreting(session, is_wanted=True).settings():
        plan: Any = session.range(1).selectExpr("id + 1")._jdf.queryExecution().executedPlan()  # noqa: SLF001
        assert "*(1)" not in plan.toString()
    plan = session.range(1).selectExpr("id + 1")._jdf.queryExecution().executedPlan()  # noqa: SLF001
    assert ("*(1)" in plan.toString()) == (before["spark.sql.codegen.wholeStage"] == "true")
    assert {name: session.conf.get(name) for name in INTERPRETED} == before


def test_what_the_session_says_itself_holds(spark: SparkSession) -> None:
    session = spark.newSession()
    session.conf.set("spark.sql.codegen.wholeStage", "true")
    with Interpreting(session, is_wanted=True).settings():
        assert session.conf.get("spark.sql.codegen.wholeStage") == "true"
