"""How long the trunk is, and in which steps something odd comes."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime

from tests.spark.event_times import at

STEPS, STEP_SECONDS = 6, 10

KILLED_IN = 1

FAR_AHEAD_STEP = KILLED_IN
"""The step in which rows of the year 2038 come."""

TIMELY_STEP = 2
"""A step whose windows close by the micro-batch after the next: both are of the same run."""

BAD_STEP = 2
"""The step in which rows come that cannot be read."""


def in_course(values: Mapping[datetime, float | None]) -> dict[datetime, float | None]:
    """Answers of windows that begin while rows come; there are later ones, without rows, if the machine is slow.

    Streams of which nothing came for a minute are taken for silent: time moves on without them.
    """
    end = at(STEPS * STEP_SECONDS)
    assert {value for start, value in values.items() if start >= end} <= {None, 0.0}
    return {start: value for start, value in values.items() if start < end}
