"""Spark's parser is an internal class: what it has to tell us."""

import pytest
from pyspark.sql import SparkSession

from streamshed.spark.operators.expression_checker import parser_of, readable_complaint, started_parser

GOOD = ("size >= 0", "sum(size)", "count(*)", "a.b > 1", "filter(x, y -> y > 1)", "x::int", "`odd name` + 1")
BAD = (
    ("size >>>", "Spark cannot parse it at character 9: syntax error at or near end of input"),
    ("a b c", "Spark cannot parse it at character 5: syntax error at or near 'c': extra input 'c'"),
    ("a\n+ ) b", "Spark cannot parse it at line 2, character 3: syntax error at or near ')'"),
    ("'open", "Spark cannot parse it at character 1: syntax error at or near '''"),
)


@pytest.mark.parametrize("text", GOOD)
def test_what_spark_parses(spark: SparkSession, text: str) -> None:
    assert parser_of(spark)(text) is None


@pytest.mark.parametrize(("text", "complaint"), BAD)
def test_what_spark_cannot_parse(spark: SparkSession, text: str, complaint: str) -> None:
    assert parser_of(spark)(text) == complaint


def test_a_parser_of_its_own_tells_the_same() -> None:
    with started_parser() as checker:
        assert [checker(text) for text in GOOD] == [None] * len(GOOD)
        assert [checker(text) for text, _ in BAD] == [complaint for _, complaint in BAD]


def test_a_message_of_another_form_is_kept() -> None:
    assert readable_complaint("\nNothing goes.\n\nmore") == "Spark cannot parse it: nothing goes"
