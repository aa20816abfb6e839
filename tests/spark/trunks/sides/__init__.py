"""Joins of which a side is answers of windows: windows over them dropped, in part, in full, with late rows."""

from streamshed.spark.loop.interpreting import INTERPRETED
from tests.spark.trunks.hosted_rows import hosted_rows
from tests.spark.trunks.trunk import Trunk

STEPS, STEP_SECONDS, ROWS_PER_STEP = 6, 30, 66
CALLS, ALERTS = (
    hosted_rows(name, seed=seed, steps=STEPS, step_seconds=STEP_SECONDS, rows_per_step=ROWS_PER_STEP)
    for name, seed in (("calls", 1), ("alerts", 2))
)

TRUNK = Trunk(
    inputs=(CALLS, ALERTS),
    steps=STEPS,
    killed_in=1,
    killed="written",
    handed_over_after=2,
    session=INTERPRETED,
)
