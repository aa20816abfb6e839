"""Random networks as a user of streamshed writes them."""

from __future__ import annotations

from collections.abc import Mapping

from pyspark.sql import SparkSession

from streamshed.network.model.declared_stream import stream
from streamshed.network.model.query import Query
from streamshed.network.model.relation import Relation, relation
from streamshed.network.model.rows import Rows
from streamshed.network.source.sources import folder
from tests.spark.exactness.specification import (
    AggregateSpec,
    FilterStep,
    LookupStep,
    MapStep,
    Partner,
    QuerySpec,
    Sql,
    Step,
)
from tests.spark.exactness.tables import Tables

_FUNCTIONS = {"count_distinct": "count"}
_CSV_SCHEMA = "entry string, digits string, sense string, sense_score double"


def build_streams(tables: Tables) -> dict[str, Rows]:
    """Declare the streams over the folders that hold them."""
    return {
        name: stream(name, folder(path, "parquet"), time="ts", watermark="1 second")
        for name, path in tables.folders.items()
    }


def build_relations(tables: Tables, spark: SparkSession) -> dict[str, Relation]:
    """Declare the relations, over files and DataFrames."""
    return {
        name: relation(name, stored.file, schema=_CSV_SCHEMA if stored.file.suffix == ".csv" else None)
        if stored.file is not None
        else relation(name, spark.createDataFrame(stored.table))
        for name, stored in tables.relations.items()
    }


def build_query(spec: QuerySpec, streams: Mapping[str, Rows], relations: Mapping[str, Relation]) -> Query:
    """Write one query.

    Args:
        spec: The query.
        streams: Streams by their names, or what is to be in their places.
        relations: Relations by their names.
    """
    node: Rows = streams[spec.stream]
    for step in spec.steps:
        node = _below(node, step, relations)
    if spec.window is None:
        return node.query(spec.name)
    size, slide, offset = (
        f"{microseconds} microseconds" for microseconds in (spec.window.size, spec.window.slide, spec.window.offset)
    )
    windowed = node.window(size, every=slide, offset=offset).by(**{name: _text(sql) for name, sql in spec.keys})
    return windowed.agg(**{call.name: call_text(call) for call in spec.aggregates}).query(spec.name)


def _below(node: Rows, step: Step, relations: Mapping[str, Relation]) -> Rows:
    match step:
        case FilterStep(predicates, joined=True):
            return node.filter(" AND ".join(f"({sql.spark})" for sql in predicates))
        case FilterStep(predicates):
            for sql in predicates:
                node = node.filter(sql.spark)
            return node
        case MapStep(assignments):
            return node.map(**{name: sql.spark for name, sql in assignments})
        case LookupStep(partner=Partner.JOIN):
            return node.lookup(relations[step.relation], on=dict(step.on), columns=step.columns)
        case LookupStep():
            negate = step.partner is Partner.ANTIJOIN
            return node.semijoin(relations[step.relation], on=dict(step.on), negate=negate)


def _text(sql: Sql) -> str:
    return sql.spark


def call_text(call: AggregateSpec) -> str:
    """Write an aggregate in Spark's SQL."""
    if call.parts and call.argument is not None:
        return call.argument.spark.format(*map(call_text, call.parts))
    argument = "*" if call.argument is None else call.argument.spark
    if call.function == "count_distinct":
        argument = f"DISTINCT {argument}"
    is_quantile = call.function.startswith("quantile_")
    called = (
        f"percentile_approx({argument}, {call.function[-1]})"
        if is_quantile
        else f"{_FUNCTIONS.get(call.function, call.function)}({argument})"
    )
    return called if call.where is None else f"{called} FILTER (WHERE {call.where.spark})"
