"""A Spark session for a command: started with a word to who waits, stopped at the end."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from types import MappingProxyType
from typing import TYPE_CHECKING

import click

from streamshed.cli.terminal.consoles import waiting

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


@contextmanager
def session(
    name: str,
    *,
    cores: int | None,
    memory: str,
    master: str | None = None,
    options: Mapping[str, str] = MappingProxyType({}),
) -> Iterator[SparkSession]:
    """Start Spark in this process; what it writes itself is shown with `--debug` only.

    Args:
        name: What runs, for Spark's own records.
        cores: Threads for tasks; None: one per core.
        memory: Of Spark, such as "4g".
        master: A cluster to run on; None: this process.
        options: More settings of Spark.

    Raises:
        JavaUnavailableError: There is no Java, or it is too old.
        InvalidNetworkError: Spark knows no such master.
        ClusterUnavailableError: The cluster's master cannot be reached, or does not take the application.
    """
    from streamshed.spark import local_session
    from streamshed.spark.cluster.cluster_master import require_master
    from streamshed.spark.cluster.java_process import start_quietly

    if master is not None:
        # Before Java starts, which takes a second for nothing.
        require_master(master)
    with waiting("starting Spark"):
        if not click.get_current_context().find_root().params.get("debug"):
            start_quietly(memory=memory, options=options)
        spark = local_session(name, cores=cores, memory=memory, master=master, options=options)
    try:
        yield spark
    finally:
        spark.stop()
