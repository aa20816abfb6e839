"""Set-valued queries: the rows themselves, delivered in their own micro-batch, past the stages."""

from __future__ import annotations

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F

from streamshed.answering.table.answer_schema import ROW
from streamshed.network.model.query import Query
from streamshed.sharing.stream_work import StreamWork
from streamshed.spark.admit.passing import passes, row_query_codes
from streamshed.spark.common.internal_names import SAMPLING_CODES, TIME
from streamshed.spark.common.sampling_codes import sampling_rate
from streamshed.spark.common.unfused import unfused
from streamshed.spark.operators.straight_line import StraightLine

_NO_ROWS = "array<struct<definition_id: bigint, time: bigint, sampling_codes: string, text: string>>"
TIMES = {
    "timestampFormat": "yyyy-MM-dd'T'HH:mm:ss.SSSSSSXXX",
    "timestampNTZFormat": "yyyy-MM-dd'T'HH:mm:ss.SSSSSS",
    "timeZone": "UTC",
}
"""How times are written in a row's JSON: in UTC, whatever the time zone of the session."""


def row_partials(line: StraightLine, work: StreamWork, partials: DataFrame) -> DataFrame:
    """Return the rows of a stream's set-valued queries shaped as window partials, the row as JSON in `key_text`.

    Args:
        line: The stream's straight line.
        work: What the network asks of the stream.
        partials: Window partials, whose columns the result has.
    """
    queries = {query.definition_id: query for query in work.set_valued}
    rows = [_row(query, work, line) for query in queries.values()]
    wanted = line.rows.select((F.array(*rows) if rows else F.lit(None).cast(_NO_ROWS)).alias("rows"))
    # Of the inner form of explode, Spark infers a filter that computes all rows once more.
    query_rows = wanted.select(F.explode_outer("rows").alias("row"))
    weight = 1.0 / sampling_rate(F.col("row.sampling_codes"), F.lit(0))
    instant = F.timestamp_micros("row.time")
    columns = {
        "closes": instant,
        "window_start": F.col("row.time"),
        "kind": F.lit(ROW),
        "definition_id": F.col("row.definition_id"),
        "slot": F.lit(0),
        "key_text": F.col("row.text"),
        "rows": F.lit(1),
        "rows_weighted": weight,
        "greatest_weight": weight,
    }
    fields = [
        columns.get(field.name, F.lit(None)).cast(field.dataType).alias(field.name) for field in partials.schema.fields
    ]
    return query_rows.where("row is not null").select(*fields)


def _codes(query: Query, work: StreamWork) -> Column:
    """The rate of a row: that of its query, or its own, as a result of a join that is sampled."""
    is_own = work.stream.is_sampled_join
    return F.col(SAMPLING_CODES) if is_own else row_query_codes(work.gating, query.definition_id)


def _row(query: Query, work: StreamWork, line: StraightLine) -> Column:
    place = work.program.places[query.rows]
    row = F.struct(*[F.col(f"`{column}`").alias(name) for name, column in place.columns.items()])
    answer = F.struct(
        F.lit(query.definition_id).cast("bigint").alias("definition_id"),
        unfused(F.col(TIME)).alias("time"),
        _codes(query, work).alias("sampling_codes"),
        F.to_json(row, TIMES).alias("text"),
    )
    gate = passes(work.gating.row_query_place(query.definition_id))
    return F.when(gate & line.pass_all(place.conditions), answer)
