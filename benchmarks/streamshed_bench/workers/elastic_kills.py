"""How long a run takes to recover when an executor is killed, and then a whole worker."""

from __future__ import annotations

import os
import signal
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from streamshed.elasticity.settings import ElasticSettings
from streamshed.elasticity.workers import WorkerLimits
from streamshed.traces.aligned_start import aligned_start
from streamshed_bench.errors import UnfinishedBenchmarkError
from streamshed_bench.workers.elastic_network import feed_rows
from streamshed_bench.workers.elastic_runs import EARLY_SECONDS, rows_since, started, warmed
from streamshed_bench.workers.elastic_sizes import ElasticSizes

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

    from streamshed.spark import Run
    from streamshed.spark.cluster.standalone_cluster import ClusterWorker, StandaloneCluster

KILLED_OF = 2
"""So many executors run; one more worker is there to take the place of what is killed."""

KILL_LOAD = 3.0
_KILLED = ("executor", "worker")
_MIDST = 0.3
"""When in a trigger interval: a micro-batch runs then."""

_CALM_TRIGGERS = 3
_MOST_TRIGGERS = 24


@dataclass(frozen=True, slots=True)
class Kill:
    """What was killed, and when.

    Attributes:
        what: `executor` or `worker`.
        at_seconds: Since the epoch.
    """

    what: str
    at_seconds: float


@dataclass(frozen=True, slots=True, kw_only=True)
class KillsRun:
    """A run under steady load, in the midst of which an executor and a worker were killed.

    Attributes:
        kills: What was killed, in order.
        rows: The journal's rows.
    """

    kills: tuple[Kill, ...]
    rows: list[dict[str, Any]]

    def figures(self) -> dict[str, float]:
        """Return how long it took to recover from each, and how many were replaced."""
        recoveries = {
            f"{kill.what}_recovery_seconds": recovery_seconds(self.rows, kill.at_seconds) for kill in self.kills
        }
        return recoveries | {"killed_replaced": float(self.rows[-1]["workers_replaced"])}


def recovery_seconds(rows: list[dict[str, Any]], killed_at_seconds: float) -> float:
    """Return how long after a kill the first micro-batch was through that began on as many workers as before.

    Raises:
        UnfinishedBenchmarkError: None was.
    """
    for row in rows:
        is_later = row["started_at_seconds"] > killed_at_seconds
        if is_later and row["workers_running"] >= KILLED_OF and not row["workers_starting"]:
            return float(row["started_at_seconds"] + row["processing_seconds"] - killed_at_seconds)
    raise UnfinishedBenchmarkError("elastic: what was killed was not replaced before the run ended")


def run_kills(
    spark: SparkSession,
    cluster: StandaloneCluster,
    folder: Path,
    sizes: ElasticSizes,
    progress: Callable[[float], None],
) -> KillsRun:
    """Feed a steady load, kill an executor once it runs calmly, and a worker once that was replaced.

    Raises:
        UnfinishedBenchmarkError: It does not get through the warm-up, stops, or what was killed does not come back.
    """
    elastic = ElasticSettings(limits=WorkerLimits(least=KILLED_OF, most=KILLED_OF), start_seconds=sizes.start_seconds)
    running, watched = started(spark, folder, sizes, elastic)
    kills: list[Kill] = []
    with running:
        first = warmed(running, watched, sizes)
        start = aligned_start(time.time() + sizes.trigger_seconds, sizes.trigger_seconds)
        for number in range(_MOST_TRIGGERS):
            _awaited(running, start + number * sizes.trigger_seconds - EARLY_SECONDS)
            feed_rows(watched, sizes, first=first + number, load=KILL_LOAD, place=os.rename)
            progress((number + 1) / _MOST_TRIGGERS)
            is_whole = _is_whole(running, kills)
            if is_whole and len(kills) == len(_KILLED):
                break
            if is_whole and number >= _CALM_TRIGGERS:
                _awaited(running, start + (number + _MIDST) * sizes.trigger_seconds)
                kills.append(_killed(spark, cluster, _KILLED[len(kills)]))
    return KillsRun(kills=tuple(kills), rows=rows_since(running, start))


def _awaited(running: Run, until_seconds: float) -> None:
    if running.await_termination(max(0.01, until_seconds - time.time())):
        raise UnfinishedBenchmarkError("elastic: the network has stopped")


def _is_whole(running: Run, kills: list[Kill]) -> bool:
    """Whether a micro-batch has begun, since the last kill was noticed, on as many workers as before it."""
    status = running.status()
    scaling = status.scaling
    if scaling is None or (kills and status.started_at_seconds <= kills[-1].at_seconds):
        return False
    is_whole = scaling.workers_running >= KILLED_OF and not scaling.workers_starting
    return is_whole and scaling.workers_replaced >= len(kills)


def _killed(spark: SparkSession, cluster: StandaloneCluster, what: str) -> Kill:
    worker, pid = _busy(spark, cluster)[0]
    at_seconds = time.time()
    if what == "executor":
        os.kill(pid, signal.SIGKILL)
    else:
        worker.kill()
    return Kill(what, at_seconds)


def _busy(spark: SparkSession, cluster: StandaloneCluster) -> list[tuple[ClusterWorker, int]]:
    """The workers with an executor that counts, and its process."""
    from streamshed.spark.cluster.executors import executor_ids

    executors = executor_ids(spark)
    living = [worker for worker in cluster.workers if worker.daemon.poll() is None]
    pids_by_worker = [(worker, worker.executor_pids()) for worker in living]
    return [(worker, pids[executor]) for worker, pids in pids_by_worker for executor in executors if executor in pids]
