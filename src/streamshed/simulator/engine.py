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
from streamshed.planning.window_drop.track.decisions import UpcomingWindows
from streamshed.planning.window_drop.track.open_windows import EventTimes
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
        seed: Of the noise.
    """

    trigger_interval_seconds: float
    sizes_known: bool = True
    outcomes_late_by: int = 0
    largest_micro_batch_rows: int | None = None
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
        latency_seconds: From the arrival of its oldest row to its answers.
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
    last_cut_seconds, now_seconds, windows = 0.0, interval, VirtualWindows(list(load))
    for micro_batch_id in itertools.count():
        oldest_seconds = min(queue.oldest_seconds for queue in queues.values())
        upcoming = _upcoming(micro_batch_id, queues, now_seconds, windows, sizes_known=settings.sizes_known)
        joined = joins.work(last_cut_seconds, now_seconds, upcoming.offered_rows)
        decision = controller.plan(replace(upcoming.seen, work_per_row=joined.work_per_row))
        windows.decided(decision.drops, now_seconds)
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
            latency_seconds=end_seconds - oldest_seconds,
            backlog_rows=_backlog_rows(queues.values(), now_seconds + interval, end_seconds),
        )
        last_cut_seconds, now_seconds = now_seconds, max(_next_boundary(now_seconds, interval), end_seconds)


def _backlog_rows(queues: Iterable[ArrivalQueue], due_seconds: float, end_seconds: float) -> int:
    """Rows that wait at the end of a micro-batch: those that it left, and those that came since the next was due."""
    return sum(queue.waiting_rows + queue.arriving(due_seconds, end_seconds) for queue in queues)


@dataclass(frozen=True, slots=True)
class _Cut:
    """The rows that a micro-batch really holds, and what the controller is told of them."""

    offered_rows: Mapping[str, int]
    seen: Upcoming


def _upcoming(
    micro_batch_id: int,
    queues: Mapping[str, ArrivalQueue],
    now_seconds: float,
    windows: VirtualWindows,
    *,
    sizes_known: bool,
) -> _Cut:
    offered_rows = {stream: queue.take(now_seconds) for stream, queue in queues.items()}
    seen = Upcoming(
        micro_batch_id=micro_batch_id,
        offered_rows=offered_rows if sizes_known else {},
        sizes_known=sizes_known,
        backlog_rows=sum(queue.waiting_rows for queue in queues.values()),
        now_seconds=now_seconds,
        windows=windows.upcoming(now_seconds),
    )
    return _Cut(offered_rows, seen)


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
    """What is known of windows before each micro-batch.

    Args:
        streams: Names of all streams.
    """

    def __init__(self, streams: Sequence[str]) -> None:
        self._streams = tuple(streams)
        self._drops = NOTHING_DROPPED
        self._last_cut: int | None = None

    def upcoming(self, now_seconds: float) -> UpcomingWindows:
        """Return what is known before a micro-batch that takes what has arrived by now."""
        before = 0 if self._last_cut is None else self._last_cut
        times = EventTimes(
            opened=before,
            carried_since=None if self._last_cut is None else 0,
            first=before,
            last=max(before, round(now_seconds * 1e6) - 1),
        )
        return UpcomingWindows(event_times=dict.fromkeys(self._streams, times), drops=self._drops)

    def decided(self, drops: WindowDrops, now_seconds: float) -> None:
        """Take in what a micro-batch was told, which has taken what had arrived by now."""
        self._drops, self._last_cut = drops, round(now_seconds * 1e6)
