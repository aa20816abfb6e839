"""Where the time of micro-batches goes, from the log of events that Spark writes."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import Any

EVENT_LOG: Mapping[str, str] = {
    "spark.eventLog.enabled": "true",
    "spark.eventLog.rolling.enabled": "false",
    "spark.eventLog.compress": "false",
}
"""Settings of a session that writes one, beside `spark.eventLog.dir`."""

PARTS = ("before_jobs", "side_jobs", "between_jobs", "main_job", "after_jobs")
"""The parts of a micro-batch, in order; they add up to the whole of it."""

_QUERY, _MICRO_BATCH = "sql.streaming.queryId", "streaming.sql.batchId"


@dataclass(frozen=True, slots=True, kw_only=True)
class MicroBatchCourse:
    """One micro-batch, in milliseconds.

    Args:
        micro_batch_id: Its number.
        trigger: How long it took (`triggerExecution`).
        parts: By `PARTS`: until the first job; jobs besides the main one, and what lies between them; from these to
            the main job; the main job, which is the one with most stages; the rest.
        durations: What Spark reports itself (`durationMs`).
        stages: The stages of the main job, in order.
        jobs: How many jobs there were.
        tasks: How many tasks these had.
        task_cpu: CPU of Java's threads in them.
    """

    micro_batch_id: int
    trigger: float
    parts: Mapping[str, float]
    durations: Mapping[str, float]
    stages: tuple[float, ...]
    jobs: int
    tasks: int
    task_cpu: float


@dataclass(slots=True)
class _Job:
    stage_ids: tuple[int, ...]
    start: float
    end: float = 0.0


def courses(folder: Path, query_id: str) -> tuple[MicroBatchCourse, ...]:
    """Return the micro-batches of a query that ran jobs, in order.

    Args:
        folder: Where the logs of sessions lie.
        query_id: Spark's id of the query.
    """
    lines = (line for file in sorted(folder.iterdir()) for line in file.read_text().splitlines())
    return courses_of(_events(lines), query_id)


def courses_of(events: Iterable[Mapping[str, Any]], query_id: str) -> tuple[MicroBatchCourse, ...]:
    """Return the same from events, each a JSON object as Spark writes it."""
    jobs: dict[int, _Job] = {}
    jobs_of: dict[int, list[_Job]] = {}
    stages: dict[int, float] = {}
    task_cpu: dict[int, list[float]] = {}
    progress: dict[int, Mapping[str, Any]] = {}
    for event in events:
        match event["Event"].rsplit(".", 1)[-1]:
            case "SparkListenerJobStart":
                properties = event.get("Properties") or {}
                if properties.get(_QUERY) == query_id:
                    job = _Job(tuple(event["Stage IDs"]), float(event["Submission Time"]))
                    jobs[event["Job ID"]] = job
                    jobs_of.setdefault(int(properties[_MICRO_BATCH]), []).append(job)
            case "SparkListenerJobEnd" if event["Job ID"] in jobs:
                jobs[event["Job ID"]].end = float(event["Completion Time"])
            case "SparkListenerStageCompleted":
                stage = event["Stage Info"]
                stages[stage["Stage ID"]] = stage["Completion Time"] - stage["Submission Time"]
            case "SparkListenerTaskEnd":
                nanoseconds = (event.get("Task Metrics") or {}).get("Executor CPU Time", 0)
                task_cpu.setdefault(event["Stage ID"], []).append(nanoseconds / 1e6)
            case "StreamingQueryListener$QueryProgressEvent" if event["progress"]["id"] == query_id:
                progress[event["progress"]["batchId"]] = event["progress"]
    return tuple(
        _course(progress[number], jobs_of[number], stages, task_cpu) for number in sorted(jobs_of.keys() & progress)
    )


def _events(lines: Iterable[str]) -> Iterable[Mapping[str, Any]]:
    for line in lines:
        try:
            yield json.loads(line)
        except json.JSONDecodeError:  # the last line of a session that still writes
            continue


def _course(
    progress: Mapping[str, Any],
    jobs: list[_Job],
    stages: Mapping[int, float],
    task_cpu: Mapping[int, list[float]],
) -> MicroBatchCourse:
    start = datetime.fromisoformat(progress["timestamp"]).timestamp() * 1000
    durations = {name: float(value) for name, value in progress["durationMs"].items()}
    trigger = durations["triggerExecution"]
    main = max(jobs, key=lambda job: len(job.stage_ids))
    before_main = [job for job in jobs if job is not main and job.start <= main.start]
    first = min((job.start for job in before_main), default=main.start)
    last = max((min(job.end, main.start) for job in before_main), default=main.start)
    ids = [number for job in jobs for number in job.stage_ids]
    times = (first - start, last - first, main.start - last, main.end - main.start, start + trigger - main.end)
    return MicroBatchCourse(
        micro_batch_id=progress["batchId"],
        trigger=trigger,
        parts=dict(zip(PARTS, times, strict=True)),
        durations=durations,
        stages=tuple(stages[number] for number in sorted(main.stage_ids) if number in stages),
        jobs=len(jobs),
        tasks=sum(len(task_cpu.get(number, ())) for number in ids),
        task_cpu=sum(sum(task_cpu.get(number, ())) for number in ids),
    )
