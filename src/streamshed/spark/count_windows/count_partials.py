"""Windows of so many rows: their partials, beside those of windows in time, from a stage of its own."""

from __future__ import annotations

import functools
from collections.abc import Sequence

from pyspark.sql import Column, DataFrame, SparkSession
from pyspark.sql import functions as F
from pyspark.sql import types as T

from streamshed.answering.count_windows.count_numbering import ROW
from streamshed.network.words.numbering import MICROSECONDS_PER_NUMBER
from streamshed.spark.common.internal_names import CARRIER_TIME
from streamshed.spark.common.late_processor import LateProcessor
from streamshed.spark.common.state_key import state_key_columns
from streamshed.spark.count_windows.count_operator import GROUPS, OUTPUT_DDL, WAITING, CountOperator
from streamshed.spark.count_windows.count_rows import ENTRY, count_entries, count_series
from streamshed.spark.plan.plan_client import PlanClient
from streamshed.spark.plan.plan_columns import with_plan
from streamshed.spark.source.carrier import carrier_frame
from streamshed.spark.windows.compiled_stream import CompiledStream

_NOBODY = -1
"""What a carrier's row names as its query."""


def streaming_count_partials(
    spark: SparkSession,
    streams: Sequence[CompiledStream],
    schema: T.StructType,
    client: PlanClient,
    partitions: int,
) -> DataFrame:
    """Return the partials of windows of so many rows, as they close.

    Rows go by labels, one per partition of state; a label holds many groups. A carrier's row goes to every label: so
    rows are numbered as soon as the watermark passes them, whether others come or not.

    Args:
        spark: The session.
        streams: Those of the time domain.
        schema: Of window partials.
        client: Asks for the plan of a micro-batch.
        partitions: Of state.
    """
    labels = labels_of(spark, partitions)
    rows = functools.reduce(DataFrame.unionByName, [_watermarked(spark, stream, labels) for stream in streams])
    series = [query_series for stream in streams for query_series in count_series(stream)]
    figures = rows.groupBy("label").transformWithStateInPandas(
        LateProcessor(CountOperator(series, client), [WAITING, GROUPS]), OUTPUT_DDL, "append", "EventTime"
    )
    return _shaped(figures, schema)


def _watermarked(spark: SparkSession, compiled: CompiledStream, labels: Sequence[int]) -> DataFrame:
    """A stream's rows and its carriers, one per entry, with label."""
    stream, plan = compiled.work.stream, compiled.plan
    if plan is None:
        raise TypeError("rows that stream are told a plan")
    rows = count_entries(compiled)
    carrier = with_plan(carrier_frame(spark), plan, (CARRIER_TIME,)).where(F.col(CARRIER_TIME).isNotNull())
    nothing = {"definition_id": F.lit(_NOBODY), "time": F.col(CARRIER_TIME)}
    entries = [
        F.struct(
            *[(nothing | {"slot": F.lit(number)}).get(name, F.lit(None)).cast(kind).alias(name) for name, kind in ENTRY]
        )
        for number in range(len(labels))
    ]
    carried = carrier.select(F.timestamp_micros(CARRIER_TIME).alias("event_time"), F.array(*entries).alias("entries"))
    watermarked = rows.unionByName(carried).withWatermark("event_time", f"{stream.watermark_microseconds} microseconds")
    exploded = watermarked.select("event_time", F.explode_outer("entries").alias("entry"))
    # The filter reads event time: else Spark would push it below the watermark, which would then see only some rows.
    wanted = exploded.where(F.col("entry").isNotNull() == F.col("event_time").isNotNull()).select("entry.*")
    key = F.hash("definition_id", "key_long", "key_text")
    number = F.when(F.col("definition_id") == _NOBODY, F.col("slot")).otherwise(F.pmod(key, F.lit(len(labels))))
    columns = {
        "is_present": F.col("number").isNotNull(),
        "number": F.coalesce("number", F.lit(0.0)),
        "long": F.coalesce("long", F.lit(0).cast("bigint")),
        "text": F.coalesce("text", F.col("decimal").cast("string")),
        "key_long": F.coalesce("key_long", F.lit(0).cast("bigint")),
    }
    return wanted.select(
        F.element_at(F.array(*map(F.lit, labels)), (number + 1).cast("int")).alias("label"),
        *[columns.get(name, F.col(name)).alias(name) for name in ROW],
    )


def labels_of(spark: SparkSession, partitions: int) -> list[int]:
    """Return labels of which Spark puts each into a partition of its own: it hashes them once more.

    Args:
        spark: The session.
        partitions: How many there are.
    """
    tried = F.sequence(F.lit(0), F.lit(64 * partitions))
    places = F.transform(tried, lambda label: F.pmod(F.hash(label), F.lit(partitions)))
    label_partitions = spark.range(1).select(places.alias("places")).collect()[0].places
    return [label_partitions.index(partition) for partition in range(partitions)]


def _shaped(figures: DataFrame, schema: T.StructType) -> DataFrame:
    """Figures as window partials; nothing of them was sampled."""
    named = figures.withColumns(state_key_columns())
    columns = _whole()
    return named.select(
        *[
            columns.get(field.name, F.col(field.name) if field.name in figures.columns else F.lit(None))
            .cast(field.dataType)
            .alias(field.name)
            for field in schema.fields
        ]
    )


def _whole() -> dict[str, Column]:
    is_present, weight = F.col("present") > 0, F.lit(1.0)
    moments = F.struct(F.col("present"), F.col("mean"), F.col("dispersion"), weight.alias("weight"))
    # On its way out of Python, a number that is none has become null.
    numbers = {
        name: F.when(is_present, F.coalesce(name, F.lit(float("nan"))))
        for name in ("total", "mean", "dispersion", "least_number", "greatest_number")
    }
    return {
        **numbers,
        "closes": F.timestamp_micros(F.col("window_until") * MICROSECONDS_PER_NUMBER),
        "window_start": F.col("window_from") * MICROSECONDS_PER_NUMBER,
        "rows_weighted": F.col("rows"),
        "present_weighted": F.col("present"),
        "total_weighted": numbers["total"],
        "greatest_weight": weight,
        "moments": F.when(is_present, F.array(moments)),
        "collected": F.transform("collected", _numbered_text),
        **{
            f"{name}_excess{power}": F.lit(0.0)
            for name in ("rows", "present", "total", "squares", "cubes", "quads")
            for power in ("", "_squared")
        },
    }


def _numbered_text(text: Column, number: Column) -> Column:
    return F.struct(number.cast("bigint").alias("instant"), text.alias("text"))
