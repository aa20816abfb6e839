"""Asking Spark's own parser about an SQL expression: nothing is analyzed, nothing runs.

Rests on Spark's internals: tests/spark/contracts/test_expression_checker.py.
"""

from __future__ import annotations

import contextlib
import re
from collections.abc import Iterator
from typing import Any

from py4j.protocol import Py4JJavaError
from pyspark.errors import ParseException
from pyspark.sql import SparkSession

from streamshed.network.document.document_sql import ExpressionChecker
from streamshed.spark.cluster.java_process import launch_java

_PARSE_EXCEPTION = "org.apache.spark.sql.catalyst.parser.ParseException"
_POSITION = re.compile(r"\s*\(line (?P<line>\d+), pos (?P<column>\d+)\)\s*$")
_SQL_STATE = re.compile(r"\.?\s*SQLSTATE: \w+")
_ERROR_CLASS = re.compile(r"^\[[\w.]+\]\s*")


@contextlib.contextmanager
def started_parser() -> Iterator[ExpressionChecker]:
    """Start a Java process with Spark's parser and nothing else, and end it afterwards.

    That takes half the time of a session.

    Yields:
        Tells why Spark cannot parse an expression; None where it can.

    Raises:
        JavaUnavailableError: There is no Java, or it is too old.
    """
    gateway = launch_java()
    try:
        yield _checker(gateway.jvm)
    finally:
        java_process = gateway.proc
        gateway.shutdown()
        java_process.stdin.close()  # the Java process ends with its input
        java_process.wait()


def parser_of(spark: SparkSession) -> ExpressionChecker:
    """Use the parser of a session that runs already; tells the same as `started_parser`."""
    return _checker(spark.sparkContext._jvm)  # noqa: SLF001 - the parser has no public way


def _checker(jvm: Any) -> ExpressionChecker:
    """The one place that knows Spark's parser, which is an internal class."""
    parser = jvm.org.apache.spark.sql.catalyst.parser.CatalystSqlParser()

    def complaint(text: str) -> str | None:
        try:
            parser.parseExpression(text)
        except ParseException as error:  # what PySpark makes of it once a session was started
            return readable_complaint(str(error))
        except Py4JJavaError as error:
            raised = error.java_exception
            if raised.getClass().getName() != _PARSE_EXCEPTION:
                raise
            return readable_complaint(raised.getMessage())
        return None

    return complaint


def readable_complaint(message: str) -> str:
    """Take the sentence out of a message of Spark's parser.

    Args:
        message: With error class, SQLSTATE, position and a picture of the text.

    Returns:
        One sentence, positions counted from 1.
    """
    sentence = message.strip().partition("\n")[0]
    position = _POSITION.search(sentence)
    sentence = _ERROR_CLASS.sub("", _SQL_STATE.sub("", _POSITION.sub("", sentence))).rstrip(". ")
    sentence = sentence[:1].lower() + sentence[1:]
    if position is None:
        return f"Spark cannot parse it: {sentence}"
    line = f"line {position['line']}, " if position["line"] != "1" else ""
    return f"Spark cannot parse it at {line}character {int(position['column']) + 1}: {sentence}"
