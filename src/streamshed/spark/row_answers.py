"""Set-valued queries: the rows themselves, delivered in their own micro-batch."""

from __future__ import annotations

import functools
import operator

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F

from streamshed.network.query import Query
from streamshed.planning.quantization import STEPS_PER_DECADE
from streamshed.sharing.network_work import StreamWork
from streamshed.spark.answer_schema import ANSWER_SCHEMA, ROW
from streamshed.spark.internal_names import SAMPLING_CODES, TIME, UNREADABLE

_TIMES = {"timestampFormat": "yyyy-MM-dd'T'HH:mm:ss.SSSSSSXXX"}


def row_answers(line: DataFrame, work: StreamWork) -> DataFrame:
    """Return one answer per row and set-valued query, the row's columns as a JSON object in `value_text`.

    Args:
        line: The stream's straight line.
        work: The stream's.
    """
    answers = [_answer(query, work) for query in work.row_queries]
    found = line.select(F.explode(F.array(*answers)).alias("answer")).where("answer is not null")
    return found.select("answer.*")


def _answer(query: Query, work: StreamWork) -> Column:
    place = work.program.places[query.rows]
    selected = functools.reduce(
        operator.and_, [F.col(condition) for condition in place.conditions], F.col(UNREADABLE).isNull()
    )
    row = F.struct(*[F.col(f"`{column}`").alias(name) for name, column in place.columns.items()])
    columns = {
        "kind": F.lit(ROW),
        "query": F.lit(query.name),
        "window_start": F.timestamp_micros(F.col(TIME)),
        "value_text": F.to_json(row, _TIMES),
        "sampling_rate": sampling_rate(F.col(SAMPLING_CODES)),
        "rows_used": F.lit(1),
        "rows_estimated": 1.0 / sampling_rate(F.col(SAMPLING_CODES)),
        "exact": F.col(SAMPLING_CODES).isNull(),
        "low": F.lit(False),
        "reason": F.when(F.col(SAMPLING_CODES).isNotNull(), F.lit("sampled")),
    }
    nothing = F.lit(None)
    fields = [columns.get(name, nothing).cast(kind).alias(name) for name, kind in ANSWER_SCHEMA]
    return F.when(selected, F.struct(*fields))


def sampling_rate(codes: Column) -> Column:
    """The rate that the first of some sampling codes stands for; null stands for 1."""
    code = F.conv(F.substr(codes, F.lit(1), F.lit(2)), 16, 10).cast("double")
    return F.when(codes.isNull(), F.lit(1.0)).otherwise(F.pow(F.lit(10.0), -code / F.lit(float(STEPS_PER_DECADE))))
