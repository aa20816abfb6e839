"""The control loop of a cluster that can grow and shrink: what to shed, and how many workers to ask for."""

from __future__ import annotations

import math
import threading
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial
from typing import Protocol

from streamshed.control.cluster_view import cluster_view, with_rows_held
from streamshed.control.decision import Decision, Upcoming
from streamshed.control.journal import JournalEntry
from streamshed.control.loop import ControlLoop
from streamshed.control.wish import Wish
from streamshed.elasticity.hold_up import HoldUp
from streamshed.elasticity.pieces import Pieces
from streamshed.elasticity.scaling_decision import ScalingController, ScalingDecision
from streamshed.elasticity.view import ClusterView
from streamshed.elasticity.workers import Workers
from streamshed.statistics.measured import Measured
from streamshed.statistics.micro_batch import MicroBatchOutcome

NOTHING_HELD_UP = HoldUp()

REMEMBERED = 16
"""As many decisions as the control loop remembers."""


class WorkerPool(Protocol):
    """Where workers come from; it enforces what a controller wants, as far and as soon as it can."""

    def workers(self, now_seconds: float) -> Workers:
        """Tell what there is now."""

    def want(self, workers: int, now_seconds: float) -> None:
        """Ask for so many workers in all, those that start included; told with each decision, whatever it changes."""

    @property
    def wanted(self) -> int:
        """How many are asked for in all, whether or not they can be had."""

    @property
    def changes(self) -> int:
        """How often others were found to run than before."""

    @property
    def skew(self) -> float:
        """How many times busier than all on average the busiest worker was of late, at least 1."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ScalingStep:
    """What was seen of a cluster and decided on its workers, as a micro-batch began.

    Attributes:
        micro_batch_id: Which micro-batch.
        speedup: How many times faster those are that run than those that costs are known for.
        growth: How many times faster than those that run as many would be as load can bring about, at least 1.
        view: What was seen.
        decision: What was decided.
        held_up_seconds: How much longer the micro-batch was believed to take as workers start meanwhile; 0: none do.
    """

    micro_batch_id: int
    speedup: float
    growth: float
    view: ClusterView
    decision: ScalingDecision
    held_up_seconds: float = 0.0

    @property
    def adds(self) -> bool:
        """Whether workers were asked for, more than there were or were about to be."""
        return self.decision.workers > self.view.workers.committed

    @property
    def are_starting(self) -> bool:
        """Whether workers start during the micro-batch."""
        return self.adds or self.view.workers.starting > 0


def _all_can_be_shared() -> float:
    """No piece of the work is known to be larger than others."""
    return 0.0


def _nobody_beside() -> float:
    """All of the time is this loop's."""
    return 1.0


