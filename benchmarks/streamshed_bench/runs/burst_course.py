"""What happened over the time of a burst, ready to be drawn."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from streamshed_bench.runs.micro_batches import MicroBatchTime

Course = tuple[tuple[float, float], ...]
"""Points (seconds since the start of the feed, value) in the order of time."""


@dataclass(frozen=True, slots=True, kw_only=True)
class BurstCourse:
    """A burst over time.

    Args:
        delays: Delay of answers in seconds, by who gave them.
        sampling_rate: Ours.
        load: Rows offered per second ÷ rows per second that fill the time without shedding.
        burst_seconds: Begin and end of the burst.
    """

    delays: Mapping[str, Course]
    sampling_rate: Course
    load: Course
    burst_seconds: tuple[float, float]


def delays_of(micro_batches: Sequence[MicroBatchTime], *, start_seconds: float) -> Course:
    """Return the delay of the oldest row of each micro-batch, at the time at which it was answered.

    The oldest row of a micro-batch that takes all that has arrived came when the one before took its rows.

    Args:
        micro_batches: In order, each taking all rows that had arrived.
        start_seconds: When the feed began, which the first micro-batch's rows waited for.

    Example:
        >>> delays_of([MicroBatchTime(rows=5, started_at_seconds=12.0, seconds=1.0),
        ...     MicroBatchTime(rows=9, started_at_seconds=14.0, seconds=3.0)], start_seconds=10.0)
        ((3.0, 3.0), (7.0, 5.0))
    """
    taken = [start_seconds, *(micro_batch.started_at_seconds for micro_batch in micro_batches)]
    return tuple(
        (micro_batch.ended_at_seconds - start_seconds, micro_batch.ended_at_seconds - oldest)
        for micro_batch, oldest in zip(micro_batches, taken, strict=False)
    )


def slowest(courses: Sequence[Course]) -> Course:
    """Merge the delays of several queries into that of whichever is slowest at each time.

    Example:
        >>> slowest([((1.0, 2.0), (3.0, 2.0)), ((2.0, 4.0),)])
        ((1.0, 2.0), (2.0, 4.0), (3.0, 4.0))
    """
    latest: dict[int, float] = {}
    merged = []
    points = sorted((time, number, delay) for number, course in enumerate(courses) for time, delay in course)
    for time, number, delay in points:
        latest[number] = delay
        merged.append((time, max(latest.values())))
    return tuple(merged)
