"""Records a finished micro-batch: the control loop learns from it, status and journal report it."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, field

from pyspark.accumulators import Accumulator

from streamshed.answering.table.output import Output
from streamshed.control.journal import JournalEntry
from streamshed.control.loop import ControlLoop
from streamshed.sharing.stream_work import StreamWork
from streamshed.spark.checkpoint.answer_files import AnswerFiles
from streamshed.spark.cluster.domain_scaling import DomainScaling
from streamshed.spark.common.call_costs import CallCosts
from streamshed.spark.loop.decision_log import log_changes
from streamshed.spark.loop.finished import Finished
from streamshed.spark.loop.history import History
from streamshed.spark.loop.join_planner import JoinOutcome
from streamshed.spark.loop.journal_row import journal_row, rows_admitted
from streamshed.spark.loop.measuring import measured
from streamshed.spark.loop.micro_batch_writer import MicroBatchWriter
from streamshed.spark.loop.run_status import RunStatus
from streamshed.spark.plan.plan_row import StreamPlan
from streamshed.spark.source.progress import MicroBatchReport
from streamshed.statistics.measured import Measured
from streamshed.statistics.micro_batch import MicroBatchOutcome
from streamshed.statistics.task_report import TaskReports


@dataclass(frozen=True, kw_only=True)
class Recorded:
    """Whom a time domain tells of its micro-batches, and what they are told by.

    Attributes:
        clock: Of the time domain.
        loop: Learns from them.
        scaling: The same, around it; None: the number of workers is fixed.
        history: The journal.
        answer_files: What was answered of late.
        finished: The states after them.
        works: Of each stream.
        outputs: What the queries ask for.
        call_costs: What tasks tell of user functions.
        task_reports: What they tell of the streams that they read.
        parallel_tasks: Returns how many tasks run at a time.
        is_new: Whether the checkpoint is: then the first row that comes is the first there is.
    """

    clock: str
    loop: ControlLoop
    scaling: DomainScaling | None
    history: History
    answer_files: AnswerFiles
    finished: Finished
    works: Mapping[str, StreamWork]
    outputs: Sequence[Output]
    call_costs: Accumulator[CallCosts]
    task_reports: Accumulator[TaskReports]
    parallel_tasks: Callable[[], int]
    is_new: bool


@dataclass(frozen=True, kw_only=True)
class Written:
    """What is known of a micro-batch beside Spark's report.

    Attributes:
        writer: Has written its answers; None: nothing was written in this run yet.
        joined: What came of its joins.
        is_draining: Whether the watermark goes on without rows, as nothing more is to come.
        lost_rows: How many rows brokers have deleted before they were read, since the start.
    """

    writer: MicroBatchWriter | None = None
    joined: Mapping[str, JoinOutcome] = field(default_factory=dict)
    is_draining: bool = False
    lost_rows: int = 0


class MicroBatchRecorder:
    """Records the micro-batches of one time domain, in order.

    Args:
        recorded: Whom to tell.
    """

    def __init__(self, recorded: Recorded) -> None:
        self._to = recorded
        self._last_watermark = 0
        self._first_events: dict[str, int] = {}

    def record(
        self,
        report: MicroBatchReport,
        outcome: MicroBatchOutcome,
        plans: Mapping[str, StreamPlan],
        written: Written,
    ) -> None:
        """Take in a finished micro-batch.

        Args:
            report: What Spark says of it.
            outcome: The same, as the control loop understands it.
            plans: What each stream was told.
            written: What else is known.
        """
        to, writer = self._to, written.writer
        measurements = self._measured(report, plans, written)
        entry = (
            to.loop.record(outcome, measurements) if to.scaling is None else to.scaling.record(outcome, measurements)
        )
        status = self._status(report, outcome, entry, written)
        log_changes(to.finished.latest, status)
        to.finished.add(status)
        if writer is not None:
            queries = {name: asdict(query) for name, query in status.queries.items()}
            leading = writer.take_leading_answers(report.micro_batch_id)
            to.answer_files.write(report.micro_batch_id, queries, leading)
        to.history.append(journal_row(entry.to_row(), status, entry.decision))

    def _status(
        self, report: MicroBatchReport, outcome: MicroBatchOutcome, entry: JournalEntry, written: Written
    ) -> RunStatus:
        to, writer, decision = self._to, written.writer, entry.decision
        before = to.finished.latest
        waited = 0.0 if before.micro_batch_id < 0 else outcome.started_at_seconds - before.started_at_seconds
        return RunStatus(
            clock=to.clock,
            micro_batch_id=report.micro_batch_id,
            started_at_seconds=report.started_at_seconds,
            processing_seconds=report.processing_seconds,
            trigger_interval_seconds=outcome.trigger_interval_seconds,
            latency_goal_seconds=to.loop.settings.latency_goal_seconds,
            offered_rows=sum(report.offered_rows.values()),
            admitted_rows=round(rows_admitted(report.offered_rows, outcome.admitted_rows)),
            sampling_rates=dict(outcome.sampling_rates),
            effective_sampling_rates={} if decision is None else decision.effective_sampling_rates,
            kept_shares={} if decision is None else decision.kept_shares,
            samplers={} if decision is None else decision.samplers,
            missed_goals=() if decision is None else decision.missed_goals,
            backlog_rows=0 if decision is None else decision.backlog_rows,
            skipped_rows=0 if decision is None else decision.skipped_rows,
            delay_seconds=waited + report.processing_seconds,
            reason=entry.reason,
            explanation="" if decision is None else decision.explanation,
            watermark_seconds=report.watermark / 1e6,
            state_rows=report.state_rows,
            state_bytes=to.loop.state.state_size.total_bytes,
            queries={} if writer is None else writer.summary(report.micro_batch_id),
            unreadable_rows=0 if writer is None else writer.unreadable_rows,
            lost_rows=written.lost_rows,
            joins={name: one.status for name, one in written.joined.items()},
            scaling=None if to.scaling is None else to.scaling.status(report.micro_batch_id),
            steps_seconds=report.steps_seconds,
        )

    def _measured(self, report: MicroBatchReport, plans: Mapping[str, StreamPlan], written: Written) -> Measured:
        """What tasks told of the network in a micro-batch."""
        to, writer = self._to, written.writer
        costs, to.call_costs.value = to.call_costs.value, {}
        reports, to.task_reports.value = to.task_reports.value, {}
        return measured(
            to.works,
            plans,
            costs,
            None if writer is None else writer.window_sums(report.micro_batch_id),
            to.outputs,
            parallel_tasks=to.parallel_tasks(),
            event_seconds=self._event_seconds(report, is_draining=written.is_draining),
            state_seconds=report.state_seconds,
            first_events=self._first_events_with(report),
            task_reports=reports,
        )

    def _first_events_with(self, report: MicroBatchReport) -> Mapping[str, int]:
        """When the first row of each stream was that came in this run; of one that goes on that says nothing."""
        if self._to.is_new:
            for name, instant in report.earliest_event.items():
                if name in report.readable:
                    self._first_events[name] = min(instant, self._first_events.get(name, instant))
        return self._first_events

    def _event_seconds(self, report: MicroBatchReport, *, is_draining: bool) -> float | None:
        """How far the watermark went on; None where none was known, and while draining, for then no rows move it."""
        before, self._last_watermark = self._last_watermark, report.watermark
        if before == 0 or is_draining:
            return None
        return (report.watermark - before) / 1e6
