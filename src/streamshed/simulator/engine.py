"""A micro-batch engine in virtual time: it calls the control loop as Spark does."""

from __future__ import annotations

import itertools
import math
from collections import deque
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Protocol

import numpy as np

from streamshed.control.decision import Decision, Upcoming
from streamshed.control.journal import JournalEntry
from streamshed.planning.plan.coming_work import LEAST_SHARE
from streamshed.planning.window_drop.track.decisions import UpcomingWindows
from streamshed.planning.window_drop.track.open_windows import Backlog, EventTimes
from streamshed.planning.window_drop.track.window_drops import NOTHING_DROPPED, WindowDrops
from streamshed.simulator.costs import TrueCosts
from streamshed.simulator.profiles import LoadCurve
from streamshed.simulator.queue import ArrivalQueue
from streamshed.simulator.virtual_joins import NOTHING_JOINED, VirtualJoins
from streamshed.statistics.micro_batch import MicroBatchOutcome


class Controller(Protocol):
    """What the engine asks; `ControlLoop` is one."""

    def plan(self, upcoming: Upcoming) -> Decision:
        """Decide what the coming micro-batch sheds."""

    def record(self, outcome: MicroBatchOutcome) -> JournalEntry:
        """Learn from a finished micro-batch."""


@dataclass(frozen=True, slots=True, kw_only=True)
class EngineSettings:
    """How the engine behaves.

    Args:
        trigger_interval_seconds: How often a micro-batch should start.
        sizes_known: Whether the controller is told the sizes of a micro-batch before it runs.
        outcomes_late_by: After how many further micro-batches an outcome reaches the controller.
        largest_micro_batch_rows: How many rows a micro-batch takes of each stream at most; None for all.
        outages: From when until when nothing runs and rows gather, seconds.
        seed: Of the noise.
    """

    trigger_interval_seconds: float
    sizes_known: bool = True
    outcomes_late_by: int = 0
    largest_micro_batch_rows: int | None = None
    outages: Sequence[tuple[float, float]] = ()
    seed: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class SimulatedMicroBatch:
    """What happened to one micro-batch.

    Args:
        micro_batch_id: Its number, from 0.
        started_at_seconds: When it took its rows.
        offered_rows: Its rows, by stream.
        decision: What was decided for it.
        processing_seconds: How long it took.
        utilization: The same as a share of the trigger interval.
        latency_seconds: From the arrival of its oldest row that was not skipped to its answers.
        backlog_rows: Rows that wait at its end although a micro-batch on time would have taken them.
    """

    micro_batch_id: int
    started_at_seconds: float
    offered_rows: Mapping[str, int]
    decision: Decision
    processing_seconds: float
    utilization: float
    latency_seconds: float
    backlog_rows: int


def simulated_micro_batches(
    controller: Controller,
    *,
    load: Mapping[str, LoadCurve],
    costs: TrueCosts,
    settings: EngineSettings,
    joins: VirtualJoins = NOTHING_JOINED,
) -> Iterator[SimulatedMicroBatch]:
    """Run a controller against a load: yield what happens, micro-batch by micro-batch, without end.

    As on Spark, a micro-batch takes all rows that have arrived, and the next one starts at the first trigger
    boundary after its start, or at its end if that is later. The first starts after one trigger interval.

    Args:
        controller: Usually a `ControlLoop`.
        load: What arrives, by stream.
        costs: What it truly costs.
        settings: How the engine behaves.
        joins: What joins take besides; of all that has arrived, so micro-batches may have no largest size.
    """
    nature = np.random.default_rng(settings.seed)
    interval = settings.trigger_interval_seconds
    queues = {stream: ArrivalQueue(profile, settings.largest_micro_batch_rows) for stream, profile in load.items()}
    undelivered: deque[MicroBatchOutcome] = deque()
    last_cut_seconds, now_seconds, windows = 0.0, _up_again(interval, settings.outages), VirtualWindows()
    for micro_batch_id in itertools.count():
        oldest = {stream: queue.oldest_seconds for stream, queue in queues.items()}
        upcoming = _upcoming(micro_batch_id, queues, now_seconds, windows, sizes_known=settings.sizes_known)
        joined = joins.work(last_cut_seconds, now_seconds, upcoming.offered_rows)
        decision = controller.plan(replace(upcoming.seen, work_per_row=joined.work_per_row))
        windows.decided(decision.drops)
        oldest |= {stream: upcoming.taken[stream].oldest(share) for stream, share in decision.fresh_shares.items()}
        rows, shares = upcoming.offered_rows, decision.work_shares
        join_seconds = joined.seconds(shares)
        processing_seconds = costs.seconds(micro_batch_id, rows, shares, now_seconds, nature, join_seconds=join_seconds)
        outcome = _outcome(decision, rows, processing_seconds, interval)
        undelivered.append(replace(outcome, work_per_row=joined.work_per_row))
        while len(undelivered) > settings.outcomes_late_by:
            controller.record(undelivered.popleft())
        end_seconds = now_seconds + processing_seconds
        yield SimulatedMicroBatch(
            micro_batch_id=micro_batch_id,
            started_at_seconds=now_seconds,
            offered_rows=rows,
            decision=decision,
            processing_seconds=processing_seconds,
            utilization=processing_seconds / interval,
            latency_seconds=end_seconds - min(oldest.values()),
            backlog_rows=_backlog_rows(queues.values(), now_seconds + interval, end_seconds),
        )
        next_seconds = max(_next_boundary(now_seconds, interval), end_seconds)
        last_cut_seconds, now_seconds = now_seconds, _up_again(next_seconds, settings.outages)


