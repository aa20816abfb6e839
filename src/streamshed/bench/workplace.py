"""Where a benchmark works: a folder that is gone afterwards, and a Spark session."""

from __future__ import annotations

import itertools
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

_MEMORY = "4g"


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
    from streamshed.spark.session import require_java

    require_java()
    with tempfile.TemporaryDirectory(prefix="streamshed-bench-", ignore_cleanup_errors=True) as folder:
        yield Workplace(Path(folder))


@contextmanager
def bench_session(name: str) -> Iterator[SparkSession]:
    """Start Spark in this process, on all cores, and stop it at the end.

    Args:
        name: What runs, for Spark's own records.

    Raises:
        JavaUnavailableError: There is no Java, or it is too old.
    """
    from streamshed.spark import local_session
    from streamshed.spark.java_process import start_quietly

    start_quietly(memory=_MEMORY)
    spark = local_session(f"streamshed bench {name}", memory=_MEMORY)
    try:
        yield spark
    finally:
        spark.stop()
