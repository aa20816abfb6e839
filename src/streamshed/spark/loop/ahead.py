"""What is known of a micro-batch before it runs."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from streamshed.spark.plan.plan_row import PlanRow
from streamshed.spark.source.upcoming_rows import StreamRows


@dataclass(frozen=True, slots=True)
class Ahead:
    """What is known of a micro-batch before it runs.

    Attributes:
        micro_batch_id: Its number.
        now: The wall clock, seconds.
        steady: The clock that never steps, seconds.
        upcoming: What its sources bring, as far as that is known.
        rows: How many rows these are.
        lost: By stream, how many it lacks, as a broker has deleted them.
        opened: The watermark that decides lateness in it, microseconds.
        last: The plan of the one before; None: there was none.
    """

    micro_batch_id: int
    now: float
    steady: float
    upcoming: dict[str, StreamRows]
    rows: Mapping[str, int]
    lost: Mapping[str, int]
    opened: int
    last: PlanRow | None
