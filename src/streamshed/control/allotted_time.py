"""How much time the coming micro-batch may take."""

from streamshed.control.settings import ControlSettings
from streamshed.control.shared_time import Allotment
from streamshed.planning.plan.budget import Budget

SHORTEST_SHARE = 0.5
"""A deadline is shortened to this share at most; if that does not meet the latency goal, nothing does."""

SHORTEST_SHARE_HELD_UP = 0.25
"""The same of a micro-batch that something holds up, which comes but once: most of its rows are worth the goal."""


def allotted(
    settings: ControlSettings,
    *,
    elapsed_seconds: float,
    backlog_rows: int,
    allotment: Allotment | None = None,
    held_up_seconds: float = 0.0,
) -> Budget:
    """Return the budget of a micro-batch: headroom · deadline − drain.

    Its oldest row has waited for `elapsed_seconds` already. So for the latency goal L it should be done within L −
    elapsed, less the time that it is held up. Where that is shorter than the deadline, the difference is drained: a
    micro-batch that starts late catches up by shedding more. But where the goal is lost in any case, as after a long
    pause, nothing more is shed for it. While a backlog stays behind, the deadline is no longer than the trigger
    interval.

    Args:
        settings: Trigger interval, latency goal, headroom.
        elapsed_seconds: Since the micro-batch before took its rows.
        backlog_rows: Rows that wait and that the micro-batch does not take.
        allotment: The clock's part of the time, and the headroom; None: all of it, and that of the settings.
        held_up_seconds: For how long something else keeps it from its work, such as workers that start.

    Example:
        >>> settings = ControlSettings(trigger_interval_seconds=2.0, latency_seconds=4.0, headroom=0.8)
        >>> [
        ...     round(allotted(settings, elapsed_seconds=elapsed, backlog_rows=0).seconds, 3)
        ...     for elapsed in (2.0, 2.5, 60.0)
        ... ]
        [1.6, 1.2, 1.6]
    """
    deadline_seconds = settings.deadline_seconds
    time_share = Allotment(settings.headroom) if allotment is None else allotment
    if backlog_rows > 0:
        deadline_seconds = min(deadline_seconds, settings.trigger_interval_seconds)
    left_seconds = settings.latency_goal_seconds - elapsed_seconds - held_up_seconds
    shortest_share = SHORTEST_SHARE if held_up_seconds <= 0 else SHORTEST_SHARE_HELD_UP
    reachable = left_seconds >= shortest_share * deadline_seconds
    late_seconds = max(0.0, deadline_seconds - left_seconds) if reachable else 0.0
    return Budget(
        trigger_interval_seconds=settings.trigger_interval_seconds,
        deadline_seconds=time_share.share * deadline_seconds,
        headroom=time_share.headroom,
        drain_seconds=time_share.share * time_share.headroom * late_seconds,
    )
