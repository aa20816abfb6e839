"""What a task can tell of the micro-batch that it belongs to.

Rests on Spark's internals: tests/spark/contracts/test_plan_table.py.
"""

from __future__ import annotations

from pyspark import TaskContext

from streamshed.errors import StreamshedError


class OutsideMicroBatchError(StreamshedError):
    """Something that only a micro-batch has was asked for outside of one."""


def micro_batch_id() -> int:
    """Return the micro-batch that the running task belongs to; the local property is Spark's internal.

    Raises:
        OutsideMicroBatchError: The task belongs to none.
    """
    return int(_local_property("streaming.sql.batchId"))


def query_id() -> str:
    """Return Spark's id of the query that the running task belongs to; the local property is Spark's internal.

    Raises:
        OutsideMicroBatchError: The task belongs to none.
    """
    return _local_property("sql.streaming.queryId")


def partition_id() -> int:
    """Return the partition that the running task computes; 0 outside of tasks."""
    context = TaskContext.get()
    return 0 if context is None else context.partitionId()


def _local_property(name: str) -> str:
    context = TaskContext.get()
    property_text = None if context is None else context.getLocalProperty(name)
    if property_text is None:
        raise OutsideMicroBatchError("a plan was asked for outside a micro-batch, which alone has one")
    return property_text
