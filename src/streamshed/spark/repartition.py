"""Gives the state of a checkpoint another number of partitions, by Spark's own tool, while nothing runs on it.

Rests on Spark's internals: tests/spark/batch/test_repartition.py.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import pyspark
from pyspark.sql import SparkSession

from streamshed.errors import IncompatibleCheckpointError
from streamshed.spark.checkpoint.checkpoint_reader import last_committed, partitions_of_micro_batch
from streamshed.spark.checkpoint.storage import absolute_location
from streamshed.spark.checkpoint.unfinished_state import discard_unfinished_state
from streamshed.spark.cluster.session import settings_for_queries
from streamshed.spark.common.failures import innermost_cause, is_failure_of_spark
from streamshed.spark.inspection.repartitionable import ClockPartitions
from streamshed.spark.plan.written_plans import WrittenPlans
from streamshed.spark.windows.manifest import FILE

_TOOL = "_streamingCheckpointManager"
"""The session's property; PySpark 4.2 does not document it yet, as its API may change."""


def require_tool() -> None:
    """Check that this release of PySpark can repartition state.

    Raises:
        IncompatibleCheckpointError: It cannot.
    """
    if not hasattr(SparkSession, _TOOL):
        raise IncompatibleCheckpointError(
            f"PySpark {pyspark.__version__} has no tool that gives state another number of partitions, as PySpark 4.2"
            " has: start with a new checkpoint folder, with partitions set"
        )


def repartition(spark: SparkSession, checkpoint: str, changing: Sequence[ClockPartitions], partitions: int) -> None:
    """Give the state of clocks another number of partitions.

    The manifest of a clock is written last. Until then no run begins on it, and the same may be done again.

    Args:
        spark: The session.
        checkpoint: Path or URI of the folder of all clocks, which is held alone.
        changing: Those that can be changed.
        partitions: So many are to be.

    Raises:
        IncompatibleCheckpointError: Spark cannot do it.
    """
    for clock in changing:
        if clock.finished is not None:
            _take_back(clock)
            _move_state(spark, f"{absolute_location(checkpoint)}/{clock.clock}/spark", clock, partitions)
            _move_plan(clock)
        manifest = replace(clock.manifest, partitions=partitions)
        clock.folder.write_sealed(FILE, manifest.to_json())


def _take_back(clock: ClockPartitions) -> None:
    """Undo that a micro-batch was begun which was called off: its rows come with the next one.

    Its plan goes first. Without it, a micro-batch that is begun is planned anew.
    """
    if clock.called_off is not None and clock.interrupted is None:
        WrittenPlans(clock.folder.below("plans")).forget(clock.called_off)
        offsets = clock.spark.below("offsets")
        for name in (f".{clock.called_off}.crc", str(clock.called_off)):
            if name in offsets.names():
                offsets.delete(name)


def _move_state(spark: SparkSession, location: str, clock: ClockPartitions, partitions: int) -> None:
    """Let Spark add a micro-batch that reads no rows, and moves the state."""
    last = last_committed(clock.spark)
    if last is not None and partitions_of_micro_batch(clock.spark, last) == partitions:
        return
    discard_unfinished_state(clock.spark)
    tool: Any = getattr(spark, _TOOL)
    # With the first look at a session's streams comes the endpoint that readers of state ask for.
    _ = spark.streams
    try:
        with settings_for_queries(spark, partitions, clock.spark):
            tool.repartition(location, partitions)
    except Exception as error:
        if not is_failure_of_spark(error):
            raise
        raise IncompatibleCheckpointError(
            f'the state of clock "{clock.clock}" could not be given {partitions} partitions: {innermost_cause(error)};'
            " once that is mended, repeat the command, until then no run goes on from here"
        ) from error


def _move_plan(clock: ClockPartitions) -> None:
    """Let the plan of the last micro-batch with rows be that of Spark's: what it shed of open windows is in there."""
    last, plans = last_committed(clock.spark), WrittenPlans(clock.folder.below("plans"))
    if last is None:
        return
    row = plans.row(last - 1)
    if row is not None:
        plans.write(last, replace(row, micro_batch_id=last).to_json())
        plans.forget(last - 1)
