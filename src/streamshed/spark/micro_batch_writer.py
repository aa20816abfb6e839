"""What becomes of a micro-batch's answers: to the sink, the unreadable set aside, a summary for the journal."""

from __future__ import annotations

import threading
from collections.abc import Callable, Mapping

from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from streamshed.errors import StreamshedError
from streamshed.spark.answer_schema import ANSWER, LATE, ROW, UNREADABLE
from streamshed.spark.answers import AnswerColumns
from streamshed.spark.plan_row import PlanRow
from streamshed.spark.run_status import QueryStatus
from streamshed.spark.sinks import Sink

_SET_ASIDE_COLUMNS = ("stream", "reason", "identity", "text")


class StoppedError(StreamshedError):
    """A micro-batch was not written because its run is being stopped."""


class MicroBatchWriter:
    """Spark's `foreachBatch` function of a time domain.

    Args:
        sink: Where answers go.
        query_id: Spark's id of the query, which a checkpoint keeps.
        set_aside: Folder for what could not be read.
        columns: What makes answers of window partials.
        plan_of: Returns the plan of a micro-batch.
    """

    def __init__(
        self,
        sink: Sink,
        query_id: str,
        set_aside: str,
        *,
        columns: AnswerColumns,
        plan_of: Callable[[int], PlanRow],
    ) -> None:
        self._columns = columns
        self._plan_of = plan_of
        self._sink = sink
        self._query_id = query_id
        self._set_aside = set_aside
        self._lock = threading.Lock()
        self._writing = threading.Lock()
        self._is_stopping = False
        self._summaries: dict[int, dict[str, QueryStatus]] = {}
        self._unreadable_rows = 0

    def __call__(self, partials: DataFrame, micro_batch_id: int) -> None:
        """Write one micro-batch; called again with the same after a crash.

        Raises:
            StoppedError: The run is being stopped; Spark then runs the micro-batch again after a restart.
        """
        with self._writing:
            if self._is_stopping:
                raise StoppedError(f"micro-batch {micro_batch_id} was not begun: the run is being stopped")
            self._write(partials, micro_batch_id)

    def finish(self, timeout_seconds: float) -> None:
        """Let a micro-batch that is being written end, and begin no other.

        An interrupted one would be run again after a restart, too, but Spark reports it as a failure first.
        """
        self._is_stopping = True
        if self._writing.acquire(timeout=timeout_seconds):
            self._writing.release()

    def _write(self, partials: DataFrame, micro_batch_id: int) -> None:
        answers = self._columns.answers(partials, self._plan_of(micro_batch_id).shed).persist()
        try:
            summary = {(row["kind"], row["query"]): row.asDict() for row in _summarized(answers).collect()}
            self._sink.write(answers.where(F.col("kind") != UNREADABLE), self._query_id, micro_batch_id)
            unreadable = sum(int(row["rows"]) for (kind, _), row in summary.items() if kind == UNREADABLE)
            if unreadable:
                self._put_aside(answers, micro_batch_id)
        finally:
            answers.unpersist()
        with self._lock:
            self._summaries[micro_batch_id] = _statuses(summary)
            self._unreadable_rows += unreadable
            while len(self._summaries) > 100:
                del self._summaries[min(self._summaries)]

    @property
    def unreadable_rows(self) -> int:
        """Rows set aside since the start."""
        return self._unreadable_rows

    def summary(self, micro_batch_id: int) -> Mapping[str, QueryStatus]:
        """Return what each query answered in a micro-batch."""
        with self._lock:
            return dict(self._summaries.get(micro_batch_id, {}))

    def _put_aside(self, answers: DataFrame, micro_batch_id: int) -> None:
        """Write the unreadable rows where a later look can find them, exactly once."""
        rows = answers.where(F.col("kind") == UNREADABLE).select(
            F.col("query").alias("stream"),
            "reason",
            F.col("key")[0].alias("identity"),
            F.col("value_text").alias("text"),
            F.col("rows_used").alias("rows"),
        )
        target = f"{self._set_aside}/query_id={self._query_id}/micro_batch_id={micro_batch_id}"
        rows.coalesce(1).write.mode("overwrite").parquet(target)


def _summarized(answers: DataFrame) -> DataFrame:
    width = (F.col("upper") - F.col("lower")) / 2 / F.abs(F.nullif(F.col("value"), F.lit(0.0)))
    is_number = ~F.isnan(width)
    return answers.groupBy("kind", "query").agg(
        F.count(F.lit(1)).alias("answers"),
        F.count(F.when(F.col("exact"), 1)).alias("exact_answers"),
        F.avg(F.when(is_number, width)).alias("relative_error"),
        F.sum("rows_used").alias("rows"),
        F.max(F.unix_micros("window_end")).alias("latest_window_end"),
    )


def _statuses(summary: Mapping[tuple[str, str], Mapping[str, object]]) -> dict[str, QueryStatus]:
    names = {query for kind, query in summary if kind != UNREADABLE}
    return {name: _status(summary, name) for name in sorted(names)}


def _status(summary: Mapping[tuple[str, str], Mapping[str, object]], name: str) -> QueryStatus:
    found = summary.get((ANSWER, name), {})
    end = found.get("latest_window_end")
    return QueryStatus(
        answers=_whole(found, "answers"),
        exact_answers=_whole(found, "exact_answers"),
        relative_error=_number(found.get("relative_error")),
        late_pairs=_whole(summary.get((LATE, name), {}), "rows"),
        rows=_whole(summary.get((ROW, name), {}), "answers"),
        latest_window_end_seconds=None if end is None else float(str(end)) / 1e6,
    )


def _whole(row: Mapping[str, object], name: str) -> int:
    return int(str(row.get(name) or 0))


def _number(value: object) -> float | None:
    return None if value is None else float(str(value))
