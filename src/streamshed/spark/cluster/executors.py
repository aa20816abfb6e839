"""Executors of the running Spark application: who runs, and calls that add and remove them.

The calls go through the driver's Java process, one function each. Standalone clusters, YARN and Kubernetes have them
alike, since they go to what is common to their schedulers.

Rests on Spark's internals: tests/spark/elastic/test_workers_that_die.py.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass
from typing import Any, Protocol

from pyspark.sql import SparkSession

from streamshed.spark.common.timely import Timely

DYNAMIC = "spark.dynamicAllocation.enabled"
"""Spark's setting by which it decides on the number of executors itself."""

RELEASED = "killed by driver"
"""What Spark says of an executor that it was asked to end."""

CALL_SECONDS = 5.0
"""How long a call may take; a master that has gone lets Spark wait for two minutes."""


@dataclass(frozen=True, slots=True)
class Executor:
    """One executor.

    Attributes:
        executor_id: Its number, as text; never used again.
        cores: How many tasks it can run at a time.
        active_tasks: How many tasks it runs.
        task_seconds: What the tasks that it has done took together.
    """

    executor_id: str
    cores: int = 1
    active_tasks: int = 0
    task_seconds: float = 0.0


class Executors(Protocol):
    """Where executors come from."""

    @property
    def obstacle(self) -> str:
        """Why none can be added or removed; empty: they can."""

    def running(self) -> tuple[Executor, ...] | None:
        """Return those that run; None: that could not be told in time."""

    def request(self, total: int) -> bool:
        """Ask for so many in all; whether it was heard. Those that die are replaced up to that number."""

    def release(self, executor_ids: Collection[str]) -> bool:
        """Let go of some; whether it was heard."""

    def loss_reasons(self) -> Mapping[str, str]:
        """Return why executors have ended, as Spark tells it, by executor; the latest first, the earliest forgotten."""


class OneProcess:
    """Spark within one process, which has no executors to add: `local[*]`.

    Args:
        master: What Spark calls it.

    Example:
        >>> alone = OneProcess("local[2]")
        >>> len(alone.running()), alone.request(2), alone.obstacle
        (1, False, 'local[2] is one process, to which no worker can be added')
    """

    def __init__(self, master: str) -> None:
        self._master = master

    @property
    def obstacle(self) -> str:
        """That it is one process."""
        return f"{self._master} is one process, to which no worker can be added"

    def running(self) -> tuple[Executor, ...]:
        """Return the process."""
        return (Executor("driver"),)

    def request(self, total: int) -> bool:
        """Ask in vain, unless for what there is."""
        return total == 1

    def release(self, executor_ids: Collection[str]) -> bool:
        """Release nothing."""
        return not executor_ids

    def loss_reasons(self) -> Mapping[str, str]:
        """Return nothing: it does not outlive what it runs."""
        return {}


class ApplicationExecutors:
    """Those of an application on a cluster.

    Args:
        spark: Its session.
    """

    def __init__(self, spark: SparkSession) -> None:
        self._spark = spark
        self._calls = Timely(CALL_SECONDS)

    @property
    def obstacle(self) -> str:
        """That Spark did not answer, as long as it does not."""
        return f"Spark has not answered for {CALL_SECONDS:g} s" if self._calls.is_waiting else ""

    def running(self) -> tuple[Executor, ...] | None:
        """Return those that Spark's scheduler knows, with what is known of their tasks."""
        return self._calls.call(lambda: _running(self._spark), None)

    def request(self, total: int) -> bool:
        """Ask the cluster for so many in all."""
        return self._calls.call(lambda: request_total_executors(self._spark, total), default=False)

    def release(self, executor_ids: Collection[str]) -> bool:
        """Kill some; tasks that they run are run again elsewhere, and do not count as failed."""
        return self._calls.call(lambda: kill_executors(self._spark, executor_ids), default=False)

    def loss_reasons(self) -> Mapping[str, str]:
        """Return what Spark's status store says, a moment late."""
        nothing: Mapping[str, str] = {}
        return self._calls.call(lambda: loss_reasons(self._spark), nothing)


def has_executors(spark: SparkSession) -> bool:
    """Tell whether a session's tasks run in executors of a cluster, and not in its own process."""
    master = spark.sparkContext.master or ""
    return not master.startswith("local") or master.startswith("local-cluster")


def executors_of(spark: SparkSession) -> Executors:
    """Return the executors of a session's application."""
    return ApplicationExecutors(spark) if has_executors(spark) else OneProcess(spark.sparkContext.master or "")


def _running(spark: SparkSession) -> tuple[Executor, ...]:
    figures = executor_figures(spark)
    return tuple(figures.get(executor_id, Executor(executor_id)) for executor_id in executor_ids(spark))


def executor_ids(spark: SparkSession) -> list[str]:
    """Return the executors that have registered with the scheduler and were not lost."""
    return [str(executor_id) for executor_id in _listed(spark, _context(spark).getExecutorIds())]


def executor_figures(spark: SparkSession) -> dict[str, Executor]:
    """Return what Spark's status store says of the executors that run, a moment late; it needs no web page."""
    executors = [
        Executor(
            summary.id(),
            cores=max(1, int(summary.totalCores())),
            active_tasks=int(summary.activeTasks()),
            task_seconds=summary.totalDuration() / 1000,
        )
        for summary in _listed(spark, _context(spark).statusStore().executorList(True))
    ]
    return {executor.executor_id: executor for executor in executors}


def loss_reasons(spark: SparkSession) -> dict[str, str]:
    """Return why executors were lost, as Spark's status store says it, the latest first; those released are among them.

    It forgets the earliest of more than a hundred (`spark.ui.retainedDeadExecutors`).
    """
    gone = [one for one in _listed(spark, _context(spark).statusStore().executorList(False)) if not one.isActive()]
    times = [one.removeTime() for one in gone]
    latest = sorted(zip(times, gone, strict=True), key=lambda pair: -_milliseconds(pair[0]))
    return {str(one.id()): _text(one.removeReason()) for _, one in latest}


def _milliseconds(time: Any) -> int:
    return int(time.get().getTime()) if time.isDefined() else 0


def _text(reason: Any) -> str:
    return str(reason.get()) if reason.isDefined() else ""


def request_total_executors(spark: SparkSession, total: int) -> bool:
    """Tell the cluster how many executors the application wants in all; whether it was heard."""
    nowhere = getattr(getattr(_java(spark), "scala.collection.immutable.Map$"), "MODULE$").empty()
    return bool(_context(spark).requestTotalExecutors(total, 0, nowhere))


def kill_executors(spark: SparkSession, ids: Collection[str]) -> bool:
    """Kill executors, and want so many fewer; whether it was heard."""
    java = _java(spark)
    listed = java.java.util.ArrayList()
    for executor_id in ids:
        listed.add(executor_id)
    sequence = java.scala.jdk.javaapi.CollectionConverters.asScala(listed).toSeq()
    return bool(_context(spark).killExecutors(sequence))


def _listed(spark: SparkSession, sequence: Any) -> Any:
    """A sequence of Scala's as a list of Java's, which Python can iterate over."""
    return _java(spark).scala.jdk.javaapi.CollectionConverters.asJava(sequence)


def _context(spark: SparkSession) -> Any:
    context: Any = spark.sparkContext
    return context._jsc.sc()  # noqa: SLF001 - PySpark's own context has none of these calls


def _java(spark: SparkSession) -> Any:
    return spark.sparkContext._jvm  # noqa: SLF001 - the same
