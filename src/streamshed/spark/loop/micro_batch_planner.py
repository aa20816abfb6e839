"""Answers for the plan of each micro-batch: decided once, written down, and the same at every later asking."""

from __future__ import annotations

import threading
from collections.abc import Callable, Container, Mapping
from collections.abc import Set as AbstractSet
from dataclasses import replace
from types import MappingProxyType

from streamshed.answering.estimate.value_ranges import UsualRange
from streamshed.answering.table.shed_interval import UNSETTLED, ShedInterval, remembered
from streamshed.control.decision import Decision, Upcoming
from streamshed.control.elastic_loop import ElasticLoop
from streamshed.control.known_needs import NOTHING_KNOWN, KnownNeeds
from streamshed.control.loop import ControlLoop
from streamshed.joins.choose.directive import JoinDirective
from streamshed.network.model.stream import Stream
from streamshed.planning.load.join_delay import delay_of_stream
from streamshed.planning.place.block_cut import BlockCut
from streamshed.planning.tree.quantization import WHOLE
from streamshed.spark.checkpoint.checkpoint_reader import (
    last_committed,
    watermark_milliseconds,
    watermark_so_far,
)
from streamshed.spark.checkpoint.source_places import SourcePlaces
from streamshed.spark.checkpoint.storage import Storage
from streamshed.spark.domain_facts import DomainFacts
from streamshed.spark.inexact.lost_times import lost_times
from streamshed.spark.inexact.sampled_join_times import sampled_join_times
from streamshed.spark.inexact.shed_times import shed_before, shed_now, told_of_all
from streamshed.spark.loop.carrier_clock import CarrierClock, with_sure_signs
from streamshed.spark.loop.cold_start import ColdStart
from streamshed.spark.loop.join_planner import JoinOutcome, JoinPlanner
from streamshed.spark.loop.outcome_of_report import outcome_of
from streamshed.spark.loop.partly_joined_times import ComingRows, all_partly_joined
from streamshed.spark.loop.upcoming_windows import Ahead, NewestRecords, upcoming_windows
from streamshed.spark.plan.plan_row import PlanRow, StreamPlan
from streamshed.spark.plan.share_codes import share_codes, sized_shares
from streamshed.spark.plan.written_plans import KEPT_PLANS, WrittenPlans
from streamshed.spark.reading.catching_up import CatchingUp, beginning_of
from streamshed.spark.source.blocks import block_counts, block_cuts, read_in_part, with_unread
from streamshed.spark.source.lost_rows import LostRows
from streamshed.spark.source.progress import MicroBatchReport
from streamshed.spark.source.upcoming_rows import (
    RowSizes,
    StreamRows,
    refuse_changed,
    refuse_lost,
    refuse_vanished,
    rows_by_name,
    spans_by_name,
    upcoming_rows,
    waiting_rows,
)
from streamshed.statistics.micro_batch import MicroBatchOutcome

_LEAST_SECONDS = 1e-3


