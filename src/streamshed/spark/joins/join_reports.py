"""What the partitions of joins did, told to the driver."""

from __future__ import annotations

from typing import NamedTuple

from pyspark.accumulators import Accumulator
from pyspark.sql import SparkSession

from streamshed.joins.learn.partition_report import PartitionReport
from streamshed.spark.common.gathered import gathered


class ReportKey(NamedTuple):
    """Whose report it is: of a partition that is run again, or read twice, the last one counts."""

    stream: str
    micro_batch_id: int
    label: int


JoinReports = dict[ReportKey, PartitionReport]


def new_join_reports(spark: SparkSession) -> Accumulator[JoinReports]:
    """Return what tasks tell their reports to."""
    return gathered(spark)
