"""Spark's connector to Kafka, which PySpark does not bring: what it is called, and what to do where it is missing."""

from __future__ import annotations

import re

import pyspark
from pyspark.errors import AnalysisException

from streamshed.errors import SourceUnavailableError

LATEST_SERVED = "4.2.0"
"""The latest release of the connector that is served; it works with the releases of Spark after it, too."""


def connector_package(spark_version: str = pyspark.__version__) -> str:
    """Return the connector's coordinates for a release of Spark, as `spark.jars.packages` takes them.

    Example:
        >>> connector_package("4.2.0"), connector_package("4.3.0")
        ('org.apache.spark:spark-sql-kafka-0-10_2.13:4.2.0', 'org.apache.spark:spark-sql-kafka-0-10_2.13:4.2.0')
    """
    served = min(spark_version, LATEST_SERVED, key=_numbers)
    return f"org.apache.spark:spark-sql-kafka-0-10_2.13:{served}"


def _numbers(version: str) -> list[int]:
    return [int(number) for number in re.findall(r"\d+", version)[:3]]


def refused_for_connector(error: AnalysisException, label: str) -> Exception:
    """Return the error that says what to do, if the session lacks the connector; else the same one.

    Args:
        error: Spark's.
        label: What was to be read or written.
    """
    if "DATA_SOURCE_NOT_FOUND" not in str(error) and "Failed to find data source: kafka" not in str(error):
        return error
    return SourceUnavailableError(
        f"{label}: the session has no connector to Kafka: start it with"
        f' local_session(options={{"spark.jars.packages": "{connector_package()}"}}), or with the same setting of your'
        " own session (see docs/kafka.md)"
    )
