"""Python workers that begin while a network is still laid out, and whether they can read topics."""

from __future__ import annotations

import logging
import socket
import sys
import threading
from collections.abc import Iterable, Iterator
from concurrent.futures import Future, InvalidStateError
from contextlib import suppress
from dataclasses import dataclass, field
from importlib.util import find_spec

import pyarrow as pa
from pyspark.errors import PySparkException
from pyspark.sql import SparkSession

from streamshed.spark.cluster.executors import has_executors
from streamshed.spark.common.in_arrow import in_arrow

_PATIENCE_SECONDS = 60.0
"""How long it is waited for what workers have: where Spark asks for executors itself, there may be none for long."""

_log = logging.getLogger(__name__)


@dataclass(eq=False)
class _Workers:
    """Those of an application.

    Attributes:
        obstacle: Why tasks cannot read topics; empty: they can. It is settled once.
        said_of: The streams of which it has been said.
    """

    obstacle: Future[str] = field(default_factory=Future)
    said_of: set[str] = field(default_factory=set)

    def settle(self, obstacle: str) -> None:
        """Settle why they cannot, unless that is done."""
        with suppress(InvalidStateError):
            self.obstacle.set_result(obstacle)


def begin_workers(spark: SparkSession) -> None:
    """Let as many Python workers begin as tasks can run at once, and do not wait for them.

    The first to begin on a machine takes seconds, as it imports what all need: about as long as `start` takes before
    the first micro-batch. An application has its workers begun once.

    Args:
        spark: The session.
    """
    application = _application(spark)
    if application not in _BEGUN:
        _BEGUN[application] = workers = _Workers()
        threading.Thread(target=_run, args=(spark, workers), name="streamshed-workers", daemon=True).start()


def obstacle_to_topics(spark: SparkSession, stream: str) -> str:
    """Return why tasks cannot read topics, although the driver could; empty: they can.

    It is the same for an application from its first answer on, and is logged once for each stream. It may wait for
    workers.

    Args:
        spark: The session.
        stream: The stream whose topics they are to read.
    """
    if not has_executors(spark) and spark.sparkContext.pythonExec == sys.executable:
        return ""
    begin_workers(spark)
    workers = _BEGUN[_application(spark)]
    try:
        obstacle = workers.obstacle.result(_PATIENCE_SECONDS)
    except TimeoutError:
        seconds = f"{_PATIENCE_SECONDS:.0f} s"
        workers.settle(f"within {seconds} no worker has said whether it has the extra streamshed[kafka]")
        obstacle = workers.obstacle.result()
    if obstacle and stream not in workers.said_of:
        workers.said_of.add(stream)
        _log.warning('stream "%s": Spark reads its records: %s', stream, obstacle)
    return obstacle


_BEGUN: dict[str, _Workers] = {}
"""The workers that have begun, by application."""


def _application(spark: SparkSession) -> str:
    return spark.sparkContext.applicationId or ""


def _run(spark: SparkSession, workers: _Workers) -> None:
    count = spark.sparkContext.defaultParallelism
    try:
        lacking = in_arrow(spark.range(0, count, 1, count), _lacking, "place string").collect()
    except PySparkException:
        # Where workers cannot begin, or the session ends, the network's own tasks say so.
        workers.settle("workers do not say whether they have the extra streamshed[kafka]")
        return
    places = sorted({row.place for row in lacking})
    workers.settle(f"the extra streamshed[kafka] is not installed where tasks run: {places[0]}" if places else "")


def _lacking(record_batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    """Yield the place of this worker, if it lacks the client of Kafka."""
    places = [f"{sys.executable} on {socket.gethostname()}"] if find_spec("confluent_kafka") is None else []
    for rows in record_batches:
        yield pa.RecordBatch.from_pydict({"place": pa.array(places[: rows.num_rows], pa.string())})
