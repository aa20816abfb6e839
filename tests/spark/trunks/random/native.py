"""The queries of a random network as a Spark user writes them: `window()`, `groupBy`, append mode.

They run as branches of one streaming query that share nothing, which spares starting dozens of them.
"""

from __future__ import annotations

import functools
from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from datetime import date, datetime, timedelta
from decimal import Decimal
from pathlib import Path
from typing import Any

from pyspark.sql import Column, DataFrame, SparkSession
from pyspark.sql import functions as F

from tests.spark.event_times import EPOCH, EPOCH_MICROSECONDS
from tests.spark.exactness.build import call_text
from tests.spark.exactness.oracle import Expected, Place
from tests.spark.exactness.specification import (
    AggregateSpec,
    FilterStep,
    Kind,
    LookupStep,
    MapStep,
    Partner,
    QuerySpec,
    Sql,
    Step,
    kind_of,
)
from tests.spark.trunks.random.arrivals import WATERMARK_SECONDS

# These rules move filters below the watermark, which would then not see all rows of the stream.
_RULES_THAT_MOVE_FILTERS = (
    "PushDownPredicates",
    "PushPredicateThroughNonJoin",
    "PushPredicateThroughJoin",
    "PushDownLeftSemiAntiJoin",
    "PushLeftSemiLeftAntiThroughJoin",
    "InferFiltersFromConstraints",
)
_NUMBERS = frozenset({Kind.INTEGER, Kind.BIG, Kind.DOUBLE, Kind.DECIMAL})
_FUNCTIONS = {"quantile_0": "min", "quantile_1": "max", "count_distinct": "count"}


def native_answers(
    spark: SparkSession,
    queries: Sequence[QuerySpec],
    folders: Mapping[str, Path],
    relations: Mapping[str, DataFrame],
    checkpoint: Path,
) -> dict[str, dict[Place, Expected]]:
    """Run aggregate queries as streams to the end of their input, one file per micro-batch.

    Returns:
        Per query, what it answered.
    """
    session = spark.newSession()
    rules = [f"org.apache.spark.sql.catalyst.optimizer.{name}" for name in _RULES_THAT_MOVE_FILTERS]
    session.conf.set("spark.sql.optimizer.excludedRules", ",".join(rules))
    session.conf.set("spark.sql.shuffle.partitions", "1")
    streams = {name: _stream(session, folder) for name, folder in folders.items()}
    branches = [_branch(query, streams[query.stream], relations) for query in queries]
    found: list[Any] = []
    writer = functools.reduce(DataFrame.unionByName, branches).writeStream.outputMode("append")
    writer = writer.foreachBatch(lambda answers, _: found.extend(answers.toArrow().to_pylist()))
    running = writer.option("checkpointLocation", str(checkpoint)).trigger(availableNow=True).start()
    running.awaitTermination()
    by_name = {query.name: query for query in queries}
    answered: dict[str, dict[Place, Expected]] = defaultdict(dict)
    for row in found:
        place, expected = _decoded(by_name[row["query"]], row)
        assert place not in answered[row["query"]]
        answered[row["query"]][place] = expected
    return answered


def _stream(session: SparkSession, folder: Path) -> DataFrame:
    schema = session.read.parquet(str(folder)).schema
    reader = session.readStream.schema(schema).option("maxFilesPerTrigger", 1)
    return reader.parquet(str(folder)).withWatermark("ts", f"{WATERMARK_SECONDS} seconds")


def _branch(query: QuerySpec, rows: DataFrame, relations: Mapping[str, DataFrame]) -> DataFrame:
    if query.window is None:
        raise ValueError(f"{query.name} is set-valued")
    for step in query.steps:
        rows = _below(rows, step, relations)
    window = query.window
    parts = (window.size, window.slide, window.offset % window.slide)
    durations = [f"{microseconds} microseconds" for microseconds in parts]
    keys = [F.expr(sql.spark).alias(f"key_{index}") for index, (_, sql) in enumerate(query.keys)]
    calls = [column for index, call in enumerate(query.aggregates) for column in _call(call, index)]
    answers = rows.groupBy(F.window("ts", *durations).alias("w"), *keys).agg(*calls)
    texts = [_encoded(F.col(f"key_{index}"), sql.kind) for index, (_, sql) in enumerate(query.keys)]
    values = [
        F.struct(
            F.lit(call.name).alias("aggregate"),
            _encoded(F.col(f"value_{index}"), kind_of(call)).alias("value"),
            F.col(f"rows_{index}").alias("rows"),
            F.coalesce(F.col(f"magnitude_{index}"), F.lit(0.0)).alias("magnitude"),
        )
        for index, call in enumerate(query.aggregates)
    ]
    keyed = answers.select(
        F.lit(query.name).alias("query"),
        F.unix_micros("w.start").alias("opened"),
        (F.array(*texts) if texts else F.array().cast("array<string>")).alias("key"),
        F.explode(F.array(*values)).alias("answer"),
    )
    return keyed.select("query", "opened", "key", "answer.*")


