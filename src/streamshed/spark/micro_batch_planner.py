"""Answers for the plan of each micro-batch: decided once, written down, and the same at every later asking."""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from streamshed.answering.shed_interval import ShedInterval, remembered
from streamshed.control.decision import Decision, Upcoming
from streamshed.control.loop import ControlLoop
from streamshed.network.stream import Stream
from streamshed.spark.carrier_clock import CarrierClock
from streamshed.spark.checkpoint_reader import watermark_milliseconds
from streamshed.spark.plan_row import PlanRow, StreamPlan
from streamshed.spark.progress import MicroBatchReport
from streamshed.spark.storage import Storage
from streamshed.spark.upcoming_rows import RowSizes, StreamRows, rows_by_name, upcoming_rows
from streamshed.statistics.micro_batch import MicroBatchOutcome

_KEPT_PLANS = 200
"""Spark keeps 100 micro-batches to go back to."""

CLOCK_TOLERANCE = 60_000_000
"""How far event times may run ahead of the wall clock, microseconds, where nothing else is known of shed rows."""


@dataclass(frozen=True)
class DomainFacts:
    """What planning for a time domain depends on and never changes.

    Attributes:
        streams: Its streams, in order.
        longest_window: Of its queries, microseconds.
        trigger_interval_seconds: How often a micro-batch should start.
    """

    streams: tuple[Stream, ...]
    longest_window: int
    trigger_interval_seconds: float


