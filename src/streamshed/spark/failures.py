"""Telling what Spark raises from what is a bug of ours."""

from __future__ import annotations

import re

from py4j.protocol import Py4JError
from pyspark.errors import PySparkException


def is_failure_of_spark(error: BaseException) -> bool:
    """Tell whether an error is Spark's, such as that of a query that ended by a failure, and not one of Python's."""
    return isinstance(error, PySparkException | Py4JError)


_JAVA_CLASS = re.compile(r"^(?:Caused by: )?(?:[\w$]+\.)+[\w$]+(?:: |$)")


def innermost_cause(error: BaseException) -> str:
    r"""Take out of an error of Spark's the sentence that says why, without stack traces and classes of Java.

    Example:
        >>> text = "An error occurred while calling X.\n: java.lang.IllegalStateException: stopped\n\tat a.B.c(D:1)"
        >>> innermost_cause(RuntimeError(text))
        'stopped'
        >>> innermost_cause(RuntimeError(text + "\nCaused by: java.io.IOException: no route\n\tat a.B.d(D:2)"))
        'no route'
    """
    lines = [line.strip().removeprefix(": ") for line in str(error).splitlines()]
    told = [line for line in lines if _JAVA_CLASS.match(line)] or [line for line in lines if line]
    return _JAVA_CLASS.sub("", told[-1]) or told[-1] if told else type(error).__name__
