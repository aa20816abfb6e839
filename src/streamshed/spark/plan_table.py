"""The plan table: a Python data source of one row that asks the driver, anew in every micro-batch."""

from __future__ import annotations

import json
import urllib.error
import urllib.request
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F
from pyspark.sql.datasource import DataSource, DataSourceReader, InputPartition
from pyspark.sql.types import StructType

from streamshed.errors import StreamshedError
from streamshed.spark.answers import SHED, SHED_TYPE
from streamshed.spark.carrier import CARRIER_FROM, CARRIER_TIME, CARRIER_UNTIL
from streamshed.spark.internal_names import OPEN, SAMPLING_CODES
from streamshed.spark.sampled_rows import SAMPLING_RATE

FORMAT = "streamshed_plan"
TOKEN_HEADER = "X-Streamshed-Token"

_PER_STREAM = (
    (SAMPLING_RATE, "double"),
    (SAMPLING_CODES, "string"),
    (CARRIER_FROM, "bigint"),
    (CARRIER_UNTIL, "bigint"),
    (CARRIER_TIME, "bigint"),
)
_TIMEOUT_SECONDS = 60


class PlanUnavailableError(StreamshedError):
    """A micro-batch could not get its plan from the driver."""


def plan_table(spark: SparkSession, url: str, token: str, streams: Sequence[str]) -> DataFrame:
    """Return the plan table, one row.

    Args:
        spark: The session.
        url: Where the driver answers.
        token: What it wants to see before it does.
        streams: Names of the streams, in order.
    """
    spark.dataSource.register(PlanDataSource)
    columns = [f"{OPEN} bigint", f"{SHED} {SHED_TYPE}"]
    columns += [f"{name}_{index} {kind}" for index in range(len(streams)) for name, kind in _PER_STREAM]
    options = {"url": url, "token": token, "streams": json.dumps(list(streams))}
    return spark.read.format(FORMAT).schema(", ".join(columns)).options(**options).load()


def stream_plan(plan: DataFrame, index: int) -> DataFrame:
    """Keep of the plan table what the rows of one stream are to know."""
    own = [F.col(f"{name}_{index}").alias(name) for name in (SAMPLING_RATE, SAMPLING_CODES)]
    return plan.select(OPEN, *own)


def carrier_plan(plan: DataFrame, index: int) -> DataFrame:
    """Keep of the plan table what the carrier of one stream is to know."""
    own = [F.col(f"{name}_{index}").alias(name) for name in (CARRIER_FROM, CARRIER_UNTIL, CARRIER_TIME)]
    return plan.select(OPEN, *own)


def shed_plan(plan: DataFrame) -> DataFrame:
    """Keep of the plan table what answers are to know."""
    return plan.select(SHED)


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
        request = urllib.request.Request(url, headers={TOKEN_HEADER: self._options["token"]})
        opener = urllib.request.build_opener(urllib.request.ProxyHandler({}))
        try:
            with opener.open(request, timeout=_TIMEOUT_SECONDS) as response:
                document = json.loads(response.read())
        except (OSError, urllib.error.URLError) as error:
            raise PlanUnavailableError(
                f"no plan from the driver at {self._options['url']}: {error}; can executors reach that address?"
            ) from error
        yield _as_row(document, json.loads(self._options["streams"]))


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


def _as_row(document: Mapping[str, Any], streams: Sequence[str]) -> tuple[Any, ...]:
    from streamshed.spark.plan_row import PlanRow

    row = PlanRow.from_json(json.dumps(document))
    values: list[Any] = [row.open, [(i.stream, i.start, i.until, i.sampling_rate) for i in row.shed]]
    for name in streams:
        plan = row.streams[name]
        values += [plan.sampling_rate, plan.sampling_codes, plan.carrier_from, plan.carrier_until]
        values.append(plan.carrier_time)
    return tuple(values)