class ElasticLoop:
    """A control loop that knows how many workers there are, and asks for others.

    Shedding is decided on the workers that run, at once; workers are asked for when that is worth it. Costs are known
    of one worker, and translated to those that run: what a row costs shrinks as they get more, the fixed cost does not.
    While workers start, as much less is done as they are known to hold up, where the latency goal would be missed else.

    Args:
        loop: Decides on shedding, and learns costs.
        controller: Decides on workers.
        pool: Where they come from.
        partitions: In how many pieces work comes; None: in any number.
        share: Tells the share of the workers' time that is this loop's, in (0, 1], where several use the same ones.
        undivided_share: Tells which share of the work one worker has to do, however many there are.
        withdraw_after_seconds: For how long fewer workers than were asked for have to suffice until the others are
            no longer wanted.
        hold_up: What workers that start are believed to hold up.
        worker_rows: W, how many rows of state a worker can hold; None: they are counted by time alone.
    """

    def __init__(  # noqa: PLR0913 - who decides, on what, and what is known of it, each by name
        self,
        loop: ControlLoop,
        controller: ScalingController,
        pool: WorkerPool,
        *,
        partitions: int | None = None,
        share: Callable[[], float] = _nobody_beside,
        undivided_share: Callable[[], float] = _all_can_be_shared,
        withdraw_after_seconds: float = math.inf,
        hold_up: HoldUp = NOTHING_HELD_UP,
        worker_rows: int | None = None,
    ) -> None:
        self._loop, self._pool, self._controller = loop, pool, controller
        self._partitions, self._share = partitions, share
        self._undivided_share, self._worker_rows = undivided_share, worker_rows
        self._wish, self._hold_up = Wish(withdraw_after_seconds), hold_up
        self._pieces, self._learned_on = Pieces(partitions), 1
        self._lock = threading.Lock()
        # Replaced, never changed, so that who looks without the lock sees no half of it.
        self._steps: tuple[ScalingStep, ...] = ()
        self._last_cut_seconds: float | None = None
        self._changes_seen, self._was_moved = 0, False

    @property
    def loop(self) -> ControlLoop:
        """What decides on shedding."""
        return self._loop

    def step(self, micro_batch_id: int) -> ScalingStep:
        """Return what was decided on workers as a micro-batch began.

        Raises:
            ValueError: It was not planned, or so long ago that it is forgotten.
        """
        scaling_step = self.known_step(micro_batch_id)
        if scaling_step is None:
            raise ValueError(f"micro-batch {micro_batch_id}: not among the last {REMEMBERED} that were planned")
        return scaling_step

    def known_step(self, micro_batch_id: int) -> ScalingStep | None:
        """Return what was decided on workers as a micro-batch began; None: it was not planned, or is forgotten."""
        return next((step for step in self._steps if step.micro_batch_id == micro_batch_id), None)

    def plan(self, upcoming: Upcoming) -> Decision:
        """Decide what the coming micro-batch sheds, and ask for workers.

        Asked again for the same micro-batch, it gives the same answer and asks for no more.
        """
        with self._lock:
            scaling_step = self.known_step(upcoming.micro_batch_id)
            if scaling_step is not None:
                return self._loop.plan(replace(upcoming, speedup=scaling_step.speedup))
            workers = self._pool.workers(upcoming.now_seconds)
            speedup = self._speedup(workers.running)
            decision = self._loop.plan(
                replace(upcoming, speedup=speedup),
                lambda proposed: self._scaled(proposed, workers, speedup).held_up_seconds,
            )
            self._last_cut_seconds = upcoming.now_seconds
            return decision

    def record(self, outcome: MicroBatchOutcome, measured: Measured | None = None) -> JournalEntry:
        """Learn from a finished micro-batch, on the workers that it had; nothing of costs, where they came or went.

        New workers first compile and load state, and the work of a worker that dies runs again elsewhere: neither is
        load, nor a cost of rows.
        """
        with self._lock:
            scaling_step = self.known_step(outcome.micro_batch_id)
            self._pool.workers(outcome.started_at_seconds + outcome.processing_seconds)
            self._was_moved, self._changes_seen = self._pool.changes != self._changes_seen, self._pool.changes
            is_cold = outcome.is_cold or self._was_moved
            speedup = 1.0 if scaling_step is None else scaling_step.speedup
            entry = self._loop.record(replace(outcome, speedup=speedup, is_cold=is_cold), measured)
            if (
                scaling_step is not None
                and scaling_step.are_starting
                and entry.decision is not None
                and not outcome.is_cold
            ):
                # How long the first of a run takes, which compiles, is not the fault of workers.
                excess_seconds = outcome.processing_seconds - entry.decision.expected_seconds
                self._hold_up = self._hold_up.observed(excess_seconds, is_first=scaling_step.adds)
            return entry

    @property
    def was_moved(self) -> bool:
        """Whether workers came or went with the micro-batch that was recorded last."""
        return self._was_moved

    def _speedup(self, workers: int) -> float:
        pieces = Pieces(self._partitions, self._undivided_share())
        if pieces != self._pieces:
            self._correct_speedups(pieces)
        self._learned_on = workers
        return pieces.effective_workers(workers)

    def _correct_speedups(self, pieces: Pieces) -> None:
        """Take in new knowledge of pieces, and correct by it the speedups under which costs were learned."""
        earlier_pieces, latest = self._pieces, self._learned_on
        speedup = partial(pieces.corrected_speedup, before=earlier_pieces, latest_workers=latest)
        self._loop.correct_speedups(speedup, latest=earlier_pieces.effective_workers(latest))
        self._steps = tuple(replace(step, speedup=speedup(step.speedup)) for step in self._steps)
        self._pieces = pieces

    def _scaled(self, decision: Decision, workers: Workers, speedup: float) -> ScalingStep:
        settings = self._loop.settings
        last = self._last_cut_seconds
        view = cluster_view(
            decision,
            settings,
            workers,
            fixed_seconds=self._loop.state.load_model.fixed_seconds * decision.correction,
            elapsed_seconds=settings.trigger_interval_seconds if last is None else decision.now_seconds - last,
            skew=self._pool.skew,
            share=self._share(),
            undivided_share=self._pieces.undivided_share,
        )
        if self._worker_rows is not None:
            view = with_rows_held(view, self._loop.state.state_size.entries, self._share() * self._worker_rows)
        utmost, running = (
            self._pieces.effective_workers(number) for number in (self._controller.utmost(view), workers.running)
        )
        self._controller, scaling = self._controller.step(view)
        step = ScalingStep(
            micro_batch_id=decision.micro_batch_id,
            speedup=speedup,
            growth=max(1.0, utmost / running),
            view=view,
            decision=scaling,
        )
        if step.are_starting:
            step = replace(step, held_up_seconds=self._hold_up.seconds)
        self._steps = (*self._steps, step)[-REMEMBERED:]
        self._wish = self._wish.after(scaling, committed=workers.committed, now_seconds=decision.now_seconds)
        self._pool.want(self._wish.workers, decision.now_seconds)
        return step
