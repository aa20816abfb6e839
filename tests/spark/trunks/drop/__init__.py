"""Windows dropped: what is delivered is exact, the rest are gaps, and none is longer than allowed."""

from streamshed.spark.loop.interpreting import INTERPRETED
from tests.spark.trunks.numbered_rows import numbered_rows
from tests.spark.trunks.predicting_files import predicting
from tests.spark.trunks.trunk import Trunk

STEPS, STEP_SECONDS, ROWS_PER_SECOND = 8, 10, 40
EVENTS = numbered_rows("events", steps=STEPS, step_seconds=STEP_SECONDS, rows_per_second=ROWS_PER_SECOND)

TRUNK = Trunk(
    inputs=(EVENTS,),
    steps=STEPS,
    killed_in=2,
    killed="written",
    session=INTERPRETED,
    on_cluster=True,
    sink=predicting,
)
