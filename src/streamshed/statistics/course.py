"""How many rows of a stream came until which event time."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from streamshed.statistics.measured import Passed, WindowSums

Course = tuple[tuple[float, float], ...]
"""Event seconds that have gone by, and rows that came meanwhile, since counting began; oldest first."""

NOT_BEGUN: Course = ((0.0, 0.0),)

FINENESS = 1 / 8
"""So long ago, times this, places are apart of which the course is remembered."""

CAPACITY = 96
"""So many of them are remembered: of micro-batches of two seconds, those of the last hours."""


def gone_on(
    courses: Mapping[str, Course], event_seconds: float | None, latest: Mapping[str, Mapping[str, float]]
) -> Mapping[str, Course]:
    """Return the courses of streams once a micro-batch has begun.

    Args:
        courses: By stream.
        event_seconds: How far event time has gone on; None: that is not known.
        latest: Per stream, the "rows" that moved it: those of the micro-batch before.
    """
    if event_seconds is None:
        return courses
    came = {
        name: lengthened(courses.get(name, NOT_BEGUN), event_seconds, rows["rows"]) for name, rows in latest.items()
    }
    return {**courses, **came}


def taken(sums: WindowSums | Passed, courses: Mapping[str, Course]) -> dict[str, float]:
    """Return the rows of windows that are over, "taken", and out of how many, "offered"; nothing: that is not known."""
    if sums.span is None:
        return {}
    arriving = rows_per_second(courses.get(sums.span.stream, NOT_BEGUN), sums.span.seconds)
    return {} if arriving is None else {"taken": sums.rows, "offered": arriving * sums.span.window_seconds}


def share_taken(sums: Mapping[str, float]) -> float | None:
    """Return the share of rows that sums tell; None: none."""
    offered = sums.get("offered", 0.0)
    return sums["taken"] / offered if offered > 0 else None


def lengthened(course: Course, event_seconds: float, rows: float) -> Course:
    """Return the course once event time has gone on, and rows came with that.

    Example:
        >>> course = NOT_BEGUN
        >>> for _ in range(10_000):
        ...     course = lengthened(course, 2.0, 1000.0)
        >>> len(course) <= CAPACITY, rows_per_second(course, 600.0)
        (True, 500.0)
    """
    last_seconds, last_rows = course[-1]
    now = last_seconds + max(0.0, event_seconds)
    remembered = [(now, last_rows + rows), course[-1]]
    for older, before in zip(course[-2::-1], (*course[-3::-1], None), strict=False):
        if before is None or remembered[-1][0] - before[0] > FINENESS * (now - before[0]):
            remembered.append(older)
    return tuple(reversed(remembered[:CAPACITY]))


def rows_per_second(course: Course, event_seconds: float) -> float | None:
    """Return the rows per event second of the latest so many event seconds, as far as they are known.

    Args:
        course: The course.
        event_seconds: How many.

    Returns:
        Rows per event second; None: there were none.

    Example:
        A thousand rows came in a second, and none in the nine seconds before.

        >>> course = lengthened(lengthened(NOT_BEGUN, 9.0, 0.0), 1.0, 1000.0)
        >>> rows_per_second(course, 1.0), rows_per_second(course, 4.0), rows_per_second(course, 60.0)
        (1000.0, 250.0, 100.0)
    """
    seconds, rows = np.array(course).T
    since = max(seconds[0], seconds[-1] - event_seconds)
    came = rows[-1] - np.interp(since, seconds, rows)
    return float(came / (seconds[-1] - since)) if came > 0 and seconds[-1] > since else None
