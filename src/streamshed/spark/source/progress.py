"""What Spark reports of a finished micro-batch, in our terms. Its names end here.

Rests on Spark's internals: tests/spark/contracts/test_progress.py.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Any

import numpy as np
from pyspark.sql import DataFrame
from pyspark.sql import functions as F
from pyspark.sql.streaming.query import StreamingQuery

from streamshed.errors import SourceMismatchError
from streamshed.network.model.stream import Stream
from streamshed.spark.checkpoint.source_places import SourcePlaces
from streamshed.spark.common.internal_names import READ_ROWS, TAKEN_ROWS
from streamshed.spark.common.set_apart import UNREADABLE_CLASS
from streamshed.spark.source.backlog import rows_left

_ONCE: Mapping[str, int] = MappingProxyType({})
_STEPS = {
    "look_for_rows": ("latestOffset",),
    "note_offsets": ("walCommit",),
    "open_sources": ("getBatch",),
    "plan_query": ("queryPlanning",),
    "compute": ("addBatch",),
    "commit": ("commitOffsets", "commitBatch"),
}
"""The steps of a micro-batch in their order, and what Spark calls their durations."""


@dataclass(frozen=True)
class MicroBatchReport:
    """One finished micro-batch.

    Attributes:
        micro_batch_id: Which.
        started_at_seconds: When, seconds since the epoch.
        processing_seconds: How long.
        offered_rows: Rows that came, per stream.
        admitted_rows: Rows that passed the sampler, per stream; of one that is alone in its time domain, not counted.
        earliest_event: Earliest event time of those, per stream, microseconds.
        latest_event: Latest event time of those, or of the stream's carrier if that is later, likewise.
        readable: The streams of which rows with an event time were admitted.
        watermark: The watermark it ran with, microseconds.
        state_rows: Groups held in state.
        state_written_rows: How many of them were written.
        state_written_bytes: How large these were, together; 0 of a state store that does not tell.
        steps_seconds: How long each of its steps took, in their order.
        state_seconds: What tasks took to bring groups into state and out of it, all together.
        rows_left: Rows that had come and that it did not take, per stream over a broker.
        read_rows: Rows read, per stream, each as often as it was read; None: not known.
        counted_by_tasks: The streams whose files tasks have read, and counted the rows.
    """

    micro_batch_id: int
    started_at_seconds: float
    processing_seconds: float
    offered_rows: Mapping[str, int]
    admitted_rows: Mapping[str, int]
    earliest_event: Mapping[str, int]
    latest_event: Mapping[str, int]
    readable: AbstractSet[str]
    watermark: int
    state_rows: int
    rows_left: Mapping[str, int] = field(default_factory=dict)
    read_rows: Mapping[str, int] | None = None
    counted_by_tasks: AbstractSet[str] = frozenset()
    state_seconds: float = 0.0
    state_written_rows: int = 0
    state_written_bytes: int = 0
    steps_seconds: Mapping[str, float] = field(default_factory=dict)


def observed(rows: DataFrame, stream_index: int) -> DataFrame:
    """Count the rows of a stream and note their earliest and latest event time, for `last_report`.

    Spark does this itself for a stream that is alone in its query: it notes all but the count, which costs a tenth of
    the throughput.

    An unreadable row has no event time: its place in time is made up. Rows that were taken by columns are counted by
    those that stand for them, and rows of files that tasks have read by those that tell their number.
    """
    rows_here = F.coalesce(F.col(TAKEN_ROWS), F.lit(1)) if TAKEN_ROWS in rows.columns else F.lit(1)
    first_class = F.col("class_id") if "class_id" in rows.columns else F.get("entries", F.lit(0))["class_id"]
    has_time = ~F.coalesce(first_class == UNREADABLE_CLASS, F.lit(False))
    read = []
    if READ_ROWS in rows.columns:
        is_row = F.col(READ_ROWS).isNull()
        rows_here, has_time = F.when(is_row, rows_here), has_time & is_row
        read = [F.sum(F.coalesce(READ_ROWS, F.lit(0))).alias("read_rows")]
    event_time = F.when(has_time, F.unix_micros("event_time"))
    return rows.observe(
        _metric(stream_index),
        F.sum(rows_here.cast("bigint")).alias("rows"),
        F.min(event_time).alias("earliest_event"),
        F.max(event_time).alias("latest_event"),
        *read,
    )


def last_report(
    query: StreamingQuery, streams: Sequence[Stream], places: SourcePlaces, readings: Mapping[str, int] = _ONCE
) -> MicroBatchReport | None:
    """Return the report of the micro-batch that finished last; None before the first; see `report_of`."""
    progress = query.lastProgress
    if progress is None:
        return None
    return report_of(json.loads(_json(progress)), streams, places, readings)


def _json(progress: Any) -> str:
    text: str = progress.json if hasattr(progress, "json") else json.dumps(progress)
    return text


def report_of(
    progress: Mapping[str, Any], streams: Sequence[Stream], places: SourcePlaces, readings: Mapping[str, int] = _ONCE
) -> MicroBatchReport:
    """Translate a progress report of Spark.

    Args:
        progress: The report, from its JSON.
        streams: The streams of the time domain, in order.
        places: Of their sources.
        readings: How often a micro-batch reads each row of a stream, if not once: Spark counts it as often.

    Raises:
        SourceMismatchError: It tells of more sources, or of fewer.
    """
    metrics = progress.get("observedMetrics") or {}
    seen = {stream.name: metrics.get(_metric(index)) or {} for index, stream in enumerate(streams)}
    times = progress.get("eventTime") or {}
    offered, read = ({stream.name: 0 for stream in streams} for _ in range(2))
    left: dict[str, int] = {}
    for source, names in zip(_sources(progress, places), places.streams, strict=True):
        rows = int(source["numInputRows"]) // max(1, sum(readings.get(name, 1) for name in names))
        waiting = rows_left(source)
        for name in names:
            by_tasks = _rows_read(seen[name])
            offered[name] += rows if by_tasks is None else by_tasks
            read[name] += int(source["numInputRows"]) if by_tasks is None else by_tasks
            if waiting is not None:
                left[name] = left.get(name, 0) + waiting
    alone = streams[0].name if len(streams) == 1 and not metrics and any(offered.values()) else None
    readable = {name for name, found in seen.items() if found.get("latest_event") is not None}
    if alone is not None and _has_readable(times, offered[alone]):
        readable = {alone}
    return MicroBatchReport(
        micro_batch_id=int(progress["batchId"]),
        started_at_seconds=_instant(progress["timestamp"]) / 1e6,
        processing_seconds=max(progress["durationMs"].get("triggerExecution", 1), 1) / 1000,
        offered_rows=offered,
        admitted_rows={name: int(found.get("rows") or 0) for name, found in seen.items() if found},
        earliest_event=_instants(seen, "earliest_event") if alone is None else _of_query(alone, times, "min"),
        latest_event=_instants(seen, "latest_event") if alone is None else _of_query(alone, times, "max"),
        readable=readable,
        watermark=_instant(times["watermark"]) if "watermark" in times else 0,
        state_rows=sum(int(state["numRowsTotal"]) for state in progress.get("stateOperators", ())),
        rows_left=left,
        counted_by_tasks=frozenset(name for name, metric in seen.items() if _rows_read(metric) is not None),
        read_rows=read,
        state_seconds=_state_seconds(progress),
        state_written_rows=_state_metric(progress, "rocksdbPutCount"),
        state_written_bytes=_state_metric(progress, "rocksdbTotalBytesWritten"),
        steps_seconds=_steps_seconds(progress["durationMs"]),
    )


def _rows_read(metrics: Mapping[str, Any]) -> int | None:
    """How many rows tasks have read of files, which are all that Spark counts; None: Spark has read the rows."""
    return int(metrics["read_rows"] or 0) if "read_rows" in metrics else None


def _steps_seconds(milliseconds: Mapping[str, int]) -> dict[str, float]:
    """How long each step took; one that was not taken is left out."""
    times = {step: [milliseconds[name] for name in names if name in milliseconds] for step, names in _STEPS.items()}
    return {step: sum(of_step) / 1000 for step, of_step in times.items() if of_step}


def _state_metric(progress: Mapping[str, Any], name: str) -> int:
    return sum(int((state.get("customMetrics") or {}).get(name, 0)) for state in progress.get("stateOperators", ()))


def _state_seconds(progress: Mapping[str, Any]) -> float:
    times = ("allUpdatesTimeMs", "allRemovalsTimeMs")
    return sum(float(state.get(time, 0)) for state in progress.get("stateOperators", ()) for time in times) / 1000


def _instants(seen: Mapping[str, Mapping[str, Any]], metric: str) -> dict[str, int]:
    return {name: int(found[metric]) for name, found in seen.items() if found.get(metric) is not None}


def _of_query(stream: str, times: Mapping[str, Any], side: str) -> dict[str, int]:
    """An event time that Spark notes of a query; a row that has none shows the epoch until there is a watermark."""
    instant = _instant(times[side]) if side in times else 0
    return {stream: instant} if instant else {}


_LEAST_READABLE_SHARE = 0.001


def _has_readable(times: Mapping[str, Any], rows: int) -> bool:
    """Whether other rows than a carrier have an event time: those that have none show the epoch.

    So the mean of n rows' times and a carrier's is the latest one, T, by 1/(n+1) if no row has an event time, and
    about by the share of those that do. Rows that were shed are not among them, which looks like a few that have one.
    """
    if "max" not in times or not _instant(times["max"]):
        return False
    rows_with_time = _instant(times["avg"]) / _instant(times["max"]) * (rows + 1) - 1
    return rows_with_time > max(0.5, _LEAST_READABLE_SHARE * rows)


def _metric(stream_index: int) -> str:
    return f"streamshed_{stream_index}"


def _sources(progress: Mapping[str, Any], places: SourcePlaces) -> Sequence[Mapping[str, Any]]:
    sources: Sequence[Mapping[str, Any]] = progress["sources"]
    if len(sources) != len(places.streams):
        raise SourceMismatchError(
            f"Spark reports {len(sources)} sources, but the network's plan reads {len(places.streams)}"
        )
    return sources


def _instant(text: str) -> int:
    """Microseconds since the epoch of a time in UTC, of whatever year.

    Example:
        >>> _instant("1970-01-01T00:00:01.500Z"), _instant("55970-01-01 00:00:00")
        (1500000, 1704075408000000000)
    """
    return int(np.datetime64(text.removesuffix("Z"), "us").astype(np.int64))
