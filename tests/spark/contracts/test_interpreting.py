"""A streaming query has a session of its own, whose settings say whether the next micro-batch is compiled."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest
from pyspark.sql import SparkSession

from streamshed.spark.loop.interpreting import INTERPRETED, MOST_WRITTEN_ROWS, Interpreting
from tests.spark.contracts.test_read_limits import QUERY


def test_a_query_has_a_session_of_its_own(spark: SparkSession) -> None:
    java: Any = spark.sparkContext._jvm  # noqa: SLF001 - Spark has no public way
    returned = {method.getName(): method.getReturnType() for method in java.java.lang.Class.forName(QUERY).getMethods()}
    assert returned["sparkSessionForStream"].getSimpleName() == "SparkSession"


def test_a_session_has_the_settings_while_a_query_starts(spark: SparkSession) -> None:
    session = spark.newSession()
    before = {name: session.conf.get(name) for name in INTERPRETED}
    with Interpreting(session, is_possible=True).settings():
        assert not _is_compiled(session)
    assert _is_compiled(session) == (before["spark.sql.codegen.wholeStage"] == "true")
    assert {name: session.conf.get(name) for name in INTERPRETED} == before


def _is_compiled(session: SparkSession) -> bool:
    """Whether Spark generates code for what a session asks now."""
    plan: Any = session.range(1).selectExpr("id + 1")._jdf.queryExecution().executedPlan()  # noqa: SLF001 - likewise
    return "*(1)" in plan.toString()


@pytest.mark.parametrize(("written_rows", "is_compiled"), [(MOST_WRITTEN_ROWS, False), (MOST_WRITTEN_ROWS + 1, True)])
def test_a_micro_batch_behind_a_large_one_is_compiled_and_behind_a_small_one_interpreted(
    spark: SparkSession, *, written_rows: int, is_compiled: bool
) -> None:
    started, of_query = spark.newSession(), spark.newSession()
    interpreting = Interpreting(started, is_possible=True)
    for name, value in INTERPRETED.items():
        of_query.conf.set(name, value)
    java = SimpleNamespace(sparkSessionForStream=lambda: of_query._jsparkSession)  # noqa: SLF001 - likewise
    query: Any = SimpleNamespace(_jsq=SimpleNamespace(streamingQuery=lambda: java))
    interpreting.finished(query, written_rows)
    assert _is_compiled(of_query) == is_compiled
    interpreting.finished(query, 0)
    assert not _is_compiled(of_query)


def test_what_the_session_says_itself_holds(spark: SparkSession) -> None:
    session = spark.newSession()
    session.conf.set("spark.sql.codegen.wholeStage", "true")
    with Interpreting(session, is_possible=True).settings():
        assert session.conf.get("spark.sql.codegen.wholeStage") == "true"