class MicroBatchPlanner:
    """Plans the micro-batches of one time domain.

    Args:
        facts: What never changes.
        loop: The control loop.
        checkpoint: Spark's checkpoint of the domain.
        plans: Where plans are written down.
        clock: The wall clock, seconds since the epoch: event times are compared with it.
        steady_clock: A clock that never steps: durations are measured with it.
        reports: Returns the report of the micro-batch that finished last, None before the first.
        on_outcome: Told of each finished micro-batch: report, outcome, and what each stream was told.
        joins: Plans joins; None: there are none.
        needs: Returns what is needed of queries that feed other networks, at some time.
        on_decision: Told of each decision once its plan is written.
        effective_shares: Returns `PlanRow.effective_shares`, as far as they are known.
        usual_ranges: Returns `PlanRow.usual_ranges`, likewise.
        lost: Finds rows that brokers have deleted.
        newest_records: Returns `Ahead.newest_records` of a micro-batch; the last argument is what the one before left.
        paced: Returns `ReadingPace.paced` of a micro-batch.
    """

    joined: Mapping[str, JoinOutcome] = MappingProxyType({})
    """The outcomes of the joins in the micro-batch that was recorded last."""
    places = SourcePlaces()
    """Of the sources, once the query is laid out."""
    skips_blocks: AbstractSet[str] = frozenset()
    """The streams of whose files blocks may be left unread, likewise."""
    _last_started: float | None = None
    _recorded = -1
    _failure: Exception | None = None
    """What has kept a micro-batch from being recorded; nothing is recorded or planned from then on."""
    _is_failure_told = False
    _catching_up: CatchingUp | None = None

    def __init__(  # noqa: PLR0913 - all that it asks and tells, each by its name
        self,
        facts: DomainFacts,
        loop: ControlLoop | ElasticLoop,
        *,
        checkpoint: Storage,
        plans: Storage,
        clock: Callable[[], float],
        steady_clock: Callable[[], float],
        reports: Callable[[], MicroBatchReport | None],
        on_outcome: Callable[[MicroBatchReport, MicroBatchOutcome, Mapping[str, StreamPlan]], None],
        joins: JoinPlanner | None = None,
        needs: Callable[[float], KnownNeeds] = lambda _now: NOTHING_KNOWN,
        on_decision: Callable[[Decision], None] = lambda _decision: None,
        effective_shares: Callable[[], Mapping[str, float]] = dict,
        usual_ranges: Callable[[], Mapping[str, UsualRange]] = dict,
        lost: LostRows | None = None,
        newest_records: NewestRecords = lambda _micro_batch_id, _places, _rows_left: {},
        paced: Callable[[int], Mapping[str, int]] = lambda _micro_batch_id: {},
    ) -> None:
        self._facts, self._loop = facts, loop
        self._checkpoint = checkpoint
        self._plans = WrittenPlans(plans)
        self._plans.discard_drafts()
        self._plans.refuse_lost(last_committed(checkpoint))
        self._clock, self._steady_clock = clock, steady_clock
        self._reports, self._newest_records, self._paced = reports, newest_records, paced
        self._on_outcome, self._on_decision, self._needs = on_outcome, on_decision, needs
        self._effective_shares, self._usual_ranges = effective_shares, usual_ranges
        self._lost = LostRows({}) if lost is None else lost
        self._joins = joins if joins is not None else JoinPlanner((), frozenset(), dict)
        self._lock, self._sizes, self._cold_start = threading.Lock(), RowSizes(), ColdStart()
        self._upcoming: dict[int, dict[str, StreamRows]] = {}
        last = self._plans.last()
        self._carrier = CarrierClock(facts.sources, last, watermark_so_far(checkpoint))
        self._delays = {stream.name: delay_of_stream(stream) for stream in facts.streams}
        self._rows_left: dict[str, int] = {}
        self._clock_lead_seconds: dict[int, float] = {}
        """By micro-batch that this process was asked for, how far its steady clock was ahead of the wall clock."""

    def plan(self, micro_batch_id: int) -> str:
        """Return the plan of a micro-batch as JSON; durable before it is returned for the first time."""
        with self._lock:
            written_text = self._plans.text(micro_batch_id)
            if written_text is not None:
                return self._written_again(micro_batch_id, written_text)
            if self._recorded < micro_batch_id - 1:
                self._record_last()
            if self._failure is not None:
                self._is_failure_told = True
                raise self._failure
            row, decision = self._decided(micro_batch_id)
            text = row.to_json()
            self._plans.write(micro_batch_id, text)
            self._note_asked(micro_batch_id)
            self._on_decision(decision)
            self._clock_lead_seconds.pop(micro_batch_id - KEPT_PLANS, None)
            self._plans.forget(micro_batch_id - KEPT_PLANS)
            return text

    def _written_again(self, micro_batch_id: int, written_text: str) -> str:
        """The plan that is written down. Until this process was asked for it, it may be of an earlier network."""
        if micro_batch_id in self._clock_lead_seconds:
            return written_text
        self._note_asked(micro_batch_id)
        self._carrier.begin(self._steady_clock())
        self._lost.again(self._checkpoint, micro_batch_id, self.places)
        row = PlanRow.from_json(written_text)
        self._upcoming[micro_batch_id] = upcoming = self._read_in(micro_batch_id, row)
        refuse_changed(upcoming, row.files)
        times = self._shed_times(None, row.open, self._clock())
        completed = replace(told_of_all(row, self._facts, self._delays, times), topics=spans_by_name(upcoming))
        if completed == row:
            return written_text
        text = completed.to_json()
        self._plans.write(micro_batch_id, text)
        return text

    def record_last(self) -> int:
        """Take in what is known of the micro-batch that finished last, and return which; -1: none has.

        A plan does so where nobody has, and raises what has failed here, each time. Once it has, this does no more.
        """
        with self._lock:
            self._record_last()
            if self._failure is not None and not self._is_failure_told:
                raise self._failure
            return self._recorded

    def drain(self) -> None:
        """Let the watermark pass the end of every window, once all that has come by now has been read."""
        with self._lock:
            if self._catching_up is None:
                self._catching_up = CatchingUp(self._facts.sources, self._clock())

    @property
    def latest_event(self) -> Mapping[str, int]:
        """Per stream, its latest event time up to what was recorded last."""
        return dict(self._carrier.latest_event)

    @property
    def drained_at(self) -> int | None:
        """The watermark at which all windows are closed, microseconds; None: nothing is drained, or not yet."""
        return self._carrier.drained_at

    def coming(self, micro_batch_id: int) -> Mapping[str, StreamRows]:
        """Return what each stream brings in a planned micro-batch; those lack that do not tell."""
        return self._upcoming.get(micro_batch_id, {})

    def _decided(self, micro_batch_id: int) -> tuple[PlanRow, Decision]:
        ahead = self._ahead(micro_batch_id)
        may_drain = self._may_drain(micro_batch_id, ahead.upcoming)
        self._carrier.advance(ahead.steady, ahead.rows)
        decision = self._loop.plan(self._question(ahead))
        if may_drain:
            self._carrier.drain(self._facts.longest_window, decision.drops.last_start, ahead.upcoming)
        return self._row(ahead, decision), decision

    def _ahead(self, micro_batch_id: int) -> Ahead:
        """Look at what is to come, and take up the clock of an earlier run where this is the first."""
        now, steady = self._clock(), self._steady_clock()
        upcoming = self._rows_of(micro_batch_id, now)
        refuse_vanished(upcoming)
        self._upcoming[micro_batch_id] = upcoming
        last = self._plans.row(micro_batch_id - 1)
        if not self._clock_lead_seconds and last is not None:
            self._carrier.resume(self._read_in(micro_batch_id - 1, last))
        opened = watermark_milliseconds(self._checkpoint, micro_batch_id - 1) * 1000
        lost = self._lost.coming(self._checkpoint, micro_batch_id, self.places)
        newest = self._newest_records(micro_batch_id, self.places, self._rows_left)
        return Ahead(micro_batch_id, now, steady, upcoming, rows_by_name(upcoming), lost, newest, opened, last)

    def _question(self, ahead: Ahead) -> Upcoming:
        """What the control loop is told of it."""
        left = waiting_rows(ahead.upcoming, self._rows_left)
        return Upcoming(
            micro_batch_id=ahead.micro_batch_id,
            offered_rows=self._facts.of_asked(ahead.rows),
            sizes_known=len(ahead.upcoming) == len(self._facts.sources),
            backlog_rows=sum(left.values()),
            now_seconds=ahead.steady,
            windows=upcoming_windows(self._facts, self._carrier, ahead, left),
            work_per_row=self._facts.of_those_asked(self._joins.work_per_row(ahead.rows)),
            needs=self._needs(ahead.steady),
            # Workers that come and go are to take the load.
            blocks=block_counts(self.skips_blocks, ahead.upcoming) if isinstance(self._loop, ControlLoop) else {},
        )

    def _row(self, ahead: Ahead, decision: Decision) -> PlanRow:
        """The decision as tasks are told it."""
        last, upcoming, since = ahead.last, ahead.upcoming, ahead.opened - self._facts.longest_window
        codes = {
            name: share_codes(intakes, decision.query_codes, decision.sized, decision.counting)
            for name, intakes in self._facts.intakes.items()
            # The results of a join that is done in part are not sampled again.
            if not self._joins.sheds(name)
        }
        directives = self._joins.directives(
            decision.work_shares,
            micro_batch_id=ahead.micro_batch_id,
            rows=ahead.rows,
            last={} if last is None else last.streams,
        )
        shares = read_in_part(decision.read_shares, upcoming, decision.drops, self._facts.tolerant_parts, ahead.opened)
        coming, cuts = self._coming(ahead), block_cuts(shares, upcoming, ahead.micro_batch_id, decision.bundle_widths)
        of_joins = sampled_join_times(self._facts.streams, self._facts.intakes, directives, coming.times)
        return PlanRow(
            micro_batch_id=ahead.micro_batch_id,
            open=ahead.opened,
            streams={
                stream.name: self._stream_plan(
                    stream, decision, codes.get(stream.name), directives.get(stream.name), cuts.get(stream.name)
                )
                for stream in self._facts.streams
            },
            shed=remembered((*self._shed(codes, cuts, ahead), *of_joins), since=since),
            partly_joined=all_partly_joined(self._joins, self._facts, directives, coming, last),
            lost=lost_times(ahead.lost, self._facts, ahead.opened, last, self._carrier.latest_event),
            effective_shares=self._effective_shares(),
            usual_ranges=self._usual_ranges(),
            decided_at_seconds=ahead.now,
            latest_event=dict(self._carrier.latest_event),
            silent_seconds=self._carrier.silent_seconds,
            drops=decision.drops,
            drained_at=self._carrier.drained_at,
            whole_since=self._facts.whole_since(ahead.opened),
            files={name: rows.files for name, rows in upcoming.items()},
            topics=spans_by_name(upcoming),
        )

    def _shed(self, codes: Mapping[str, Mapping[str, int]], cuts: Container[str], ahead: Ahead) -> list[ShedInterval]:
        def times_of(name: str) -> tuple[int, int]:
            opened = ahead.opened - self._delays.get(name, 0)
            return self._shed_times(ahead.upcoming.get(name), opened, ahead.now)

        return [*shed_before(ahead.last, self._facts, self._carrier.latest_event), *shed_now(codes, cuts, times_of)]

    def _stream_plan(
        self,
        stream: Stream,
        decision: Decision,
        codes: dict[str, int] | None,
        directive: JoinDirective | None,
        cut: BlockCut | None,
    ) -> StreamPlan:
        intakes, codes_by_share = self._facts.intakes, codes or {}
        return StreamPlan(
            sampling_code=min(codes_by_share.values(), default=WHOLE),
            share_codes=codes_by_share if any(codes_by_share.values()) else {},
            sized=None if codes is None else sized_shares(intakes[stream.name], decision.query_codes, decision.sized),
            work_share=decision.work_shares.get(stream.name, 1.0),
            row_share=decision.row_shares.get(stream.name),
            join=directive,
            blocks=cut,
            **self._carrier.interval_of(stream),
        )

    def _read_in(self, micro_batch_id: int, plan: PlanRow | None) -> dict[str, StreamRows]:
        """What a micro-batch has brought that this process did not plan."""
        return self._rows_of(micro_batch_id, None if plan is None else plan.decided_at_seconds)

    def _rows_of(self, micro_batch_id: int, planned_at: float | None) -> dict[str, StreamRows]:
        sources, paced = self._facts.sources, self._paced(micro_batch_id)
        return upcoming_rows(self._checkpoint, micro_batch_id, sources, self.places, self._sizes, planned_at, paced)

    def _may_drain(self, micro_batch_id: int, upcoming: Mapping[str, StreamRows]) -> bool:
        """Whether nothing more is to come, now that all before it has been recorded."""
        is_unknown = micro_batch_id - 1 in self._clock_lead_seconds and self._recorded < micro_batch_id - 1
        if self._catching_up is None or self._carrier.drained_at is not None or is_unknown:
            return False
        sources, paced, rows = self._facts.sources, self._paced(micro_batch_id), rows_by_name(upcoming)
        beginning = beginning_of(self._checkpoint, micro_batch_id, sources, self.places, rows, paced.keys())
        return self._catching_up.begins(beginning)

    def _coming(self, ahead: Ahead) -> ComingRows:
        latest, sources = self._carrier.latest_event, self._facts.sources
        times = {one.name: self._shed_times(ahead.upcoming.get(one.name), ahead.opened, ahead.now) for one in sources}
        return ComingRows(
            micro_batch_id=ahead.micro_batch_id,
            rows=ahead.rows,
            times={name: (start, max(until, latest.get(name, until))) for name, (start, until) in times.items()},
            opened=ahead.opened,
        )

    def _shed_times(self, coming: StreamRows | None, opened: int, now: float) -> tuple[int, int]:
        """First and last event time of shed rows: from footers, else the bounds that watermark and clock give."""
        if coming is not None and coming.events is not None:
            return coming.events.first, coming.events.last
        latest = self._carrier.latest(now)
        return opened, UNSETTLED if latest is None else latest

    def _record_last(self) -> None:
        report = self._reports()
        if report is None or report.micro_batch_id <= self._recorded or self._failure is not None:
            return
        try:
            self._record(report)
        except Exception as error:  # noqa: BLE001 - half of it is done: it cannot be tried again, and is told who asks
            self._failure = error

    def _record(self, report: MicroBatchReport) -> None:
        written = self._plans.row(report.micro_batch_id)
        report = with_unread(with_sure_signs(report, written), written)
        self._recorded = report.micro_batch_id
        is_cold = self._cold_start.is_cold(self._observe(report, written))
        plans: Mapping[str, StreamPlan] = {} if written is None else written.streams
        started_at_seconds = report.started_at_seconds + self._clock_lead_seconds.get(report.micro_batch_id, 0.0)
        joined = self._learn_of_joins(report, started_at_seconds)
        outcome = outcome_of(
            report, plans, joined, self._facts, self._joins, started_at_seconds=started_at_seconds, is_cold=is_cold
        )
        self._on_outcome(report, outcome, plans)

    def _observe(self, report: MicroBatchReport, written: PlanRow | None) -> int:
        """Take in which rows came, by when, and what is left; return how many rows are."""
        upcoming = self._upcoming.pop(report.micro_batch_id, None)
        if upcoming is None:
            upcoming = self._read_in(report.micro_batch_id, written)
        elif report.read_rows is not None:
            refuse_lost(upcoming, report.read_rows)
        self._lost.finished(report.micro_batch_id, report.read_rows or {})
        self._carrier.observe(
            report,
            {name: rows.events for name, rows in upcoming.items() if rows.events},
            was_draining=written is not None and written.drained_at is not None,
        )
        self._rows_left = dict(report.rows_left)
        if self._catching_up is not None:
            self._catching_up.finished(report.started_at_seconds, report.rows_left)
        for name, rows in upcoming.items():
            self._sizes.learn(name, rows.bytes, report.offered_rows.get(name, 0))
        return sum(report.rows_left.values()) + sum(rows.waiting for rows in upcoming.values())

    def _learn_of_joins(self, report: MicroBatchReport, started_at_seconds: float) -> Mapping[str, JoinOutcome]:
        before, self._last_started = self._last_started, started_at_seconds
        elapsed = self._facts.trigger_interval_seconds if before is None else started_at_seconds - before
        self.joined = self._joins.learn(
            report.micro_batch_id, report.offered_rows, elapsed_seconds=max(elapsed, _LEAST_SECONDS)
        )
        return self.joined

    def _note_asked(self, micro_batch_id: int) -> None:
        self._clock_lead_seconds[micro_batch_id] = self._steady_clock() - self._clock()