class MicroBatchPlanner:
    """Plans the micro-batches of one time domain.

    Args:
        facts: What never changes.
        loop: The control loop.
        checkpoint: Spark's checkpoint of the domain.
        plans: Where plans are written down.
        clock: Wall clock, seconds since the epoch.
        reports: Returns the report of the micro-batch that finished last, None before the first.
        on_outcome: Told of each finished micro-batch: report, decision and plan.
    """

    def __init__(
        self,
        facts: DomainFacts,
        loop: ControlLoop,
        *,
        checkpoint: Storage,
        plans: Storage,
        clock: Callable[[], float],
        reports: Callable[[], MicroBatchReport | None],
        on_outcome: Callable[[MicroBatchReport, MicroBatchOutcome], None],
    ) -> None:
        self._facts = facts
        self._loop = loop
        self._checkpoint = checkpoint
        self._plans = plans
        plans.discard_drafts()
        self._clock = clock
        self._reports = reports
        self._on_outcome = on_outcome
        self._lock = threading.Lock()
        self._sizes = RowSizes()
        self._upcoming: dict[int, dict[str, StreamRows]] = {}
        self._carrier = CarrierClock(facts.streams, self._last_plan())
        self._rows_left: dict[str, int] = {}
        self._recorded = -1

    def plan(self, micro_batch_id: int) -> str:
        """Return the plan of a micro-batch as JSON; durable before it is returned for the first time."""
        with self._lock:
            known = self._plans.read_text(_file(micro_batch_id))
            if known is not None:
                return known
            if self._recorded < micro_batch_id - 1:
                self._record_last()
            row = self._decided(micro_batch_id)
            text = row.to_json()
            self._plans.write_text(_file(micro_batch_id), text)
            self._forget(micro_batch_id - _KEPT_PLANS)
            return text

    def record_last(self) -> None:
        """Take in what is known of the micro-batch that finished last; a plan does so where nobody has."""
        with self._lock:
            self._record_last()

    def drain(self) -> None:
        """From the next micro-batch on, let the watermark pass the end of every window."""
        with self._lock:
            self._carrier.drain(self._facts.longest_window)

    @property
    def drained_at(self) -> int | None:
        """The watermark at which all windows are closed, microseconds; None: nobody asked to drain."""
        return self._carrier.drained_at

    def _decided(self, micro_batch_id: int) -> PlanRow:
        now = self._clock()
        upcoming = upcoming_rows(self._checkpoint, micro_batch_id, self._facts.streams, self._sizes)
        self._upcoming[micro_batch_id] = upcoming
        decision = self._loop.plan(
            Upcoming(
                micro_batch_id=micro_batch_id,
                offered_rows=rows_by_name(upcoming),
                sizes_known=len(upcoming) == len(self._facts.streams),
                backlog_rows=self._backlog(upcoming),
                now_seconds=now,
            )
        )
        opened = watermark_milliseconds(self._checkpoint, micro_batch_id - 1) * 1000
        self._carrier.advance(now, {name for name, found in upcoming.items() if found.rows > 0})
        shed = (*self._last_shed(micro_batch_id), *self._shed_now(decision, upcoming, opened, now))
        return PlanRow(
            micro_batch_id=micro_batch_id,
            open=opened,
            streams={
                stream.name: StreamPlan(
                    sampling_code=decision.sampling_codes[stream.name], **self._carrier.interval(stream.name)
                )
                for stream in self._facts.streams
            },
            shed=remembered(shed, since=opened - self._facts.longest_window),
            decided_at_seconds=now,
            latest_event=dict(self._carrier.latest_event),
            active_at_seconds=dict(self._carrier.active_at_seconds),
        )

    def _backlog(self, upcoming: dict[str, StreamRows]) -> int:
        """Rows that wait: in folders now; of brokers what the last micro-batch left, less what this one takes."""
        taken = {name: found.rows for name, found in upcoming.items()}
        left = [max(0, rows - taken.get(name, 0)) for name, rows in self._rows_left.items()]
        return sum(left) + sum(found.waiting for found in upcoming.values())

    def _shed_now(
        self, decision: Decision, upcoming: dict[str, StreamRows], opened: int, now: float
    ) -> list[ShedInterval]:
        """The event times of what this micro-batch sheds: from footers, else all that the watermark and clock allow."""
        intervals = []
        for name, sampling_rate in decision.sampling_rates.items():
            if sampling_rate >= 1.0:
                continue
            found = upcoming.get(name)
            events = None if found is None else found.events
            start = opened if events is None else events.first
            until = self._carrier.latest(now) + CLOCK_TOLERANCE if events is None else events.last
            intervals.append(ShedInterval(stream=name, start=start, until=until, sampling_rate=sampling_rate))
        return intervals

    def _record_last(self) -> None:
        report = self._reports()
        if report is None or report.micro_batch_id <= self._recorded:
            return
        is_cold, self._recorded = self._recorded < 0, report.micro_batch_id
        upcoming = self._upcoming.pop(report.micro_batch_id, None)
        if upcoming is None:
            upcoming = upcoming_rows(self._checkpoint, report.micro_batch_id, self._facts.streams, self._sizes)
        self._carrier.observe(report, {name: found.events for name, found in upcoming.items() if found.events})
        self._rows_left = dict(report.rows_left)
        for name, found in upcoming.items():
            self._sizes.learn(name, found.bytes, report.offered_rows.get(name, 0))
        rates = self._rates(report.micro_batch_id)
        estimated = {name: rows * rates.get(name, 1.0) for name, rows in report.offered_rows.items()}
        outcome = MicroBatchOutcome(
            micro_batch_id=report.micro_batch_id,
            offered_rows=report.offered_rows,
            admitted_rows={**estimated, **{name: float(rows) for name, rows in report.admitted_rows.items()}},
            sampling_rates=rates,
            processing_seconds=report.processing_seconds,
            trigger_interval_seconds=self._facts.trigger_interval_seconds,
            started_at_seconds=report.started_at_seconds,
            is_cold=is_cold,
        )
        self._on_outcome(report, outcome)

    def _rates(self, micro_batch_id: int) -> dict[str, float]:
        text = self._plans.read_text(_file(micro_batch_id))
        streams = {} if text is None else PlanRow.from_json(text).streams
        return {name: plan.sampling_rate for name, plan in streams.items()}

    def _last_shed(self, micro_batch_id: int) -> Sequence[ShedInterval]:
        text = self._plans.read_text(_file(micro_batch_id - 1))
        return () if text is None else PlanRow.from_json(text).shed

    def _last_plan(self) -> PlanRow | None:
        names = [name for name in self._plans.names() if name.endswith(".json")]
        text = self._plans.read_text(names[-1]) if names else None
        return None if text is None else PlanRow.from_json(text)

    def _forget(self, micro_batch_id: int) -> None:
        if self._plans.read_text(_file(micro_batch_id)) is not None:
            self._plans.delete(_file(micro_batch_id))


def _file(micro_batch_id: int) -> str:
    return f"{micro_batch_id:012d}.json"
