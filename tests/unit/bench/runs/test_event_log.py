import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from streamshed_bench.runs.event_log import PARTS, courses, courses_of

QUERY = "q"
START = 1_735_689_600_000
"""2025-01-01T00:00:00Z, milliseconds."""

Event = dict[str, Any]


def job(
    number: int, start: int, end: int, stages: list[int], *, query: str = QUERY, micro_batch: int = 7
) -> list[Event]:
    properties = {"sql.streaming.queryId": query, "streaming.sql.batchId": str(micro_batch)}
    return [
        {
            "Event": "SparkListenerJobStart",
            "Job ID": number,
            "Stage IDs": stages,
            "Submission Time": START + start,
            "Properties": properties,
        },
        {"Event": "SparkListenerJobEnd", "Job ID": number, "Completion Time": START + end},
    ]


def stage(number: int, start: int, end: int) -> Event:
    info = {"Stage ID": number, "Submission Time": START + start, "Completion Time": START + end}
    return {"Event": "SparkListenerStageCompleted", "Stage Info": info}


def task(number: int, cpu: float) -> Event:
    return {
        "Event": "SparkListenerTaskEnd",
        "Stage ID": number,
        "Task Metrics": {"Executor CPU Time": round(cpu * 1e6)},
    }


def progress(trigger: int, *, micro_batch: int = 7) -> Event:
    return {
        "Event": "org.apache.spark.sql.streaming.StreamingQueryListener$QueryProgressEvent",
        "progress": {
            "id": QUERY,
            "batchId": micro_batch,
            "timestamp": "2025-01-01T00:00:00.000Z",
            "durationMs": {"triggerExecution": trigger, "queryPlanning": 120},
        },
    }


COURSE = [
    *job(0, 200, 240, [0]),
    *job(1, 430, 700, [1, 2, 3]),
    stage(0, 200, 240),
    stage(1, 430, 470),
    stage(2, 470, 550),
    stage(3, 550, 700),
    task(0, 5.0),
    task(1, 20.0),
    task(1, 21.5),
    *job(2, 100, 900, [4], query="another"),
    task(4, 1000.0),
    progress(760),
]


def test_where_the_time_of_a_micro_batch_goes() -> None:
    [course] = courses_of(COURSE, QUERY)
    assert course.parts == dict(zip(PARTS, (200, 40, 190, 270, 60), strict=True))
    assert (course.micro_batch_id, course.trigger, course.jobs, course.tasks) == (7, 760, 2, 3)
    assert course.durations["queryPlanning"] == 120
    assert list(course.stages) == [40, 80, 150]
    assert course.task_cpu == pytest.approx(46.5)


def test_one_job_is_the_main_one() -> None:
    [course] = courses_of([*job(0, 300, 500, [0]), progress(560)], QUERY)
    assert course.parts == dict(zip(PARTS, (300, 0, 0, 200, 60), strict=True))


def test_micro_batches_without_a_report_or_a_job_are_left_out() -> None:
    events = [*COURSE, *job(5, 0, 10, [9], micro_batch=8), progress(10, micro_batch=9)]
    assert [one.micro_batch_id for one in courses_of(events, QUERY)] == [7]


@given(st.lists(st.tuples(st.integers(0, 500), st.integers(0, 500)), max_size=4), st.integers(0, 1000))
def test_parts_add_up_to_the_whole(others: list[tuple[int, int]], trigger: int) -> None:
    side = [
        event for number, (start, took) in enumerate(others) for event in job(number, start, start + took, [number])
    ]
    [course] = courses_of([*side, *job(9, 400, 600, [10, 11]), progress(trigger)], QUERY)
    assert sum(course.parts.values()) == trigger
    assert all(course.parts[part] >= 0 for part in ("before_jobs", "side_jobs", "between_jobs", "main_job"))


def test_a_log_whose_last_line_is_still_being_written(tmp_path: Path) -> None:
    (tmp_path / "local-1").write_text("\n".join(map(json.dumps, COURSE)) + '\n{"Event": "SparkListenerJobSt')
    assert [one.trigger for one in courses(tmp_path, QUERY)] == [760]
