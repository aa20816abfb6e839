"""A network of which no query tolerates gaps any more after the stop."""

from tests.spark.trunks.restart import EVENTS
from tests.spark.trunks.restart.course import KILLED_IN, STEPS, STOPPED_AFTER
from tests.spark.trunks.trunk import INTERPRETED, Trunk

TRUNK = Trunk(
    inputs=(EVENTS,),
    steps=STEPS,
    killed_in=KILLED_IN,
    killed="unwritten",
    stopped_after=STOPPED_AFTER,
    session=INTERPRETED,
)
