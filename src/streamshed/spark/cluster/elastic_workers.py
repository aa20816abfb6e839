"""The workers of an application as its time domains begin: as many as they are known to need, or as few as may be."""

from __future__ import annotations

import os
import time
from collections.abc import Mapping, Sequence

from pyspark.sql import SparkSession

from streamshed.elasticity.settings import ElasticSettings
from streamshed.errors import InvalidNetworkError
from streamshed.spark.cluster.domain_scaling import DomainWorkers
from streamshed.spark.cluster.executor_pool import ExecutorPool
from streamshed.spark.cluster.executors import DYNAMIC, Executors, executors_of
from streamshed.spark.cluster.shared_workers import SharedWorkers

DEFAULT_PIECES = 8
"""State partitions of a new checkpoint where neither they nor the most workers are told."""


def elastic_workers(
    spark: SparkSession, settings: ElasticSettings, clocks: Sequence[str], *, partitions: int, period_seconds: float
) -> Mapping[str, DomainWorkers]:
    """Take over the executors of a session; those that there are stay until `begin_with` says how many there should be.

    Args:
        spark: The session.
        settings: What is asked of elasticity.
        clocks: The time domains that share them.
        partitions: State partitions; more workers than these can use are of no use where no limit is told.
        period_seconds: How long figures of executors are gathered before they are compared.

    Returns:
        By clock, what a time domain has of them.

    Raises:
        InvalidNetworkError: Spark is to decide on the number of executors itself.
    """
    if spark.sparkContext.getConf().get(DYNAMIC, "false").lower() == "true":
        raise InvalidNetworkError(
            f"elastic: {DYNAMIC} is on, so that Spark, too, would add and remove workers (by waiting tasks, which says"
            " little of streams): switch it off, or leave elastic out"
        )
    executors, limits = executors_of(spark), settings.limits
    cores = _cores(spark, executors)
    pool = ExecutorPool(
        executors,
        most=limits.most or max(limits.least, -(-partitions // cores)),
        start_seconds=settings.start_seconds,
        period_seconds=period_seconds,
    )
    pool.workers(time.time())
    wants: dict[str, int] = {}
    return {clock: DomainWorkers(settings, pool, SharedWorkers(pool, wants, clock), cores) for clock in clocks}


def begin_with(workers: Mapping[str, DomainWorkers], first: Mapping[str, int]) -> None:
    """Ask for the workers to begin with; the control loops ask for others later.

    Args:
        workers: What each time domain has of them; none where their number is fixed.
        first: How many each of these needs. The largest number is enough for all, as each takes its share of the time.
    """
    for domain_workers in list(workers.values())[:1]:
        domain_workers.pool.want(min(max(first.values()), domain_workers.pool.most), time.time())


def default_partitions(spark: SparkSession, settings: ElasticSettings | None) -> int:
    """Return how many state partitions a new checkpoint gets, so that all cores of all workers there may be have some.

    Args:
        spark: The session.
        settings: What is asked of elasticity; None: nothing, and there are as many as cores.
    """
    if settings is None:
        return min(spark.sparkContext.defaultParallelism, os.cpu_count() or 1)
    limits = settings.limits
    if limits.partitions:
        return limits.partitions
    cores = _cores(spark, executors_of(spark))
    return limits.most * cores if limits.most else max(limits.least * cores, DEFAULT_PIECES)


def _cores(spark: SparkSession, executors: Executors) -> int:
    """How many tasks a worker runs at a time: the most that a running one does, else as Spark is configured."""
    configured_cores = int(spark.sparkContext.getConf().get("spark.executor.cores", "1") or 1)
    return max((executor.cores for executor in executors.running() or ()), default=configured_cores)
