"""One time domain of a network, running: its planner, its streaming query, its journal."""

from __future__ import annotations

import math
import time
from collections.abc import Mapping, Sequence
from contextlib import ExitStack
from dataclasses import replace
from functools import partial

from pyspark.sql import SparkSession
from pyspark.sql.streaming.query import StreamingQuery

from streamshed.answering.table.output import Output
from streamshed.control.decision import Decision
from streamshed.control.known import known_statistics
from streamshed.control.loop import ControlLoop
from streamshed.planning.load.partly_joinable import partly_joinable
from streamshed.planning.tree.scalability import protected_streams
from streamshed.spark.admit.avro_reader import require_readable
from streamshed.spark.checkpoint.answer_files import ANSWERS_FOLDER, AnswerFiles
from streamshed.spark.checkpoint.checkpoint_reader import is_written, query_id
from streamshed.spark.checkpoint.source_logs import source_logs
from streamshed.spark.checkpoint.source_places import source_places
from streamshed.spark.checkpoint.stop_note import StopNote
from streamshed.spark.checkpoint.storage import STATISTICS_FILE
from streamshed.spark.cluster.domain_scaling import DomainScaling
from streamshed.spark.cluster.input_cut import InputCut, WindowPieces
from streamshed.spark.cluster.session import state_settings
from streamshed.spark.cluster.stage_watch import StageWatch
from streamshed.spark.compile.compiled_network import readings
from streamshed.spark.domain_checkpoint import DomainCheckpoint
from streamshed.spark.domain_draft import DomainDraft
from streamshed.spark.domain_facts import DomainFacts
from streamshed.spark.domain_frame import DomainFrame
from streamshed.spark.joins.join_reports import JoinReports
from streamshed.spark.loop.domain_needs import DomainNeeds
from streamshed.spark.loop.finished import Finished
from streamshed.spark.loop.history import History
from streamshed.spark.loop.interpreting import Interpreting
from streamshed.spark.loop.join_planner import JoinPlanner
from streamshed.spark.loop.learned_files import JOINS_FILE, LearnedFiles, restored_loop, statistics_text
from streamshed.spark.loop.measuring import effective_shares, usual_ranges
from streamshed.spark.loop.micro_batch_planner import MicroBatchPlanner
from streamshed.spark.loop.micro_batch_recorder import MicroBatchRecorder, Recorded, Written
from streamshed.spark.loop.micro_batch_writer import MicroBatchWriter
from streamshed.spark.loop.planning_ahead import PlanningAhead, Questions
from streamshed.spark.loop.run_status import RunStatus
from streamshed.spark.loop.silence import steady_clock
from streamshed.spark.loop.sql_trials import try_sql
from streamshed.spark.plan.plan_client import PlanClient
from streamshed.spark.plan.plan_row import StreamPlan
from streamshed.spark.query_name import free_name
from streamshed.spark.reading.reading_pace import ReadingPace
from streamshed.spark.reading.topic_reading import TopicReading
from streamshed.spark.settled_query import end_query
from streamshed.spark.sinks.sinks import Sink
from streamshed.spark.source.progress import MicroBatchReport, last_report
from streamshed.spark.source.upcoming_rows import pieces_of
from streamshed.spark.windows.manifest import Manifest
from streamshed.statistics.micro_batch import MicroBatchOutcome
from streamshed.statistics.network_statistics import NetworkStatistics

_LAST_MICRO_BATCH_SECONDS = 60.0


