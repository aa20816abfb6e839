"""How much time the coming micro-batch may take."""

from streamshed.control.settings import ControlSettings
from streamshed.planning.budget import Budget

LARGEST_DRAIN = 0.5
"""Catching up may take at most this share of what a plan could fill: one bad pause must not cost all rows."""


def allotted(settings: ControlSettings, *, elapsed_seconds: float, backlog_rows: int) -> Budget:
    """Return the budget of a micro-batch.

    Its oldest row has waited for `elapsed_seconds`, so with deadline D and latency goal L the time
    max(0, elapsed + D − L) is kept free: a micro-batch that starts late catches up at the expense of its
    rows. A backlog that stays behind takes back what larger micro-batches were allowed.

    Args:
        settings: Trigger interval, latency goal, headroom.
        elapsed_seconds: Since the micro-batch before took its rows.
        backlog_rows: Rows that wait and that the micro-batch does not take.

    Example:
        >>> settings = ControlSettings(trigger_interval_seconds=2.0, headroom=0.8)
        >>> round(allotted(settings, elapsed_seconds=2.0, backlog_rows=0).seconds, 3)
        1.6
        >>> round(allotted(settings, elapsed_seconds=2.5, backlog_rows=0).seconds, 3)
        1.1
        >>> round(allotted(settings, elapsed_seconds=60.0, backlog_rows=0).seconds, 3)
        0.8
    """
    deadline_seconds = settings.deadline_seconds
    if backlog_rows > 0:
        deadline_seconds = min(deadline_seconds, settings.trigger_interval_seconds)
    late_seconds = max(0.0, elapsed_seconds + deadline_seconds - settings.latency_goal_seconds)
    return Budget(
        trigger_interval_seconds=settings.trigger_interval_seconds,
        deadline_seconds=deadline_seconds,
        headroom=settings.headroom,
        drain_seconds=min(late_seconds, LARGEST_DRAIN * settings.headroom * deadline_seconds),
    )
