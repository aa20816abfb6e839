"""The number of workers, as the control loop of one time domain decides on it."""

from __future__ import annotations

import time
from dataclasses import dataclass, replace

from streamshed.control.elastic_loop import ElasticLoop
from streamshed.control.journal import JournalEntry
from streamshed.control.loop import ControlLoop
from streamshed.elasticity.controllers import controller_named
from streamshed.elasticity.settings import ElasticSettings
from streamshed.spark.executor_pool import ExecutorPool
from streamshed.spark.scaling_status import ScalingStatus, scaling_status
from streamshed.spark.shared_workers import SharedWorkers
from streamshed.statistics.measured import Measured
from streamshed.statistics.micro_batch import MicroBatchOutcome


@dataclass(frozen=True)
class DomainWorkers:
    """The workers of an application, as one of its time domains sees them.

    Attributes:
        settings: What is asked of elasticity.
        pool: The workers.
        share: What it may ask of them; its own among the time domains.
        domains: How many time domains share them.
        cores: How many tasks one worker runs at a time.
    """

    settings: ElasticSettings
    pool: ExecutorPool
    share: SharedWorkers
    domains: int
    cores: int


class DomainScaling:
    """The control loop of a time domain, wrapped so that it asks for workers.

    Args:
        workers: What it asks.
        loop: The control loop.
        partitions: Of its stateful stages: in so many pieces work comes at least.
    """

    def __init__(self, workers: DomainWorkers, loop: ControlLoop, partitions: int) -> None:
        self._pool = workers.pool
        settings = _in_pieces(workers.settings, -(-partitions // workers.cores))
        self.loop = ElasticLoop(
            loop,
            controller_named(settings.controller, settings),
            workers.share,
            partitions=settings.limits.partitions,
            share=1 / workers.domains,
        )
        self._changes_seen = 0

    def record(self, outcome: MicroBatchOutcome, measured: Measured) -> JournalEntry:
        """Learn from a finished micro-batch; nothing of costs, where workers came or went meanwhile.

        Tasks of a worker that dies run again elsewhere, and one that comes starts with compiling and loading state: how
        long that takes is neither load nor what rows cost.
        """
        self._pool.workers(time.time())
        has_moved, self._changes_seen = self._pool.changes != self._changes_seen, self._pool.changes
        return self.loop.record(replace(outcome, is_cold=True) if has_moved else outcome, measured)

    def status(self, micro_batch_id: int) -> ScalingStatus | None:
        """Return what was decided on workers as a micro-batch began; None: nobody asked, as after a restart."""
        step = self.loop.known_step(micro_batch_id)
        return None if step is None else scaling_status(step, self._pool)


def _in_pieces(settings: ElasticSettings, pieces: int) -> ElasticSettings:
    limits = settings.limits
    return settings if limits.partitions else replace(settings, limits=replace(limits, partitions=pieces))
