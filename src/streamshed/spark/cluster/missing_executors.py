"""Why no executor comes, as far as that can be told, in one sentence."""

from __future__ import annotations

from dataclasses import dataclass

from streamshed.network.words.byte_size import format_byte_size
from streamshed.spark.cluster.loss_reasons import told_loss


@dataclass(frozen=True, slots=True)
class Size:
    """What a worker of a cluster has in all, or an executor takes.

    Attributes:
        memory_bytes: Of an executor, what Spark asks a worker for.
        cores: How many tasks at a time.
    """

    memory_bytes: int
    cores: int

    def holds(self, other: Size) -> bool:
        """Tell whether there would be room for another, if nothing else were there."""
        return self.memory_bytes >= other.memory_bytes and self.cores >= other.cores

    def __str__(self) -> str:
        return f"{format_byte_size(self.memory_bytes)} and {self.cores} {'core' if self.cores == 1 else 'cores'}"


@dataclass(frozen=True, kw_only=True)
class ClusterFacts:
    """What is known of a cluster that gives no executors.

    Attributes:
        master: What the application calls it.
        executor: What an executor takes.
        driver: Address at which executors ask the driver for work.
        refusals: Why no master can be reached; none: one can, or it is no standalone cluster.
        workers: Those that its master knows; None: that cannot be told.
        other_applications: How many run beside this one, as far as told.
        lost: Why executors were lost, as Spark tells it, the latest first.
    """

    master: str
    executor: Size
    driver: str
    refusals: tuple[str, ...] = ()
    workers: tuple[Size, ...] | None = None
    other_applications: int = 0
    lost: tuple[str, ...] = ()


def missing_executors(facts: ClusterFacts, seconds: float) -> str:
    """Say that no executor has run for so long, and the likely cause.

    Example:
        >>> missing_executors(ClusterFacts(
        ...     master="spark://there:7077", executor=Size(2**30, 1), driver="here:4040", workers=()), 120.0)
        'the cluster "spark://there:7077" has given the application no worker (executor) for 120 s, and nothing can run:
        it has no worker (start one: sbin/start-worker.sh spark://there:7077)'
    """
    lost = f"the last one was lost: {told_loss(facts.lost[0])}; " if facts.lost else ""
    return (
        f'the cluster "{facts.master}" has given the application no worker (executor) for {seconds:.0f} s, and nothing'
        f" can run: {lost}{_cause(facts)}"
    )


def _cause(facts: ClusterFacts) -> str:
    if facts.refusals:
        return f"its master cannot be reached: {'; '.join(facts.refusals)} (has it gone? start it, then the run again)"
    if facts.workers is None:
        return (
            "why is not told (is its queue full, is an executor larger than it gives, or can executors not reach the"
            f" driver at {facts.driver}, spark.driver.host?)"
        )
    if not facts.workers:
        return f"it has no worker (start one: sbin/start-worker.sh {facts.master})"
    if not any(worker.holds(facts.executor) for worker in facts.workers):
        largest = max(facts.workers, key=lambda worker: (worker.memory_bytes, worker.cores))
        count = len(facts.workers)
        worker_size = f"its worker has {largest}" if count == 1 else f"the largest of its {count} workers has {largest}"
        return (
            f"an executor takes {facts.executor}, and {worker_size} (take less with spark.executor.memory and"
            " spark.executor.cores, or start a larger worker)"
        )
    others = facts.other_applications
    held = f"do {others} other applications hold them, spark.cores.max? " if others else ""
    count = sum(worker.holds(facts.executor) for worker in facts.workers)
    return (
        f"its master knows {count} of {len(facts.workers)} workers to be large enough ({held}have they gone? can"
        f" executors not reach the driver at {facts.driver}, spark.driver.host? their logs are in the workers' folders)"
    )
