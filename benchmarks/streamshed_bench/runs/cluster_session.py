"""A session whose executors are on a cluster that the benchmark has started on this machine."""

from __future__ import annotations

import sys
from collections.abc import Mapping
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


def cluster_session(
    name: str, url: str, *, memory: str, executor_memory: str, options: Mapping[str, str] | None = None
) -> SparkSession:
    """Start an application on a cluster on the loopback address, with executors of a core each.

    Args:
        name: What runs, for Spark's own records.
        url: The cluster's master.
        memory: Of the driver, such as "4g".
        executor_memory: Of an executor.
        options: More settings of Spark.

    Raises:
        JavaUnavailableError: There is no Java, or it is too old.
    """
    from streamshed.spark import local_session

    settings = {
        "spark.executor.cores": "1",
        "spark.executor.memory": executor_memory,
        "spark.driver.host": "127.0.0.1",
        "spark.driver.bindAddress": "127.0.0.1",
        **(options or {}),
    }
    spark = local_session(f"streamshed bench {name}", memory=memory, master=url, options=settings)
    # The cluster is on this machine; elsewhere its own Python would be the one that has streamshed.
    spark.sparkContext.pythonExec = sys.executable
    return spark
