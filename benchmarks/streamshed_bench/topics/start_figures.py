"""What the benchmark `start` says of a start, and of a short trigger."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

from streamshed.traces.staged_feed import StagedFile
from streamshed_bench.runs.answer_check import Key
from streamshed_bench.runs.burst_figures import percentile
from streamshed_bench.topics.delays import answered
from streamshed_bench.topics.topic_feed import Sent

_TOLERANCE = 1e-9


class TimedAnswer(NamedTuple):
    """An answer, and when it came.

    Attributes:
        query: Of which query.
        aggregate: Which aggregate.
        window_end: When its window ends, seconds since the epoch.
        value: Its value; 0 where it has none.
        lower: Its lower bound; None: it has none.
        upper: Its upper bound; None: it has none.
        at_seconds: When the sink had it, seconds since the epoch.
    """

    query: str
    aggregate: str
    window_end: int
    value: float
    lower: float | None
    upper: float | None
    at_seconds: float

    @property
    def key(self) -> Key:
        """What it answers."""
        return self.query, self.aggregate, self.window_end

    def holds(self, exact: float) -> bool:
        """Whether a value is within its bounds."""
        room = _TOLERANCE * max(abs(exact), 1.0)
        return (self.lower is None or self.lower <= exact + room) and (self.upper is None or exact - room <= self.upper)


@dataclass(frozen=True, slots=True, kw_only=True)
class StartedMicroBatch:
    """A micro-batch with rows after a start.

    Attributes:
        started_seconds: When it started, seconds after `start` was called.
        ended_seconds: When it had answered, the same.
        delay_seconds: As the journal tells it: since the micro-batch before it started, to its answers.
        arrival_delay_seconds: From the arrival of its oldest row to its answers.
        rows: Its rows.
        work_share: Share of the work on them that was done.
    """

    started_seconds: float
    ended_seconds: float
    delay_seconds: float
    arrival_delay_seconds: float
    rows: int
    work_share: float

    @property
    def seconds(self) -> float:
        """How long it took."""
        return self.ended_seconds - self.started_seconds


def sent_files(files: Sequence[StagedFile], *, began_seconds: float, speed: float) -> Sent:
    """Say which rows of a feed came when.

    Args:
        files: Its files.
        began_seconds: When it began, seconds since the epoch.
        speed: Seconds of its time per second of the clock.
    """
    sent = Sent()
    for file in files:
        sent.add(file.rows, began_seconds + file.due_seconds / speed)
    return sent


def course_of(journal: Sequence[Mapping[str, Any]], sent: Sent, *, called_at_seconds: float) -> list[StartedMicroBatch]:
    """Say what each micro-batch with rows was like; rows are read in the order in which they came.

    Args:
        journal: Rows of the journal, in order.
        sent: Which rows came when.
        called_at_seconds: When `start` was called, seconds since the epoch.

    Example:
        >>> row = {"offered_rows": 60, "started_at_seconds": 12.0, "processing_seconds": 1.0, "work_share": 0.5,
        ...        "delay_seconds": 1.0}
        >>> [one] = course_of([row], Sent([60], [3.0]), called_at_seconds=10.0)
        >>> one.started_seconds, one.ended_seconds, one.delay_seconds, one.arrival_delay_seconds
        (2.0, 3.0, 1.0, 10.0)
    """
    with_rows = [dict(row) for row in journal if row["offered_rows"] > 0]
    return [
        StartedMicroBatch(
            started_seconds=row["started_at_seconds"] - called_at_seconds,
            ended_seconds=taken.ended_at_seconds - called_at_seconds,
            delay_seconds=row["delay_seconds"],
            arrival_delay_seconds=taken.delay_seconds,
            rows=taken.rows,
            work_share=row["work_share"],
        )
        for row, taken in zip(with_rows, answered(with_rows, sent), strict=True)
    ]


def seconds_to_in_time(course: Sequence[StartedMicroBatch], *, goal_seconds: float) -> float:
    """Return when the first micro-batch had answered from which on all were in time since the arrival of their rows.

    Args:
        course: In order, not empty.
        goal_seconds: The latency goal.

    Returns:
        Seconds after `start`; where the last one is late, when that one had answered.

    Example:
        >>> def ended(at, delay):
        ...     return StartedMicroBatch(started_seconds=at - 1, ended_seconds=at, delay_seconds=1.0,
        ...                              arrival_delay_seconds=delay, rows=1, work_share=1.0)
        >>> seconds_to_in_time([ended(4.0, 62.0), ended(6.0, 3.0), ended(8.0, 6.0), ended(9.0, 2.0)], goal_seconds=5.0)
        9.0
    """
    late = [number for number, one in enumerate(course) if one.arrival_delay_seconds > goal_seconds]
    return course[min(late[-1] + 1, len(course) - 1) if late else 0].ended_seconds


def kept_share(course: Sequence[StartedMicroBatch]) -> float:
    """Return the share of the work on rows that was done; 1 without rows."""
    rows = sum(one.rows for one in course)
    return sum(one.rows * one.work_share for one in course) / rows if rows else 1.0


def answer_shares(answers: Sequence[TimedAnswer], exact: Mapping[Key, float]) -> tuple[float, float]:
    """Return which share of what is to be answered was, and in which share of that the exact value is within bounds.

    Args:
        answers: That came.
        exact: The exact values of what is to be answered, not empty.

    Example:
        >>> answers = [TimedAnswer("q", "n", 10, 9.0, 8.0, 11.0, 0.0), TimedAnswer("q", "n", 20, 9.0, 9.0, 9.0, 0.0)]
        >>> answer_shares(answers, {("q", "n", end): 10.0 for end in (10, 20, 30, 40)})
        (0.5, 0.5)
    """
    by_key = {answer.key: answer for answer in answers if answer.key in exact}
    holding = sum(answer.holds(exact[key]) for key, answer in by_key.items())
    return len(by_key) / len(exact), holding / len(by_key) if by_key else 0.0


def last_arrival(window_end: int, files: Sequence[StagedFile]) -> StagedFile:
    """Return the file with the last row of a window, in a feed without pauses.

    Args:
        window_end: Seconds since the epoch.
        files: Of the feed, in order, one of which begins before that.
    """
    return files[bisect_left(files, window_end * 1_000_000, key=lambda file: file.first_time_microseconds) - 1]


def answer_seconds(
    answers: Sequence[TimedAnswer],
    files: Sequence[StagedFile],
    *,
    began_seconds: float,
    speed: float,
    settled_seconds: float,
) -> list[float]:
    """Say how long after the last row of its window each answer came, of windows that files behind them close.

    Args:
        answers: That came.
        files: Of the feed, in order.
        began_seconds: When it began, seconds since the epoch.
        speed: Seconds of its time per second of the clock.
        settled_seconds: Windows whose last row came earlier than so long after that do not count.
    """
    closing = 2_000_000 * speed  # the last two seconds of the clock may leave windows open, which a drain closes
    until = files[-1].last_time_microseconds - closing
    lags = []
    for answer in answers:
        if files[0].first_time_microseconds < answer.window_end * 1_000_000 <= until:
            arrived = last_arrival(answer.window_end, files).due_seconds / speed
            if arrived >= settled_seconds:
                lags.append(answer.at_seconds - began_seconds - arrived)
    return lags


def start_figures(
    course: Sequence[StartedMicroBatch], *, settled_seconds: float, until_seconds: float, goal_seconds: float
) -> dict[str, float]:
    """Condense the micro-batches after a start.

    Args:
        course: In order, not empty.
        settled_seconds: So long after `start` the delay is to be within its goal.
        until_seconds: When the last rows came; micro-batches that start later only tell when the delay is in its goal.
        goal_seconds: The latency goal.
    """
    counted = [one for one in course if one.started_seconds <= until_seconds]
    before = [one for one in counted if one.started_seconds < settled_seconds]
    settled = [one for one in counted if one.started_seconds >= settled_seconds] or counted[-1:]
    return {
        "delay_ratio_from_15_seconds": percentile([one.delay_seconds for one in settled], 0.95) / goal_seconds,
        "arrival_delay_ratio_from_15_seconds": (
            percentile([one.arrival_delay_seconds for one in settled], 0.95) / goal_seconds
        ),
        "seconds_to_in_time": seconds_to_in_time(course, goal_seconds=goal_seconds),
        "kept_share_until_15_seconds": kept_share(before),
        "kept_share_from_15_seconds": kept_share(settled),
    }
