"""What the partitions of joins did, told to the driver."""

from __future__ import annotations

from typing import NamedTuple

from pyspark.accumulators import Accumulator, AccumulatorParam
from pyspark.sql import SparkSession

from streamshed.joins.learn.partition_report import PartitionReport


class ReportKey(NamedTuple):
    """Whose report it is: of a partition that is run again, or read twice, the last one counts."""

    stream: str
    micro_batch_id: int
    label: int


JoinReports = dict[ReportKey, PartitionReport]


class JoinReportsParam(AccumulatorParam[JoinReports]):
    """How Spark brings reports to the driver."""

    def zero(self, value: JoinReports) -> JoinReports:
        """Return no reports."""
        return {}

    def addInPlace(self, value1: JoinReports, value2: JoinReports) -> JoinReports:
        """Put reports together."""
        return {**value1, **value2}


def new_join_reports(spark: SparkSession) -> Accumulator[JoinReports]:
    """Return what tasks tell their reports to."""
    nothing: JoinReports = {}
    return spark.sparkContext.accumulator(nothing, JoinReportsParam())