def _up_again(seconds: float, outages: Sequence[tuple[float, float]]) -> float:
    """When something runs again, from a time on."""
    for start_seconds, end_seconds in sorted(outages):
        if start_seconds <= seconds < end_seconds:
            seconds = end_seconds
    return seconds


def _backlog_rows(queues: Iterable[ArrivalQueue], due_seconds: float, end_seconds: float) -> int:
    """Rows that wait at the end of a micro-batch: those that it left, and those that came since the next was due."""
    return sum(queue.waiting_rows + queue.arriving(due_seconds, end_seconds) for queue in queues)


@dataclass(frozen=True, slots=True)
class Taken:
    """The rows that a micro-batch takes of a stream: all that had arrived by some time and were not taken before.

    Args:
        after_seconds: Up to when all had been taken before.
        until_seconds: That time.
        now_seconds: When the micro-batch takes them: those that have arrived since wait.
    """

    after_seconds: float
    until_seconds: float
    now_seconds: float

    def oldest(self, fresh_share: float) -> float:
        """When the first row arrived of a share that was not skipped."""
        if fresh_share <= LEAST_SHARE:
            return self.now_seconds
        return self.until_seconds - fresh_share * (self.until_seconds - self.after_seconds)


@dataclass(frozen=True, slots=True)
class _Cut:
    """The rows that a micro-batch really holds, and what the controller is told of them."""

    offered_rows: Mapping[str, int]
    taken: Mapping[str, Taken]
    seen: Upcoming


def _upcoming(
    micro_batch_id: int,
    queues: Mapping[str, ArrivalQueue],
    now_seconds: float,
    windows: VirtualWindows,
    *,
    sizes_known: bool,
) -> _Cut:
    before = {stream: queue.taken_until_seconds for stream, queue in queues.items()}
    offered_rows = {stream: queue.take(now_seconds) for stream, queue in queues.items()}
    taken = {stream: Taken(before[stream], queue.taken_until_seconds, now_seconds) for stream, queue in queues.items()}
    seen = Upcoming(
        micro_batch_id=micro_batch_id,
        offered_rows=offered_rows if sizes_known else {},
        sizes_known=sizes_known,
        backlog_rows=sum(queue.waiting_rows for queue in queues.values()),
        now_seconds=now_seconds,
        windows=windows.upcoming(taken),
    )
    return _Cut(offered_rows, taken, seen)


def _outcome(
    decision: Decision, offered_rows: Mapping[str, int], processing_seconds: float, interval: float
) -> MicroBatchOutcome:
    work_shares = decision.work_shares
    return MicroBatchOutcome(
        micro_batch_id=decision.micro_batch_id,
        offered_rows=offered_rows,
        admitted_rows={stream: rows * work_shares[stream] for stream, rows in offered_rows.items()},
        sampling_rates=work_shares,
        processing_seconds=processing_seconds,
        trigger_interval_seconds=interval,
        started_at_seconds=decision.now_seconds,
    )


def _next_boundary(started_at_seconds: float, interval: float) -> float:
    """Return the first multiple of the interval after a time; one reached but for rounding is past."""
    return (math.floor(started_at_seconds / interval + 1e-9) + 1) * interval


class VirtualWindows:
    """What is known of windows before each micro-batch: rows have the time of their arrival, and none is late."""

    def __init__(self) -> None:
        self._drops = NOTHING_DROPPED
        self._is_first = True

    def upcoming(self, taken: Mapping[str, Taken]) -> UpcomingWindows:
        """Return what is known before a micro-batch.

        Args:
            taken: What it takes, by stream.
        """
        opened = min(round(of_stream.after_seconds * 1e6) for of_stream in taken.values())
        times = {stream: self._event_times(of_stream, opened) for stream, of_stream in taken.items()}
        return UpcomingWindows(event_times=times, drops=self._drops)

    def _event_times(self, taken: Taken, opened: int) -> EventTimes:
        first, until, now = (
            round(seconds * 1e6) for seconds in (taken.after_seconds, taken.until_seconds, taken.now_seconds)
        )
        last = max(first, until - 1)
        return EventTimes(
            opened=opened,
            carried_since=None if self._is_first else 0,
            first=first,
            last=last,
            backlog=Backlog(
                read_until=None if self._is_first else first - 1, coming_until=last, newest=max(last, now - 1)
            ),
        )

    def decided(self, drops: WindowDrops) -> None:
        """Take in what a micro-batch was told."""
        self._drops, self._is_first = drops, False
