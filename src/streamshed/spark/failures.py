"""Telling what Spark raises from what is a bug of ours."""

from __future__ import annotations

from py4j.protocol import Py4JError
from pyspark.errors import PySparkException


def is_failure_of_spark(error: BaseException) -> bool:
    """Tell whether an error is Spark's, such as that of a query that ended by a failure, and not one of Python's."""
    return isinstance(error, PySparkException | Py4JError)
