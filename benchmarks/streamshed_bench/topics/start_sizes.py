"""How much the benchmark `start` runs, in full and in short."""

from __future__ import annotations

from dataclasses import dataclass, replace


@dataclass(frozen=True, slots=True, kw_only=True)
class StartSizes:
    """Load, backlog, and how long rows come.

    Args:
        rounds: How often a network is started over a folder, and over a topic.
        rows_per_second: Of typed packets, into a folder.
        topic_rows_per_second: Of packets as JSON, into a topic; 0: none is started over a topic.
        backlog_seconds: How long they have come when a process begins.
        fed_seconds: How long they go on coming.
        settled_seconds: So long after `start` the delay is to be within its goal.
        trigger_seconds: The trigger interval.
        latency_seconds: The latency goal.
        event_speed: Seconds of event time per second of the clock. Windows end every 10 seconds of event time: at 9,
            at another time of a trigger interval each.
        file_seconds: Seconds of the clock whose rows make one file.
        short_trigger_seconds: The short trigger interval; its latency goal is twice that.
        short_file_seconds: Seconds of a file beside it.
        short_warm_up_seconds: How long rows come to it that do not count.
        short_seconds: How long they come that do.
        left_out: What the full benchmark measures beyond this.
    """

    rounds: int
    rows_per_second: int
    topic_rows_per_second: int
    backlog_seconds: float
    fed_seconds: float
    settled_seconds: float
    trigger_seconds: float
    latency_seconds: float
    event_speed: int
    file_seconds: float
    short_trigger_seconds: float
    short_file_seconds: float
    short_warm_up_seconds: float
    short_seconds: float
    left_out: tuple[str, ...] = ()


FULL = StartSizes(
    rounds=3,
    rows_per_second=200_000,
    topic_rows_per_second=70_000,
    backlog_seconds=60.0,
    fed_seconds=100.0,
    settled_seconds=15.0,
    trigger_seconds=2.0,
    latency_seconds=5.0,
    event_speed=9,
    file_seconds=0.5,
    short_trigger_seconds=0.5,
    short_file_seconds=0.1,
    short_warm_up_seconds=60.0,
    short_seconds=60.0,
)
QUICK = replace(
    FULL,
    rounds=1,
    topic_rows_per_second=0,
    fed_seconds=45.0,
    short_warm_up_seconds=15.0,
    short_seconds=20.0,
    left_out=(
        "starts over a topic",
        "2 of 3 starts over a folder, each with 55 of 100 seconds of rows",
        "45 of 60 seconds to warm up, and 40 of 60, of the short trigger",
    ),
)
