"""Expressions over Arrow columns against Spark itself, on rows that have every odd value of every type."""

import pytest
from pyspark.sql import SparkSession

from streamshed.columnar.expressions.dialect import ASSUMED_SETTINGS, Dialect
from tests.oracles.evaluation import evaluation
from tests.oracles.odd_expressions import Grammar
from tests.oracles.odd_rows import odd_rows
from tests.oracles.spark_answers import disagreements, spark_answers
from tests.spark.sessions import interpreting

EXPRESSIONS = 250
"""Drawn for each dialect."""
MOST_UNSURE, MOST_UNTRANSLATABLE, MOST_REFUSED = 0.15, 0.1, 0.01
"""Shares of rows and expressions: else little would be compared."""


@pytest.mark.parametrize(
    ("seed", "dialect", "compiles"),
    [
        (11, Dialect(ansi=True, time_zone="UTC"), False),
        (12, Dialect(ansi=False, time_zone="Europe/Berlin"), True),
        (13, Dialect(ansi=True, time_zone="America/Sao_Paulo"), False),
        (14, Dialect(ansi=False, time_zone="Australia/Lord_Howe"), False),
    ],
    ids=str,
)
def test_what_is_sure_is_what_spark_answers(spark: SparkSession, seed: int, dialect: Dialect, compiles: bool) -> None:
    rows, grammar = odd_rows(seed), Grammar(seed)
    evaluations = [evaluation(grammar.expression(), rows, dialect) for _ in range(EXPRESSIONS)]
    results = [result for result in evaluations if result is not None]
    answers = spark_answers(spark.newSession() if compiles else interpreting(spark), rows, results, dialect)
    assert not disagreements(results, answers)
    assert 1 - len(results) / EXPRESSIONS < MOST_UNTRANSLATABLE
    assert 1 - sum(result.sure.mean() for result in results) / len(results) < MOST_UNSURE
    assert sum(result.sql not in answers for result in results) < MOST_REFUSED * len(results)


def test_the_settings_that_are_assumed_are_those_that_spark_has(spark: SparkSession) -> None:
    session = spark.newSession()
    settings = {name: str(session.conf.get(name)).lower() for name in ASSUMED_SETTINGS}
    assert settings == {name: value.lower() for name, value in ASSUMED_SETTINGS.items()}


@pytest.mark.parametrize(("sql", "value"), [("m.K", 1), ("m.k", 2), ("m.`K`", 1), ("(m).k", 2), ("s.k", 3), ("s.K", 3)])
def test_a_key_of_a_map_has_its_case_behind_a_dot(spark: SparkSession, sql: str, value: int) -> None:
    """So spellings of expressions differ in it; fields of structs are then two queries, which are merely not shared."""
    row = spark.range(1).selectExpr("map('K', 1, 'k', 2) AS m", "named_struct('K', 3) AS s")
    assert row.selectExpr(sql).collect()[0][0] == value


@pytest.mark.parametrize(
    ("sql", "value"),
    [("'o''neil'", "o'neil"), ("'o' 'neil'", "oneil"), ('"o""neil"', 'o"neil'), ("'o'\"neil\"", "oneil")],
)
def test_only_a_doubled_quote_is_part_of_a_text(spark: SparkSession, sql: str, value: str) -> None:
    assert spark.range(1).selectExpr(sql).collect()[0][0] == value


@pytest.mark.parametrize(("text", "is_there"), [("x\r\n", False), ("x\n", True), ("x\r", True), ("xb\r\n", True)])
def test_a_dollar_does_not_part_a_line_end(spark: SparkSession, text: str, is_there: bool) -> None:
    row = spark.createDataFrame([(text,)], "x string")
    assert row.selectExpr("x RLIKE 'x[^a]$'").collect()[0][0] is is_there
