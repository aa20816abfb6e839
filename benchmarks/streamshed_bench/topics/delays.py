"""How late rows of a topic are answered, and how soon again after something was gone."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

from streamshed_bench.errors import UnfinishedBenchmarkError
from streamshed_bench.runs.burst_figures import percentile
from streamshed_bench.topics.topic_feed import Sent


@dataclass(frozen=True, slots=True, kw_only=True)
class Answered:
    """A micro-batch with rows.

    Attributes:
        sent_at_seconds: When its oldest row was sent, seconds since the epoch.
        ended_at_seconds: When it had answered.
        rows: Its rows.
        useful_rows: Those of them on which the work was done.
    """

    sent_at_seconds: float
    ended_at_seconds: float
    rows: int
    useful_rows: float

    @property
    def delay_seconds(self) -> float:
        """From when its oldest row was sent to its answers."""
        return self.ended_at_seconds - self.sent_at_seconds


@dataclass(frozen=True, slots=True, kw_only=True)
class LoadOutcome:
    """What became of the rows of a load.

    Attributes:
        delay_p95_seconds: 95th percentile over its micro-batches.
        kept_share: Of its rows.
        rows_per_second: That were sent.
    """

    delay_p95_seconds: float
    kept_share: float
    rows_per_second: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Recovery:
    """How long it took since something was gone, or back.

    Attributes:
        first_seconds: Until a micro-batch had answered rows.
        in_time_seconds: Until one had from which on all were within the latency goal.
    """

    first_seconds: float
    in_time_seconds: float


def answered(journal: Iterable[dict[str, Any]], sent: Sent) -> list[Answered]:
    """Say when the oldest row of each micro-batch was sent: rows are read in the order in which they were.

    Args:
        journal: Rows of the journal, in order.
        sent: What was sent when.

    Example:
        >>> row = {"offered_rows": 60, "started_at_seconds": 12.0, "processing_seconds": 1.0, "work_share": 0.5}
        >>> [(one.delay_seconds, one.useful_rows) for one in answered([row, row], Sent([50, 150], [10.0, 11.0]))]
        [(3.0, 30.0), (2.0, 30.0)]
    """
    micro_batches, before = [], 0
    for row in journal:
        rows = int(row["offered_rows"])
        if rows > 0:
            ended = row["started_at_seconds"] + row["processing_seconds"]
            useful = rows * float(row["work_share"])
            micro_batches.append(
                Answered(sent_at_seconds=sent.when(before), ended_at_seconds=ended, rows=rows, useful_rows=useful)
            )
        before += rows
    return micro_batches


def load_outcome(micro_batches: Sequence[Answered], *, since_seconds: float, until_seconds: float) -> LoadOutcome:
    """Condense the micro-batches whose oldest row was sent within some time.

    Args:
        micro_batches: In order.
        since_seconds: When the load had settled.
        until_seconds: When it ended.

    Raises:
        UnfinishedBenchmarkError: There are none.
    """
    counted = [one for one in micro_batches if since_seconds <= one.sent_at_seconds < until_seconds]
    if not counted:
        raise UnfinishedBenchmarkError("no micro-batch began with rows of a load: is the machine busy?")
    rows = sum(one.rows for one in counted)
    later = [one.sent_at_seconds for one in micro_batches if one.sent_at_seconds >= until_seconds]
    seconds = min([*later, counted[-1].ended_at_seconds]) - counted[0].sent_at_seconds
    return LoadOutcome(
        delay_p95_seconds=percentile([one.delay_seconds for one in counted], 0.95),
        kept_share=sum(one.useful_rows for one in counted) / rows,
        rows_per_second=rows / seconds,
    )


def recovery(micro_batches: Sequence[Answered], *, since_seconds: float, goal_seconds: float) -> Recovery:
    """Say how long it took until rows were answered again, and in time.

    Args:
        micro_batches: In order; the last ones are of rows that were sent long after.
        since_seconds: When something was gone, or back.
        goal_seconds: The latency goal.

    Raises:
        UnfinishedBenchmarkError: They were not until the end.

    Example:
        >>> def ended(at, delay):
        ...     return Answered(sent_at_seconds=at - delay, ended_at_seconds=at, rows=1, useful_rows=1.0)
        >>> course = [ended(9.0, 2.0), ended(22.0, 12.0), ended(25.0, 6.0), ended(27.0, 3.0), ended(29.0, 3.0)]
        >>> recovery(course, since_seconds=10.0, goal_seconds=5.0)
        Recovery(first_seconds=12.0, in_time_seconds=17.0)
    """
    after = [one for one in micro_batches if one.ended_at_seconds > since_seconds]
    late = [number for number, one in enumerate(after) if one.delay_seconds > goal_seconds]
    in_time = after[late[-1] + 1 :] if late else after
    if not in_time:
        raise UnfinishedBenchmarkError(f"rows were not answered within {goal_seconds:g} s again until the end")
    return Recovery(
        first_seconds=after[0].ended_at_seconds - since_seconds,
        in_time_seconds=in_time[0].ended_at_seconds - since_seconds,
    )
