"""Spark's own answers, written down by `scripts/spark_expressions.py`."""

import json

import pytest

from streamshed.columnar.expressions.dialect import Dialect
from tests.oracles.evaluation import evaluation
from tests.oracles.odd_rows import odd_rows
from tests.oracles.written_answers import ANSWERS, DIALECTS, line

ROWS = odd_rows()


@pytest.mark.parametrize("dialect", DIALECTS, ids=str)
def test_expressions_answer_what_spark_answers_and_leave_the_same_rows_to_it(dialect: Dialect) -> None:
    compared = 0
    for text in ANSWERS.read_text(encoding="utf-8").splitlines():
        answer = json.loads(text)
        if (answer["ansi"], answer["zone"]) == (dialect.ansi, dialect.time_zone):
            result = evaluation(answer["sql"], ROWS, dialect)
            assert result is not None, f"{answer['sql']} is left to Spark now"
            assert line(dialect, result, result.values) == text
            compared += 1
    assert compared > 80