def _below(rows: DataFrame, step: Step, relations: Mapping[str, DataFrame]) -> DataFrame:
    match step:
        case FilterStep(predicates, joined=True):
            return rows.where(" AND ".join(f"({sql.spark})" for sql in predicates))
        case FilterStep(predicates):
            return functools.reduce(lambda kept, sql: kept.where(sql.spark), predicates, rows)
        case MapStep(assignments):
            return rows.withColumns({name: F.expr(sql.spark) for name, sql in assignments})
        case LookupStep():
            relation = F.broadcast(relations[step.relation])
            matches = [rows[ours] == relation[theirs] for ours, theirs in step.on]
            kind = {Partner.JOIN: "inner", Partner.SEMIJOIN: "left_semi", Partner.ANTIJOIN: "left_anti"}
            joined = rows.join(relation, functools.reduce(Column.__and__, matches), kind[step.partner])
            if step.partner is not Partner.JOIN:
                return joined
            kept = [rows[name] for name in rows.columns]
            return joined.select(*kept, *[relation[name] for name in step.columns])


def _call(call: AggregateSpec, index: int) -> Iterable[Column]:
    names = ("value", "rows", "magnitude")
    return [part.alias(f"{name}_{index}") for part, name in zip(_parts(call), names, strict=True)]


def _parts(call: AggregateSpec) -> tuple[Column, Column, Column]:
    """The aggregate, the number of rows or values, the greatest absolute value."""
    if call.parts and call.argument is not None:
        _, rows, sizes = zip(*(_parts(part) for part in call.parts), strict=True)
        count = [F.count(F.lit(1))] if "count(*)" in call.argument.duckdb else []
        value = F.expr(call.argument.duckdb.format(*map(call_text, call.parts))).cast("double")
        return value, F.greatest(*rows, *count), F.greatest(*sizes)
    only = F.lit(True) if call.where is None else F.expr(call.where.spark)
    if call.argument is None or call.function == "count_if":
        counted = F.count_if(only if call.argument is None else only & F.expr(call.argument.spark))
        return counted, counted, F.lit(0.0)
    value = F.when(only, F.expr(call.argument.spark))
    # Integers are summed exactly; Spark's own sum would overflow where ours does not.
    summed = value.cast("decimal(38,0)") if call.argument.kind in {Kind.INTEGER, Kind.BIG} else value
    function = getattr(F, _FUNCTIONS.get(call.function, call.function))(summed if call.function == "sum" else value)
    if call.function == "count_distinct":
        # Streams of Spark's have no distinct counts; -0.0 is 0.0.
        function = F.size(F.collect_set(value + F.lit(0.0) if call.argument.kind is Kind.DOUBLE else value))
    size = F.max(F.abs(value.cast("double"))) if call.argument.kind in _NUMBERS else F.lit(0.0)
    return function, F.count(value), size


def _encoded(value: Column, kind: Kind) -> Column:
    """A value as text from which `_python` reads it back."""
    match kind:
        case Kind.BINARY:
            return F.hex(value)
        case Kind.TIMESTAMP:
            return F.unix_micros(value).cast("string")
        case _:
            return value.cast("string")


def _instant(text: str) -> datetime:
    return EPOCH.replace(tzinfo=None) + timedelta(microseconds=int(text) - EPOCH_MICROSECONDS)


# What reads a value back, as DuckDB would hand it over: times without a zone, in UTC.
_READERS: Mapping[Kind, Callable[[str], Any]] = {
    Kind.INTEGER: int,
    Kind.BIG: int,
    Kind.DOUBLE: float,
    Kind.DECIMAL: Decimal,
    Kind.TEXT: str,
    Kind.DATE: date.fromisoformat,
    Kind.TIMESTAMP: _instant,
    Kind.LOCAL: datetime.fromisoformat,
    Kind.BOOLEAN: lambda text: text == "true",
    Kind.BINARY: bytes.fromhex,
}


def _python(text: str | None, kind: Kind) -> Any:
    return None if text is None else _READERS[kind](text)


def _decoded(query: QuerySpec, row: Mapping[str, Any]) -> tuple[Place, Expected]:
    call = next(call for call in query.aggregates if call.name == row["aggregate"])
    kinds = [sql.kind for sql in _key_sql(query)]
    key = tuple(_python(text, kind) for text, kind in zip(row["key"], kinds, strict=True))
    value = _python(row["value"], kind_of(call))
    return Place(row["opened"], key, call.name), Expected(value, kind_of(call), row["rows"], row["magnitude"])


def _key_sql(query: QuerySpec) -> list[Sql]:
    return [sql for _, sql in query.keys]
