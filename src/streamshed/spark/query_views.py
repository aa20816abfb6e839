"""Typed views of answers: for one query, a row per window and key with its columns under their own names and types."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F
from pyspark.sql import types as T

from streamshed.answering.table.answer_schema import ANSWER, ROW
from streamshed.errors import InvalidNetworkError, near_miss
from streamshed.network.model.grouping import Aggregate
from streamshed.network.model.network import QueryNetwork
from streamshed.network.model.query import Query
from streamshed.network.terms.aggregate import AggregateCall
from streamshed.network.terms.view_columns import EXACT_COLUMN, bound_columns, window_columns
from streamshed.sharing.stream_work import AggregateSlot
from streamshed.spark.cluster.session import require_classic
from streamshed.spark.common.call_sites import without_call_sites
from streamshed.spark.compile.compiled_network import compile_network
from streamshed.spark.compile.join_frame import with_joined
from streamshed.spark.compile.row_answers import TIMES
from streamshed.spark.operators.slot_types import aggregate_type, typed_text
from streamshed.spark.source.source_frame import empty_frame
from streamshed.spark.windows.compiled_stream import CompiledStream
from streamshed.spark.windows.nested_levels import Types


@without_call_sites()
def query_view(answers: DataFrame, network: QueryNetwork, query_name: str) -> DataFrame:
    """Return the answers of one query as a user would have written its result by hand.

    Aggregates have the types that Spark gives them: counts and sums of integers bigint, sums of decimals ten digits
    more, extremes the type of what they are of, all else double. A sum beyond bigint raises, as Spark's does. An
    estimate of a whole number is rounded; the bounds are doubles. Keys of arrays and structs stay texts.

    Args:
        answers: Rows of the answer schema, such as those of a sink.
        network: The network that gave them.
        query_name: The query.

    Returns:
        window_start, window_end (window_from, window_until where windows lie along numbers), one column per key, per
        aggregate its value with `<aggregate>_lower` and `<aggregate>_upper`, and `exact`. Of a set-valued query: the
        columns of its rows, `sampling_rate` and `exact`.

    Raises:
        InvalidNetworkError: The network has no such query, or the view would have two columns of one name.
    """
    require_classic(answers, "the DataFrame of answers")
    names = [query.name for query in network.queries]
    if query_name not in names:
        raise InvalidNetworkError(f'no query "{query_name}"{near_miss(query_name, names)}')
    query = network.query(query_name)
    spark, alone = answers.sparkSession, QueryNetwork((query,))
    domain = alone.time_domains[0]
    sources = {stream.name: empty_frame(spark, stream) for stream in domain.sources}
    compiled = compile_network(alone, domain, with_joined(spark, domain, sources, alone), spark)
    query_answers = answers.where(F.col("query") == query_name)
    if query.aggregate is None:
        return _row_view(query_answers, query, next(one for one in compiled.streams if one.work.stream == query.stream))
    slots, types = zip(*((slot, types) for slot, types in compiled.typed_slots if slot.query == query), strict=True)
    return _window_view(query_answers, query.aggregate, slots, types[0])


def _window_view(answers: DataFrame, aggregate: Aggregate, slots: Sequence[AggregateSlot], types: Types) -> DataFrame:
    keys = [key.name for key in aggregate.keys]
    slot = slots[0]
    of_key = [typed_text(F.col("__key")[index], types[sql]).alias(keys[index]) for index, sql in enumerate(slot.keys)]
    arguments = {slot.aggregate: slot.value for slot in slots}
    figures = []
    for call_name, call in aggregate.aggregates:
        argument = arguments[call_name] if isinstance(call, AggregateCall) and call.argument is not None else None
        kind = aggregate_type(call, None if argument is None else types[argument])
        lower, upper = bound_columns(call_name)
        figures += [
            _only(call_name, _value(kind)).alias(call_name),
            _only(call_name, F.col("lower")).alias(lower),
            _only(call_name, F.col("upper")).alias(upper),
        ]
    windows = window_columns(is_numbered=aggregate.over.is_numbered)
    grouped = answers.where(F.col("kind") == ANSWER).groupBy(*windows, F.col("key").alias("__key"))
    rows = grouped.agg(*figures, F.bool_and("exact").alias(EXACT_COLUMN))
    plain = [F.col(f"`{column}`") for call, _ in aggregate.aggregates for column in (call, *bound_columns(call))]
    return rows.select(*windows, *of_key, *plain, EXACT_COLUMN)


def _row_view(answers: DataFrame, query: Query, compiled: CompiledStream) -> DataFrame:
    columns = compiled.work.program.places[query.rows].columns
    _refuse_duplicates(query.name, [*columns, "sampling_rate", "exact"])
    schema = compiled.line.rows.select(*[F.col(f"`{ours}`").alias(name) for name, ours in columns.items()]).schema
    row = F.from_json("value_text", schema, TIMES).alias("row")
    read = answers.where(F.col("kind") == ROW).select(row, "sampling_rate", "exact")
    return read.select("row.*", "sampling_rate", "exact")


def _value(kind: T.DataType) -> Column:
    """The value, from its text where it is exact; an estimate has only the double."""
    exactly = typed_text(F.col("value_text"), kind)
    match kind:
        case T.DoubleType():
            return F.col("value")
        case T.LongType():
            return F.coalesce(exactly, F.round("value").try_cast(kind))
        case T.DecimalType():
            return F.coalesce(exactly, F.col("value").try_cast(kind))
        case _:
            return exactly


def _only(aggregate: str, column: Column) -> Column:
    return F.any_value(F.when(F.col("aggregate") == aggregate, column), ignoreNulls=True)


def _refuse_duplicates(query: str, columns: Sequence[str]) -> None:
    twice = [name for name, times in Counter(column.lower() for column in columns).items() if times > 1]
    if twice:
        raise InvalidNetworkError(
            *(
                f'query "{query}": its view would have two columns "{name}": rename that column before the query'
                for name in twice
            )
        )
