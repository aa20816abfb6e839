"""The carrier: one row per micro-batch that moves the watermark of a stream and tells how far its time has come.

It keeps the watermark moving when the stream is silent, when all of it is shed, and at the end of a replay; and the
windows of ungrouped queries that it has passed are answered even where no row fell into them.
"""

from __future__ import annotations

from pyspark.sql import Column, DataFrame, SparkSession
from pyspark.sql import functions as F
from pyspark.sql import types as T

from streamshed.spark.common.internal_names import CARRIER_OPENED, CARRIER_TIME, CARRIER_UNTIL
from streamshed.spark.common.set_apart import CARRIER_CLASS, NO_TIME_YET
from streamshed.spark.plan.plan_columns import Plan, with_plan

_TOLD = (CARRIER_TIME, CARRIER_OPENED, CARRIER_UNTIL)


def carrier_frame(spark: SparkSession) -> DataFrame:
    """Return a stream of one row per micro-batch, which makes every trigger a micro-batch, input or not.

    Every stream needs one of its own: of a source that is used twice, Spark writes the offset twice, but numbers it
    once, and then the numbers of sources are no longer those of the lines that hold their offsets.
    """
    reader = spark.readStream.format("rate-micro-batch")
    return reader.option("rowsPerBatch", 1).option("numPartitions", 1).load()


def with_carrier(rows: DataFrame, carrier: DataFrame, plan: Plan | None, stream_name: str) -> DataFrame:
    """Put the carrier's row among a stream's rows on their way into slices.

    It shows its own event time to the watermark, but goes into the slice in which the stream was before. It joins the
    rows here and not further up, where Spark would generate the code of all that follows a second time for it.

    Args:
        rows: What `stream_rows` returns.
        carrier: A `carrier_frame`.
        plan: The plan of the stream; None: the carrier knows no time, and shows the epoch.
        stream_name: The stream.
    """
    carrier_rows = _without_plan(carrier) if plan is None else with_plan(carrier, plan, _TOLD)
    head = {
        "event_time": F.timestamp_micros(CARRIER_TIME),
        "open": F.col(CARRIER_OPENED),
        "sampling_codes": F.lit(None),
    }
    entry = {
        "class_id": F.lit(CARRIER_CLASS),
        "mask": F.lit(1),
        "key_long": F.coalesce(CARRIER_UNTIL, F.lit(NO_TIME_YET)),
        "key_text": F.lit(stream_name),
    }
    columns = head | entry
    if "entries" in rows.columns:
        of_entry = rows.select(F.get("entries", F.lit(0)).alias("entry")).select("entry.*")
        columns["entries"] = F.array(F.struct(*_shaped(entry, of_entry.schema)))
    # A carrier that knows no time yet would show a made-up one.
    return rows.unionByName(carrier_rows.where(F.col(CARRIER_TIME).isNotNull()).select(*_shaped(columns, rows.schema)))


def _without_plan(carrier: DataFrame) -> DataFrame:
    nothing = F.lit(None).cast("bigint")
    return carrier.withColumns({CARRIER_TIME: F.lit(0), CARRIER_OPENED: nothing, CARRIER_UNTIL: nothing})


def _shaped(columns: dict[str, Column], schema: T.StructType) -> list[Column]:
    """The columns of a schema, null where nothing is said of them."""
    return [columns.get(field.name, F.lit(None)).cast(field.dataType).alias(field.name) for field in schema.fields]
