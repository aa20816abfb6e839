"""A run on a cluster without any executor: it is waited for one, but not for ever.

Spark waits without end and without a word: tasks ask for plans, and the journal follows finished micro-batches, so that
nothing of ours would be called either.

Rests on Spark's internals: tests/spark/elastic/test_nothing_to_run_on.py.
"""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Callable, Sequence

from pyspark.sql import SparkSession
from pyspark.sql.streaming.query import StreamingQuery

from streamshed.elasticity.lasting import NOT_YET
from streamshed.errors import ClusterUnavailableError
from streamshed.spark.cluster.cluster_facts import cluster_facts
from streamshed.spark.cluster.executors import DYNAMIC, executor_ids, has_executors
from streamshed.spark.cluster.missing_executors import missing_executors

LOOK_EVERY_SECONDS = 1.0
_LOOK_AT_START_SECONDS = 0.1
_CLOSING_SECONDS = 2.0

_log = logging.getLogger(__name__)


class ExecutorWatch:
    """Looks every second whether a run can do something, and gives it up where it has not been able to for too long.

    Args:
        is_stuck: Whether there is something to do and no executor to do it.
        explain: Says why, after so many seconds.
        give_up: Ends the run.
        patience_seconds: How long it may be stuck.
    """

    def __init__(
        self,
        is_stuck: Callable[[], bool],
        explain: Callable[[float], str],
        give_up: Callable[[], None],
        *,
        patience_seconds: float,
    ) -> None:
        self._is_stuck, self._explain, self._give_up = is_stuck, explain, give_up
        self._patience_seconds = patience_seconds
        self._stuck = NOT_YET
        self._failure: ClusterUnavailableError | None = None
        self._closed = threading.Event()
        self._thread: threading.Thread | None = None

    @property
    def failure(self) -> ClusterUnavailableError | None:
        """Why the run was given up; None: it was not."""
        return self._failure

    def start(self) -> None:
        """Begin to look."""
        self._thread = threading.Thread(target=self._run, name="streamshed-executor-watch", daemon=True)
        self._thread.start()

    def close(self) -> None:
        """Look no more."""
        self._closed.set()
        if self._thread is not None and self._thread is not threading.current_thread():
            self._thread.join(_CLOSING_SECONDS)

    def look(self, now_seconds: float) -> bool:
        """Look once; return whether the run was given up.

        Args:
            now_seconds: On a clock that never goes back.
        """
        self._stuck = self._stuck.observed(self._is_stuck_now(), now_seconds)
        if not self._stuck.for_seconds(self._patience_seconds, now_seconds) or self._closed.is_set():
            return False
        explanation = self._explained(now_seconds - (self._stuck.since_seconds or 0.0))
        # Looking for the reason took a while.
        if self._closed.is_set() or not self._is_stuck_now():
            return False
        self._failure = ClusterUnavailableError(explanation)
        self._give_up()
        return True

    def _run(self) -> None:
        while not self._closed.wait(LOOK_EVERY_SECONDS):
            if self.look(time.monotonic()):
                return

    def _explained(self, seconds: float) -> str:
        try:
            return self._explain(seconds)
        except Exception as error:  # noqa: BLE001 - whatever it is, the run is not to wait for ever
            return f"no worker (executor) has run for {seconds:.0f} s, and why cannot be told: {error}"

    def _is_stuck_now(self) -> bool:
        try:
            return self._is_stuck()
        except Exception:  # noqa: BLE001 - without Spark the run fails of itself
            _log.debug("Spark does not say whether executors run", exc_info=True)
            return False


def executor_watch(
    spark: SparkSession,
    queries: Callable[[], Sequence[StreamingQuery]],
    give_up: Callable[[], None],
    *,
    patience_seconds: float,
) -> ExecutorWatch | None:
    """Return a watch over a run's queries; None: they need no executors.

    Args:
        spark: The session.
        queries: Returns those that run.
        give_up: Ends them.
        patience_seconds: How long there may be work and no executor.
    """
    if not has_executors(spark):
        return None
    return ExecutorWatch(
        lambda: _is_stuck(spark, queries()),
        lambda seconds: missing_executors(cluster_facts(spark), seconds),
        give_up,
        patience_seconds=patience_seconds,
    )


def await_executor(spark: SparkSession, *, patience_seconds: float) -> None:
    """Wait for the first executor; not where Spark itself asks for them only once there is work.

    Raises:
        ClusterUnavailableError: None has come for so long, or the cluster has ended the application.
    """
    if not has_executors(spark) or spark.sparkContext.getConf().get(DYNAMIC, "false").lower() == "true":
        return
    began = time.monotonic()
    while not _has_any(spark):
        waited = time.monotonic() - began
        if waited >= patience_seconds:
            raise ClusterUnavailableError(missing_executors(cluster_facts(spark), waited))
        time.sleep(_LOOK_AT_START_SECONDS)


def _has_any(spark: SparkSession) -> bool:
    if spark.sparkContext._jsc.sc().isStopped():  # noqa: SLF001 - PySpark's own context does not tell
        raise ClusterUnavailableError(
            f'the application has ended on the cluster "{spark.sparkContext.master}" (was it killed, or has its master'
            " refused it?)"
        )
    return bool(executor_ids(spark))


def _is_stuck(spark: SparkSession, queries: Sequence[StreamingQuery]) -> bool:
    """Who has nothing to do needs no executor: Spark's dynamic allocation leaves none then."""
    if executor_ids(spark) or not any(query.isActive and query.status["isTriggerActive"] for query in queries):
        return False
    return bool(spark.sparkContext.statusTracker().getActiveJobsIds())
