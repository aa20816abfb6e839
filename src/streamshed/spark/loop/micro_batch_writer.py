"""Writes the answers of a micro-batch to the sink, and keeps a summary of them for the journal."""

from __future__ import annotations

import threading
from collections.abc import Callable, Mapping

import pyarrow as pa
from pyspark.accumulators import Accumulator
from pyspark.sql import DataFrame

from streamshed.answering.table.answer_schema import ANSWER, GAP, LATE, ROW, UNREADABLE
from streamshed.answering.table.leading_answers import leading_of
from streamshed.answering.table.summary import Summary, Tally, added
from streamshed.sharing.intake import Share
from streamshed.spark.loop.interruption import StoppedError, call_off
from streamshed.spark.loop.planning_ahead import PlanningAhead
from streamshed.spark.loop.run_status import QueryStatus
from streamshed.spark.sinks.answer_stage import Summaries
from streamshed.spark.sinks.sinks import Sink
from streamshed.statistics.measured import WindowSums, summed

_KEPT_SUMMARIES = 100


class MicroBatchWriter:
    """Spark's `foreachBatch` function of a time domain.

    Args:
        sink: Where answers go.
        query_id: Returns Spark's id of the query, which a checkpoint keeps, once it runs.
        summaries: What tasks tell of the answers they computed.
        is_active: Whether Spark's query is active, which it is until its stop begins.
        ahead: Told when a micro-batch is written; None: nobody is.
        on_written: Called then, before another micro-batch can begin.
        unreadable_rows: Set aside since the start of the run, until now.
        on_set_aside: Told the query's id and the micro-batch, once one is written in which rows were set aside.
    """

    def __init__(
        self,
        sink: Sink,
        query_id: Callable[[], str],
        summaries: Accumulator[Summaries],
        *,
        is_active: Callable[[], bool] = lambda: False,
        ahead: PlanningAhead | None = None,
        on_written: Callable[[int], None] = lambda _: None,
        unreadable_rows: int = 0,
        on_set_aside: Callable[[str, int], None] = lambda _query_id, _micro_batch_id: None,
    ) -> None:
        self._sink = sink
        self._query_id = query_id
        self._task_summaries = summaries
        self._is_active = is_active
        self._ahead, self._on_written, self._on_set_aside = ahead, on_written, on_set_aside
        self._lock = threading.Lock()
        self._writing = threading.Lock()
        self._is_stopping, self._is_abandoned = False, False
        self._last_written: int | None = None
        self._summaries: dict[int, dict[str, QueryStatus]] = {}
        self._sums: dict[int, dict[Share, WindowSums]] = {}
        self._leading: dict[int, pa.Table] = {}
        self._unreadable_rows = unreadable_rows

    def __call__(self, answers: DataFrame, micro_batch_id: int) -> None:
        """Write one micro-batch; called again with the same after a crash.

        Raises:
            StoppedError: The run is being stopped; Spark then runs the micro-batch again after a restart.
        """
        with self._writing:
            if self._is_stopping:
                call_off(micro_batch_id, self._is_active)
            self._last_written = micro_batch_id
            try:
                self._write(answers, micro_batch_id)
            except Exception as error:
                if self._is_abandoned:
                    raise StoppedError(f"micro-batch {micro_batch_id} was given up") from error
                raise
            self._on_written(micro_batch_id)
            if self._ahead is not None:
                self._ahead.ended(micro_batch_id)

    def finish(self, timeout_seconds: float) -> int | None:
        """Let a micro-batch that is being written end, and begin no other.

        An interrupted one would be run again after a restart, too, but Spark reports it as a failure first.

        Returns:
            The latest micro-batch of which answers may have gone to the sink; None: of this run there is none.
        """
        self._is_stopping = True
        if self._ahead is not None:
            self._ahead.close()
        if self._writing.acquire(timeout=timeout_seconds):
            self._writing.release()
        return self._last_written

    def abandon(self) -> None:
        """Expect that the micro-batch which is being written is called off, and begin no other."""
        self._is_stopping = self._is_abandoned = True
        if self._ahead is not None:
            self._ahead.close()

    def _write(self, answers: DataFrame, micro_batch_id: int) -> None:
        if self._sink.reads_once:
            predicted = self._sink.write(answers, self._query_id(), micro_batch_id)
        else:
            predicted = self._write_persisted(answers, micro_batch_id)
        task_summaries, self._task_summaries.value = self._task_summaries.value, {}
        of_tasks = [task for (of, *_), task in task_summaries.items() if of == micro_batch_id]
        summary = added(task.answers for task in of_tasks)
        unreadable = sum(tally.rows for (kind, _), tally in summary.items() if kind == UNREADABLE)
        with self._lock:
            self._summaries[micro_batch_id] = _statuses(summary, predicted or {})
            self._sums[micro_batch_id] = summed(task.sums for task in of_tasks)
            self._leading[micro_batch_id] = leading_of([task.leading for task in of_tasks if task.leading is not None])
            self._unreadable_rows += unreadable
            for remembered in (self._summaries, self._sums, self._leading):
                while len(remembered) > _KEPT_SUMMARIES:
                    del remembered[min(remembered)]
        if unreadable:
            self._on_set_aside(self._query_id(), micro_batch_id)

    def _write_persisted(self, answers: DataFrame, micro_batch_id: int) -> Mapping[str, int] | None:
        """Compute the micro-batch exactly once, however often the sink reads it, never among the possibilities."""
        answers.persist()
        try:
            answers.write.format("noop").mode("overwrite").save()
            return self._sink.write(answers, self._query_id(), micro_batch_id)
        finally:
            answers.unpersist()

    @property
    def unreadable_rows(self) -> int:
        """Rows set aside since the start."""
        return self._unreadable_rows

    def window_sums(self, micro_batch_id: int) -> Mapping[Share, WindowSums] | None:
        """Return the sums over the windows that were answered in a micro-batch; None: it is not known."""
        with self._lock:
            return self._sums.get(micro_batch_id)

    def summary(self, micro_batch_id: int) -> Mapping[str, QueryStatus]:
        """Return what each query answered in a micro-batch."""
        with self._lock:
            return dict(self._summaries.get(micro_batch_id, {}))

    def take_leading_answers(self, micro_batch_id: int) -> pa.Table:
        """Return the leading answers of a micro-batch, and forget them; none where they are not known."""
        with self._lock:
            return self._leading.pop(micro_batch_id, leading_of([]))


def _statuses(summary: Summary, predicted: Mapping[str, int]) -> dict[str, QueryStatus]:
    names = {query for kind, query in summary if kind != UNREADABLE} | set(predicted)
    return {name: _status(summary, name, predicted.get(name, 0)) for name in sorted(names)}


def _status(summary: Summary, name: str, predictions: int) -> QueryStatus:
    tally = summary.get((ANSWER, name), Tally())
    end = tally.latest_window_end
    return QueryStatus(
        answers=tally.answers,
        exact_answers=tally.exact_answers,
        relative_error=tally.widths / tally.widths_count if tally.widths_count else None,
        late_pairs=summary.get((LATE, name), Tally()).rows,
        rows=summary.get((ROW, name), Tally()).answers,
        gaps=summary.get((GAP, name), Tally()).answers,
        predictions=predictions,
        latest_window_end_seconds=None if end is None else end / 1e6,
        latest_window_until=tally.latest_window_until,
    )
