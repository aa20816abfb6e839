"""Joins of two streams of rows: over a kill and restarts, in part, by weight, by sample, in little memory, and late."""

from streamshed.spark.loop.interpreting import INTERPRETED
from tests.spark.trunks.joins.sides import side
from tests.spark.trunks.trunk import Trunk

CALLS, ALERTS = side("calls"), side("alerts")
HANDED_OVER_AFTER = 2

TRUNK = Trunk(
    inputs=(CALLS, ALERTS),
    steps=7,
    killed_in=1,
    killed="unwritten",
    handed_over_after=HANDED_OVER_AFTER,
    settings={"partitions": 2, "headroom": 1.0},
    session=INTERPRETED,
)