class DomainRun:
    """Plans, compiles and runs one time domain.

    Everything that can be refused is refused on construction, before anything runs.

    Args:
        draft: What Spark makes of it.
        spark: The session.
        checkpoint: Where it begins or goes on, and how.
        frame: Its answers.
        sink: Where they go.
        finished: The states after the micro-batches of the run that it continues; None: it begins.
    """

    def __init__(
        self,
        draft: DomainDraft,
        spark: SparkSession,
        checkpoint: DomainCheckpoint,
        frame: DomainFrame,
        sink: Sink,
        finished: Finished | None = None,
    ) -> None:
        domain, settings, folder = draft.domain, checkpoint.settings, checkpoint.folder
        self.draft, self.domain = draft, domain
        self._network, self._works = draft.network, draft.works
        self._spark, self._sink = spark, sink
        self._checkpoint, self._settings = checkpoint, settings
        self._frame = frame
        self._learned = LearnedFiles(folder, time.monotonic)
        self._joins = self._join_planner()
        self._history = History(folder.below("journal"))
        self._loop = restored_loop(self._learned, draft.of_domain, settings.control, settings.time)
        self._write_what_is_learned()
        self._scaling = self._shared_scaling()
        self._needs = DomainNeeds(settings.needs, domain.clock, self._loop, self._growth)
        self._finished = Finished(domain.clock) if finished is None else finished
        lost_rows, note = self._finished.latest.lost_rows, checkpoint.stopped
        untold, spark_folder = None if note is None else note.shares_there, checkpoint.spark_folder
        self._topics = TopicReading(spark, domain.sources, spark_folder, self._loop, lost_rows=lost_rows, untold=untold)
        outputs = draft.compiled.row_outputs
        self._pace = ReadingPace(spark, domain.sources, spark_folder, self._loop)
        self._recorder, self._planner = self._new_recorder(outputs), self._new_planner(outputs)
        self._query: StreamingQuery | None = None
        self._writer: MicroBatchWriter | None = None
        self._tasks = spark.sparkContext.defaultParallelism
        self._input_cut = InputCut(spark)
        self._window_pieces: WindowPieces | None = None
        self._interpreting = Interpreting(spark, is_possible=frame.reads_files)
        self.idle_since_seconds = math.inf
        """When its last micro-batch had ended, on a clock that never steps; infinite while it runs."""
        self.hindrance: Exception | None = None
        """What keeps it from running again, now that it was stopped; None: nothing."""

    def _write_what_is_learned(self) -> None:
        if self.domain.joined:
            self._learned.add(JOINS_FILE, self._joins.to_json)
        self._learned.add(STATISTICS_FILE, lambda: statistics_text(self.statistics))

    def _join_planner(self) -> JoinPlanner:
        domain, control = self.domain, self._settings.control
        return JoinPlanner(
            domain.streams,
            partly_joinable(domain.joined, protected_streams(self._network.foundation)),
            self._take_join_reports,
            self._learned.read(JOINS_FILE),
            believed={} if control.statistics is None else control.statistics.joins,
            parallel_tasks=self._spark.sparkContext.defaultParallelism,
            partitions=self.manifest.partitions,
            is_advisory=control.advisory,
        )

    def _shared_scaling(self) -> DomainScaling | None:
        workers, partitions = self._settings.workers, self.manifest.partitions
        if workers is None:
            return None
        return DomainScaling(workers, self._loop, partitions, self._parallel_tasks, self._settings.time)

    def _answer_files(self) -> AnswerFiles:
        folder = self._checkpoint.folder.below(ANSWERS_FOLDER)
        return AnswerFiles(folder, confidence=self._settings.control.confidence)

    def _new_recorder(self, outputs: Sequence[Output]) -> MicroBatchRecorder:
        return MicroBatchRecorder(
            Recorded(
                clock=self.domain.clock,
                loop=self._loop,
                scaling=self._scaling,
                history=self._history,
                answer_files=self._answer_files(),
                finished=self._finished,
                works=self._works,
                outputs=outputs,
                call_costs=self._frame.call_costs,
                task_reports=self._frame.task_reports,
                parallel_tasks=self._parallel_tasks,
                is_new=self._checkpoint.is_new,
            )
        )

    def _new_planner(self, outputs: Sequence[Output]) -> MicroBatchPlanner:
        return MicroBatchPlanner(
            DomainFacts.of(self.draft, self.manifest, self._loop, self._settings.control.trigger_interval_seconds),
            self._loop if self._scaling is None else self._scaling.loop,
            checkpoint=self._checkpoint.spark_folder,
            plans=self._checkpoint.folder.below("plans"),
            clock=time.time,
            steady_clock=steady_clock(),
            reports=self._last_report,
            on_outcome=self._record,
            joins=self._joins,
            needs=self._needs.published,
            on_decision=self._tell,
            effective_shares=lambda: effective_shares(self._loop.state.learned, outputs),
            usual_ranges=lambda: usual_ranges(self._loop.state.learned, outputs),
            lost=self._topics.lost,
            newest_records=self._topics.newest_records,
            paced=self._pace.paced,
        )

    @property
    def manifest(self) -> Manifest:
        """What the checkpoint was made for, and goes on with."""
        return self._checkpoint.manifest

    @property
    def planner(self) -> MicroBatchPlanner:
        """Answers for the plan of each micro-batch."""
        return self._planner

    @property
    def first_workers(self) -> int:
        """With how many workers it is to begin; 1 where their number is fixed."""
        return 1 if self._scaling is None else self._scaling.first_workers(self._history.latest(4))

    @property
    def query(self) -> StreamingQuery:
        """Spark's query."""
        if self._query is None:
            raise RuntimeError("the time domain has not been started")
        return self._query

    @property
    def failure(self) -> Exception | None:
        """What has ended it; None: it runs, or was stopped."""
        return self.hindrance or self.query.exception()

    @property
    def finished(self) -> Finished:
        """The states after its latest micro-batches."""
        return self._finished

    @property
    def status(self) -> RunStatus:
        """The state after its latest micro-batch."""
        return self._finished.latest

    @property
    def history(self) -> History:
        """The journal."""
        return self._history

    def statistics(self) -> NetworkStatistics:
        """What has been learned of operators and queries."""
        learned_statistics = known_statistics(self._loop.network, self._settings.control, self._loop.state)
        measured = self._joins.statistics(
            self._parallel_tasks(), lambda stream: learned_statistics.stream(stream).event_seconds_per_second
        )
        return replace(learned_statistics, joins={**learned_statistics.joins, **measured})

    @property
    def client(self) -> PlanClient:
        """What its tasks ask for plans."""
        return self._frame.client

    def require_sources(self) -> None:
        """See that what its rows come from is there.

        Raises:
            SourceUnavailableError: Its topics are not there, or the registry of their schemas.
        """
        require_readable(self.domain.sources)
        self._topics.require_topics()

    def start(self) -> None:
        """Start the streaming query, once `require_sources` is content; somebody answers `client` by now."""
        self.require_sources()
        try_sql(self._spark, self._works, self._loop, parallel_tasks=self._tasks)
        if self._frame.drops_windows:
            by_group = frozenset(name for name, work in self._works.items() if work.cohort_keys)
            self._window_pieces = WindowPieces(self._input_cut, self._tasks, by_group)
        answers = self._frame.answers
        places = source_places(answers, self.draft.frames)
        self._checkpoint.begin(self.draft, places, state_settings(self._spark))
        self._planner.places = self.manifest.places
        self._planner.skips_blocks = self._frame.skips_blocks
        self._writer = MicroBatchWriter(
            self._sink,
            lambda: query_id(self._checkpoint.spark_folder),
            self._frame.summaries,
            is_active=lambda: self.query.isActive,
            ahead=self._planning_ahead(),
            unreadable_rows=self._finished.latest.unreadable_rows,
            on_written=self._written,
            on_set_aside=self._checkpoint.set_aside_limit().written,
        )
        interval = self._settings.control.trigger_interval_seconds
        writer = answers.writeStream.outputMode("append").option("checkpointLocation", self._checkpoint.spark_path)
        name = free_name(f"streamshed {self.domain.clock}", [query.name for query in self._spark.streams.active])
        writer = writer.queryName(name).foreachBatch(self._writer)
        with self._interpreting.settings():
            self._query = writer.trigger(processingTime=f"{round(interval * 1000)} milliseconds").start()
        self._pace.begin(self._query, self.manifest.places)
        self._topics.begin(self._query, self.manifest.places)
        if self._scaling is not None:
            self._scaling.watch(StageWatch(self._spark, str(self._query.runId)), self._input_cut)

    def _written(self, micro_batch_id: int) -> None:
        """Take in that a micro-batch is written, before another can begin."""
        self._pace.written(micro_batch_id, self._planner.coming(micro_batch_id))
        source_logs(self._checkpoint.spark_folder, self.manifest.places, self.domain.sources).shorten(micro_batch_id)

    def give_up(self) -> None:
        """Stop the query in the midst of a micro-batch, which is run again after a restart."""
        if self._query is None:
            return
        if self._writer is not None:
            self._writer.abandon()
        self._query.stop()

    def close(self) -> None:
        """Stop the query, and write down what was learned."""
        with ExitStack() as closing:  # whatever one of them raises, the others are done
            closing.callback(self._learned.write)
            closing.callback(self._release)
            if self._query is not None and self._writer is not None:
                last_written = self._writer.finish(_LAST_MICRO_BATCH_SECONDS)
                self.idle_since_seconds = time.monotonic()
                end_query(self._query, last_written)
                self._note_stop(last_written, self._planner.record_last())

    def _note_stop(self, last_written: int | None, recorded: int) -> None:
        if last_written is not None:
            latest_event, untold = self._planner.latest_event, self._topics.lost.untold or {}
            note = StopNote(
                last_written=last_written, recorded=recorded, latest_event=latest_event, shares_there=untold
            )
            self._checkpoint.note_stop(note)

    def call_off(self) -> None:
        """End what has failed to begin; nothing is written down."""
        with ExitStack() as closing:
            closing.callback(self._release)
            self.give_up()

    def go_back(self) -> None:
        """Let the checkpoint be for this network again, as another one that was to go on from it has not begun."""
        self._checkpoint.write_manifest()

    def _release(self) -> None:
        self._topics.close()
        self._input_cut.restore()

    def _tell(self, decision: Decision) -> None:
        """Let those know of a decision who follow it."""
        self._needs.tell(decision)
        if self._window_pieces is not None:
            pieces = pieces_of(self._planner.coming(decision.micro_batch_id).values())
            self._window_pieces.tell(decision.offered_rows, decision.row_shares, pieces)

    def _growth(self, micro_batch_id: int) -> float:
        """How many times faster workers could get than those that a micro-batch was decided on for."""
        step = None if self._scaling is None else self._scaling.loop.known_step(micro_batch_id)
        return 1.0 if step is None else step.growth

    def _take_join_reports(self) -> JoinReports:
        reports = self._frame.join_reports
        taken, reports.value = reports.value, {}
        return taken

    def _planning_ahead(self) -> PlanningAhead:
        checkpoint = self._checkpoint.spark_folder
        questions = Questions(
            record_last=self._planner.record_last,
            # Elsewhere a look takes as long as it saves.
            is_written=partial(is_written, checkpoint) if checkpoint.is_local else None,
            plan=self._planner.plan,
        )
        return PlanningAhead(questions, self._settings.control.trigger_interval_seconds)

    def frame_behind(self, draft: DomainDraft, client: PlanClient) -> DomainFrame:
        """Lay out what is to run in its place, while it runs.

        Args:
            draft: Another network.
            client: What asks for its plans.

        Raises:
            IncompatibleCheckpointError: The checkpoint was not made for it.
            UnsheddableQueryError: The policy cannot answer a query.
        """
        manifest = self._checkpoint.continued(draft)
        ControlLoop(draft.of_domain, self._settings.control, time.time, self._settings.time)
        # Until it stops, more queries may miss windows: those that have gaps, and all that come, as rows come now.
        before = self.draft.of_domain.queries
        come = {query.definition_id for query in draft.of_domain.queries} - {query.definition_id for query in before}
        may_miss = {query.definition_id for query in before if query.gap_windows}
        missing = self._checkpoint.missing(draft, manifest) | may_miss | come
        return DomainFrame.of(draft, self._spark, self._settings, manifest, client, missing)

    def _last_report(self) -> MicroBatchReport | None:
        if self._query is None:
            return None
        places, times_read = self.manifest.places, readings(self.domain, self.manifest.layout)
        return last_report(self._query, self.domain.sources, places, times_read)

    def _parallel_tasks(self) -> int:
        """How many tasks run at a time: asked for whenever it is needed, for executors come and go."""
        if self._query is not None and self._query.isActive:
            self._tasks = self._spark.sparkContext.defaultParallelism
        return self._tasks

    def _record(self, report: MicroBatchReport, outcome: MicroBatchOutcome, plans: Mapping[str, StreamPlan]) -> None:
        is_draining = self._planner.drained_at is not None
        written = Written(
            writer=self._writer, joined=self._planner.joined, is_draining=is_draining, lost_rows=self._topics.lost.rows
        )
        self._pace.finished(report)
        self._interpreting.finished(self.query, report.state_written_rows)
        self._recorder.record(report, outcome, plans, written)
        self._learned.write_if_due()
