"""A join on equal columns in full, as rows and as windows, over a kill and a restart after which none needs its rows.

Where any query asks for rows, Spark runs each join of the network twice: so these are not among the other joins.
"""

from streamshed.spark.loop.interpreting import INTERPRETED
from tests.spark.trunks.joins.sides import STEPS, side
from tests.spark.trunks.trunk import Trunk

HANDED_OVER_AFTER = 3
FAR_AHEAD_STEP = 2
"""The step in which both sides have a row of the year 2038: all goes on as without them."""

CALLS, ALERTS = side("calls", FAR_AHEAD_STEP), side("alerts", FAR_AHEAD_STEP, STEPS - 1)
"""In the last step one side has no rows, of a join that draws them by chance as well: Spark plans that otherwise."""

TRUNK = Trunk(
    inputs=(CALLS, ALERTS),
    steps=STEPS,
    killed_in=1,
    killed="unwritten",
    handed_over_after=HANDED_OVER_AFTER,
    settings={"partitions": 2},
    session=INTERPRETED,
)
