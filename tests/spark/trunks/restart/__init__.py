"""Queries that come, go and change at restarts, and what must be as if the process had not been killed.

It is killed in the middle of a task, by a function of the scenario `mid_task`; where that was not chosen, between the
computing of answers and the sink.
"""

from streamshed.spark.loop.interpreting import INTERPRETED
from tests.spark.trunks.numbered_rows import numbered_rows
from tests.spark.trunks.restart.course import HANDED_OVER_AFTER, KILLED_IN, ROWS_PER_SECOND, STEP_SECONDS, STEPS
from tests.spark.trunks.restart.trades import TRADES
from tests.spark.trunks.trunk import Trunk

EVENTS, APART = (
    numbered_rows(name, steps=STEPS, step_seconds=STEP_SECONDS, rows_per_second=ROWS_PER_SECOND, clock=clock)
    for name, clock in (("events", "time"), ("apart", "apart"))
)

TRUNK = Trunk(
    inputs=(EVENTS, TRADES, APART),
    steps=STEPS,
    killed_in=KILLED_IN,
    killed="unwritten",
    handed_over_after=HANDED_OVER_AFTER,
    settings={"max_depth": 2, "unscalable": "keep"},
    session={**INTERPRETED, "spark.sql.execution.arrow.maxRecordsPerBatch": "50"},
)
