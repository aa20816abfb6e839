"""The plan table: a Python data source of one row that asks the driver, anew in every micro-batch."""

from __future__ import annotations

import urllib.error
import urllib.request
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.datasource import DataSource, DataSourceReader, InputPartition
from pyspark.sql.types import StructType

from streamshed.errors import StreamshedError
from streamshed.spark.internal_names import (
    CARRIER_FROM,
    CARRIER_TIME,
    CARRIER_UNTIL,
    OPEN,
    SAMPLING_CODES,
    SAMPLING_RATE,
)
from streamshed.spark.plan_row import PlanRow

FORMAT = "streamshed_plan"
TOKEN_HEADER = "X-Streamshed-Token"  # noqa: S105 - the name of the header, not what is in it

PLAN_SCHEMA = (
    f"{OPEN} bigint, {SAMPLING_RATE} double, {SAMPLING_CODES} string,"
    f" {CARRIER_FROM} bigint, {CARRIER_UNTIL} bigint, {CARRIER_TIME} bigint"
)
"""What a stream is told in a micro-batch."""

_TIMEOUT_SECONDS = 60


class PlanUnavailableError(StreamshedError):
    """A micro-batch could not get its plan from the driver."""


def plan_table(spark: SparkSession, url: str, token: str, stream: str) -> DataFrame:
    """Return what a stream is told in each micro-batch, one row.

    Args:
        spark: The session.
        url: Where the driver answers.
        token: What it wants to see before it does.
        stream: Name of the stream.
    """
    spark.dataSource.register(PlanDataSource)
    return spark.read.format(FORMAT).schema(PLAN_SCHEMA).options(url=url, token=token, stream=stream).load()


class PlanDataSource(DataSource):
    """Spark's view of the plan table."""

    @classmethod
    def name(cls) -> str:
        """Return the format's name."""
        return FORMAT

    def reader(self, schema: StructType) -> DataSourceReader:
        """Return what asks for the row."""
        return PlanReader(dict(self.options))


class PlanReader(DataSourceReader):
    """Asks for the plan of the micro-batch it is read in."""

    def __init__(self, options: Mapping[str, str]) -> None:
        self._options = options

    def partitions(self) -> Sequence[InputPartition]:
        """Return the one partition."""
        return [InputPartition(0)]

    def read(self, partition: InputPartition) -> Iterator[tuple[Any, ...]]:
        """Yield the row."""
        url = f"{self._options['url']}?micro_batch_id={micro_batch_id()}"
        request = urllib.request.Request(url, headers={TOKEN_HEADER: self._options["token"]})  # noqa: S310 - the driver's own address
        opener = urllib.request.build_opener(urllib.request.ProxyHandler({}))
        try:
            with opener.open(request, timeout=_TIMEOUT_SECONDS) as response:
                text = response.read().decode()
        except (OSError, urllib.error.URLError) as error:
            raise PlanUnavailableError(
                f"no plan from the driver at {self._options['url']}: {error}; can executors reach that address?"
            ) from error
        row = PlanRow.from_json(text)
        plan = row.streams[self._options["stream"]]
        carrier = (plan.carrier_from, plan.carrier_until, plan.carrier_time)
        yield (row.open, plan.sampling_rate, plan.sampling_codes, *carrier)


def micro_batch_id() -> int:
    """Return the micro-batch that the running task belongs to; the local property is Spark's internal.

    Raises:
        PlanUnavailableError: The task belongs to none.
    """
    from pyspark import TaskContext

    context = TaskContext.get()
    found = None if context is None else context.getLocalProperty("streaming.sql.batchId")
    if found is None:
        raise PlanUnavailableError("the plan table was read outside a micro-batch, which alone has a plan")
    return int(found)
