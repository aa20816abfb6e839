"""The number of workers, as the control loop of one time domain decides on it."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Protocol

from streamshed.control.elastic_loop import ElasticLoop
from streamshed.control.first_workers import first_workers, known_work
from streamshed.control.journal import JournalEntry
from streamshed.control.loop import ControlLoop
from streamshed.control.shared_time import ClockTime
from streamshed.elasticity.balance import Balance, StageWork
from streamshed.elasticity.controllers import controller_named
from streamshed.elasticity.hold_up import HoldUp
from streamshed.elasticity.settings import ElasticSettings
from streamshed.spark.cluster.executor_pool import ExecutorPool
from streamshed.spark.cluster.input_cut import FileCutter
from streamshed.spark.cluster.scaling_status import ScalingStatus, scaling_status
from streamshed.spark.cluster.shared_workers import SharedWorkers
from streamshed.statistics.measured import Measured
from streamshed.statistics.micro_batch import MicroBatchOutcome


@dataclass(frozen=True)
class DomainWorkers:
    """The workers of an application, as one of its time domains sees them.

    Attributes:
        settings: What is asked of elasticity.
        pool: The workers.
        share: What it may ask of them; its own among the time domains.
        cores: How many tasks one worker runs at a time.
    """

    settings: ElasticSettings
    pool: ExecutorPool
    share: SharedWorkers
    cores: int


class Stages(Protocol):
    """What tells how work is spread over tasks; `StageWatch` is one."""

    def before(self, micro_batch_id: int) -> Sequence[Sequence[StageWork]]:
        """Return the work of stages, by micro-batch, of earlier micro-batches not returned before."""


class DomainScaling:
    """The control loop of a time domain, wrapped so that it asks for workers, and spreads work evenly over them.

    Args:
        workers: What it asks.
        loop: The control loop.
        partitions: Of its stateful stages: in so many pieces work comes at least.
        slots: Returns how many tasks can run at a time.
        time: Its part of the time of the workers.
    """

    def __init__(
        self, workers: DomainWorkers, loop: ControlLoop, partitions: int, slots: Callable[[], int], time: ClockTime
    ) -> None:
        self._pool, self._cores, self._slots = workers.pool, workers.cores, slots
        self._balance = Balance()
        self._stages: Stages | None = None
        self._input: FileCutter | None = None
        settings = _in_pieces(workers.settings, partitions, workers.cores)
        self._settings, self._time = settings, time
        self.loop = ElasticLoop(
            loop,
            controller_named(settings.controller, settings),
            workers.share,
            partitions=settings.limits.partitions,
            share=lambda: time.share,
            undivided_share=self._undivided_share,
            withdraw_after_seconds=settings.release_after_seconds,
            hold_up=HoldUp(settings.held_up_seconds),
            worker_rows=settings.worker_rows,
        )

    def first_workers(self, journal: Sequence[Mapping[str, Any]]) -> int:
        """Return with how many workers to begin; asked before the first micro-batch.

        Args:
            journal: Its latest rows, oldest first, if the run goes on with a checkpoint. The first after a restart may
                be of a micro-batch on whose workers nobody decided.
        """
        control = self.loop.loop.settings
        wanted = [row["workers_wanted"] for row in journal if row.get("workers_wanted") is not None]
        return first_workers(
            self._settings,
            wanted_before=wanted[-1] if wanted else None,
            work=known_work(self.loop.loop.state, control),
            available_seconds=self._time.share * min(control.deadline_seconds, control.trigger_interval_seconds),
        )

    def watch(self, stages: Stages, source: FileCutter) -> None:
        """Look from now on at how work is spread over tasks, and cut input finer where that is uneven."""
        self._stages, self._input = stages, source

    def record(self, outcome: MicroBatchOutcome, measured: Measured) -> JournalEntry:
        """Learn from a finished micro-batch, and of how its work, and that of the one before, was spread."""
        was_moved = self.loop.was_moved
        entry = self.loop.record(outcome, measured)
        is_telling = not (self.loop.was_moved or was_moved or outcome.is_cold)
        self._spread(outcome.micro_batch_id, is_telling=is_telling)
        return entry

    def status(self, micro_batch_id: int) -> ScalingStatus | None:
        """Return what was decided on workers as a micro-batch began; None: nobody asked, as after a restart."""
        step = self.loop.known_step(micro_batch_id)
        return None if step is None else scaling_status(step, self._pool, self._balance)

    def _spread(self, micro_batch_id: int, *, is_telling: bool) -> None:
        """Take in how evenly work was spread over tasks, and cut input finer where it was uneven."""
        if self._stages is None or self._input is None:
            return
        stages_by_micro_batch, slots = self._stages.before(micro_batch_id), max(1, self._slots())
        if is_telling:
            for stages in stages_by_micro_batch:
                self._balance = self._balance.observed(stages, slots=slots)
        if self._balance.is_cut:
            self._input.cut(self._balance.pieces_per_slot * slots, "work is uneven")

    def _undivided_share(self) -> float:
        """Of the time of one worker, which runs as many tasks at a time as it has cores."""
        return min(1.0, self._balance.undivided_share * self._cores)


def _in_pieces(settings: ElasticSettings, partitions: int, cores: int) -> ElasticSettings:
    """Work comes in as many pieces for workers as all that run at a time on one make up."""
    limits = settings.limits
    return replace(settings, limits=replace(limits, partitions=-(-(limits.partitions or partitions) // cores)))
