"""The figures of the benchmark `burst`, from what was journaled and answered."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from streamshed_bench.inputs.workload import SLIDE_SECONDS, PacketQuery
from streamshed_bench.runs.micro_batches import MicroBatchTime

Window = tuple[str, int]
"""Query, and the second of event time at which the window starts."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ShedMicroBatch:
    """One micro-batch of a run that may shed.

    Args:
        time: When it ran, and how much it read.
        sampling_rate: The least of its sampling rates.
        backlog_rows: Rows that waited and that it did not take.
    """

    time: MicroBatchTime
    sampling_rate: float
    backlog_rows: int


def percentile(values: Sequence[float], share: float) -> float:
    """Return the smallest value that at least this share of the values does not exceed.

    Example:
        >>> percentile([0.5, 0.7, 0.6, 2.0], 0.75)
        0.7
    """
    return sorted(values)[max(math.ceil(share * len(values)), 1) - 1]


def micro_batches_to_exact(
    micro_batches: Sequence[ShedMicroBatch], *, burst_end_seconds: float, trigger_seconds: float
) -> int:
    """Count the micro-batches that start after the last row of a burst came, until nothing is shed any more.

    The last one that counts keeps every row, leaves no backlog and ends before the next one is due; all that follow
    keep every row, too.

    Args:
        micro_batches: In order.
        burst_end_seconds: When the burst's last file arrived, on their clock.
        trigger_seconds: The trigger interval.

    Returns:
        1 if the first such micro-batch does; more than there are if none does.

    Example:
        >>> def ran(start, rate):
        ...     time = MicroBatchTime(rows=10, started_at_seconds=start, seconds=1.0)
        ...     return ShedMicroBatch(time=time, sampling_rate=rate, backlog_rows=0)
        >>> run = [ran(8.0, 0.3), ran(10.0, 0.3), ran(12.0, 1.0), ran(14.0, 1.0)]
        >>> micro_batches_to_exact(run, burst_end_seconds=9.5, trigger_seconds=2.0)
        2
    """
    after = [micro_batch for micro_batch in micro_batches if micro_batch.time.started_at_seconds >= burst_end_seconds]
    shed = [number for number, micro_batch in enumerate(after, start=1) if micro_batch.sampling_rate < 1.0]
    last_shed = max(shed, default=0)
    for number, micro_batch in enumerate(after[last_shed:], start=last_shed + 1):
        if micro_batch.backlog_rows == 0 and micro_batch.time.seconds <= trigger_seconds:
            return number
    return len(after) + 1


def windows_outside(
    queries: Iterable[PacketQuery], *, fed_seconds: tuple[float, float], burst_seconds: tuple[float, float]
) -> frozenset[Window]:
    """Return the windows that hold rows and ended before a burst or begin after it, all in event time.

    Args:
        queries: What was asked.
        fed_seconds: Begin and end of all rows.
        burst_seconds: Begin and end of the burst.

    Example:
        >>> from streamshed_bench.inputs.workload import SEVEN_QUERIES
        >>> outside = windows_outside(SEVEN_QUERIES[:1], fed_seconds=(0, 100), burst_seconds=(30, 70))
        >>> sorted(start for _, start in outside)
        [-50, -40, -30, 70, 80, 90]
    """
    begin, end = fed_seconds
    windows = set()
    for query in queries:
        first = math.floor((begin - query.window_seconds) / SLIDE_SECONDS) * SLIDE_SECONDS + SLIDE_SECONDS
        for start in range(first, math.ceil(end), SLIDE_SECONDS):
            if start + query.window_seconds <= burst_seconds[0] or start >= burst_seconds[1]:
                windows.add((query.name, start))
    return frozenset(windows)


def exact_windows(answers: Mapping[Window, Sequence[bool]], windows: Iterable[Window]) -> int:
    """Count the windows all of whose answers are exact; one without any answer is not.

    Args:
        answers: Whether each answer of a window is exact.
        windows: Those that count.

    Example:
        >>> exact_windows({("q", 0): [True, True], ("q", 10): [True, False]}, [("q", 0), ("q", 10), ("q", 20)])
        1
    """
    return sum(1 for window in windows if answers.get(window) and all(answers[window]))
