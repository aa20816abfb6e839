"""Where a benchmark works: a folder that is gone afterwards, and a Spark session."""

from __future__ import annotations

import contextlib
import itertools
import os
import tempfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from streamshed_bench.runs.cluster_session import cluster_session

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

_MEMORY = "4g"
_EXECUTOR_MEMORY = "1500m"
_WORKER_MEMORY = "1700m"


class Workplace:
    """A folder for all that a benchmark writes.

    Args:
        folder: The folder.
    """

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self._numbers = itertools.count()

    def new(self, name: str) -> Path:
        """Return a path that nothing has been written to."""
        return self.folder / f"{next(self._numbers):03d}_{name}"


@contextmanager
def workplace() -> Iterator[Workplace]:
    """Make a workplace in the system's folder for temporary files; it is removed at the end.

    Raises:
        JavaUnavailableError: There is no Java, or it is too old: better now than when everything is staged.
    """
    from streamshed.spark.cluster.session import require_java

    require_java()
    with tempfile.TemporaryDirectory(prefix="streamshed-bench-", ignore_cleanup_errors=True) as folder:
        yield Workplace(Path(folder))


@contextmanager
def bench_session(
    name: str, *, cluster: Path | None = None, options: Mapping[str, str] | None = None
) -> Iterator[SparkSession]:
    """Start Spark in this process, on all cores, and stop it at the end.

    Args:
        name: What runs, for Spark's own records.
        cluster: A folder for a standalone cluster whose executors do the work instead, one for each core.
        options: More settings of Spark, where it runs in this process.

    Raises:
        JavaUnavailableError: There is no Java, or it is too old.
    """
    from streamshed.spark import local_session
    from streamshed.spark.cluster.java_process import start_quietly

    start_quietly(memory=_MEMORY, options=options or {})
    with contextlib.ExitStack() as stack:
        if cluster is None:
            spark = local_session(f"streamshed bench {name}", memory=_MEMORY, options=options)
        else:
            spark = _on_cluster(name, cluster, stack)
        stack.callback(spark.stop)
        yield spark


def _on_cluster(name: str, folder: Path, stack: contextlib.ExitStack) -> SparkSession:
    from streamshed.spark.cluster.standalone_cluster import standalone_cluster

    cores = os.cpu_count() or 2
    cluster = stack.enter_context(standalone_cluster(folder))
    for _ in range(cores):
        cluster.add_worker(memory=_WORKER_MEMORY)
    # Nothing is measured before all of them have come.
    options = {"spark.cores.max": str(cores), "spark.scheduler.minRegisteredResourcesRatio": "1.0"}
    return cluster_session(name, cluster.url, memory=_MEMORY, executor_memory=_EXECUTOR_MEMORY, options=options)
