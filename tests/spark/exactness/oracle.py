"""The same queries one by one in DuckDB, written from their specification: nothing of streamshed is used."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import duckdb
import pyarrow as pa

from tests.spark.exactness.specification import (
    MICROSECONDS,
    AggregateSpec,
    FilterStep,
    Kind,
    LookupStep,
    MapStep,
    Partner,
    QuerySpec,
    Step,
    kind_of,
)
from tests.spark.exactness.tables import EPOCH, SPAN_SECONDS, Tables

_EPOCH_MICROSECONDS = int(EPOCH.timestamp()) * MICROSECONDS
_MARGIN_SECONDS = 200
_FUNCTIONS = {
    "variance": "var_samp",
    "stddev": "stddev_samp",
    "quantile_0": "min",
    "quantile_1": "max",
    "count_distinct": "count",
}
_DISPERSIONS = frozenset({"variance", "var_pop", "stddev", "stddev_pop"})


@dataclass(frozen=True)
class Expected:
    """What one aggregate of one window and group should be.

    Attributes:
        kind: Type of the value, DOUBLE where floating point makes it.
        rows: How many rows, or values, it is made of.
        magnitude: The greatest absolute value among them, where they are numbers.
    """

    value: Any
    kind: Kind
    rows: int
    magnitude: float


@dataclass(frozen=True)
class Place:
    """Which answer: window, key (as Python values) and aggregate."""

    window_start: int
    key: tuple[Any, ...]
    aggregate: str


class Oracle:
    """DuckDB with the tables of one job."""

    def __init__(self, tables: Tables) -> None:
        self._connection = duckdb.connect()
        self._connection.execute("SET threads = 1; SET TimeZone = 'UTC'")
        for name, table in tables.streams.items():
            self._create(name, table)
        for name, relation in tables.relations.items():
            self._create(name, relation.table)

    def answers(self, query: QuerySpec) -> dict[Place, Expected]:
        """Answer an aggregate query."""
        found = self._connection.execute(_aggregate_sql(query)).fetchall()
        return dict(item for row in found for item in _expected(query, row))

    def rows(self, query: QuerySpec) -> list[dict[str, Any]]:
        """Answer a set-valued query."""
        names = ["ts", *(name for name, _ in query.columns)]
        columns = ", ".join(f'"{name}"' for name in names)
        found = self._connection.execute(f"{_steps_sql(query)} SELECT {columns} FROM s{len(query.steps)}").fetchall()
        return [dict(zip(names, row, strict=True)) for row in found]

    def _create(self, name: str, table: pa.Table) -> None:
        """Times are held without a zone, in UTC."""
        fields = [
            field.with_type(pa.timestamp("us")) if pa.types.is_timestamp(field.type) else field
            for field in table.schema
        ]
        self._connection.register("given", table.cast(pa.schema(fields)))
        self._connection.execute(f'CREATE TABLE "{name}" AS SELECT * FROM given')
        self._connection.unregister("given")


def _steps_sql(query: QuerySpec) -> str:
    """One common table expression per operator, s0 the stream."""
    parts = [f's0 AS (SELECT * FROM "{query.stream}")']
    known = {"ts", *()}
    known |= _stream_columns()
    for index, step in enumerate(query.steps):
        parts.append(f"s{index + 1} AS ({_step_sql(step, f's{index}', known)})")
    return "WITH " + ",\n".join(parts)


def _stream_columns() -> set[str]:
    from tests.spark.exactness.tables import COLUMNS

    return {name for name, _ in COLUMNS}


def _step_sql(step: Step, source: str, known: set[str]) -> str:
    match step:
        case FilterStep(predicates):
            condition = " AND ".join(f"({sql.duckdb})" for sql in predicates)
            return f"SELECT * FROM {source} WHERE {condition}"
        case MapStep(assignments):
            replaced = [f'{sql.duckdb} AS "{name}"' for name, sql in assignments if name in known]
            added = [f'{sql.duckdb} AS "{name}"' for name, sql in assignments if name not in known]
            known |= {name for name, _ in assignments}
            star = f"* REPLACE ({', '.join(replaced)})" if replaced else "*"
            return f"SELECT {', '.join([star, *added])} FROM {source}"
        case LookupStep():
            return _lookup_sql(step, source, known)


def _lookup_sql(step: LookupStep, source: str, known: set[str]) -> str:
    matches = " AND ".join(f'l."{ours}" = r."{theirs}"' for ours, theirs in step.on)
    if step.partner is Partner.JOIN:
        known |= set(step.columns)
        columns = ", ".join(f'r."{name}"' for name in step.columns)
        return f'SELECT l.*, {columns} FROM {source} l JOIN "{step.relation}" r ON {matches}'
    word = "EXISTS" if step.partner is Partner.SEMIJOIN else "NOT EXISTS"
    return f'SELECT * FROM {source} l WHERE {word} (SELECT 1 FROM "{step.relation}" r WHERE {matches})'


def _aggregate_sql(query: QuerySpec) -> str:
    """All windows there can be, joined with the rows that lie in them: no slices, no arithmetic of windows."""
    window = query.window
    if window is None:
        raise ValueError(f"{query.name} is set-valued")
    margin = _MARGIN_SECONDS * MICROSECONDS
    first = (_EPOCH_MICROSECONDS - margin) // window.slide
    last = (_EPOCH_MICROSECONDS + SPAN_SECONDS * MICROSECONDS + margin) // window.slide
    start = f"k * {window.slide} + {window.offset}"
    keys = [f"{_key_sql(sql.duckdb, sql.kind)} AS key_{index}" for index, (_, sql) in enumerate(query.keys)]
    names = ["opened", *(f"key_{index}" for index in range(len(query.keys)))]
    columns = [*names, *(part for call in query.aggregates for part in _call_sql(call))]
    return f"""{_steps_sql(query)},
        windows AS (SELECT {start} AS opened FROM range({first}, {last}) t(k)),
        placed AS (SELECT {", ".join(["opened", *keys, "r.*"])} FROM s{len(query.steps)} r
                   JOIN windows ON epoch_us(r.ts) >= opened AND epoch_us(r.ts) < opened + {window.size})
        SELECT {", ".join(columns)} FROM placed GROUP BY {", ".join(names)}"""


def _key_sql(sql: str, kind: Kind) -> str:
    return f"({sql}) + 0.0::DOUBLE" if kind is Kind.DOUBLE else f"({sql})"


def _call_sql(call: AggregateSpec) -> Iterator[str]:
    """Value, number of rows or values, greatest absolute value."""
    if call.parts and call.argument is not None:
        values, rows, magnitudes = zip(*map(_call_sql, call.parts), strict=True)
        count = ["count(*)"] if "count(*)" in call.argument.duckdb else []
        yield call.argument.duckdb.format(*(f"({value})" for value in values))
        yield f"greatest({', '.join([*rows, *count])})"
        yield f"greatest({', '.join(magnitudes)})"
        return
    only = "" if call.where is None else f" FILTER (WHERE {call.where.duckdb})"
    if call.argument is None or call.function == "count_if":
        # DuckDB's own count_if is null where all predicates are.
        conditions = [sql.duckdb for sql in (call.where, call.argument) if sql is not None]
        counted = f"count(*) FILTER (WHERE {' AND '.join(f'({one})' for one in conditions) or 'true'})"
        yield from (counted, counted, "0")
        return
    value = f"({call.argument.duckdb})"
    distinct = "DISTINCT " if call.function == "count_distinct" else ""
    function = f"{_FUNCTIONS.get(call.function, call.function)}({distinct}{value}){only}"
    value = value if call.where is None else f"CASE WHEN {call.where.duckdb} THEN {value} END"
    is_number = call.argument.kind in {Kind.INTEGER, Kind.BIG, Kind.DOUBLE, Kind.DECIMAL}
    double = f"CAST({value} AS DOUBLE)" if is_number else "NULL::DOUBLE"
    if call.function in _DISPERSIONS:
        # Of infinities and NaN, DuckDB raises or returns NaN, by version.
        finite = f"{_FUNCTIONS.get(call.function, call.function)}({double}) FILTER (isfinite({double}))"
        few = f"count({value}) < {2 if call.function in ('variance', 'stddev') else 1}"
        function = (
            f"CASE WHEN {few} THEN NULL WHEN bool_or(NOT isfinite({double})) THEN 'nan'::DOUBLE ELSE {finite} END"
        )
    yield from (function, f"count({value})", f"coalesce(max(abs({double})), 0)")


def _expected(query: QuerySpec, row: tuple[Any, ...]) -> Iterator[tuple[Place, Expected]]:
    opened, width = row[0], len(query.keys)
    key = row[1 : 1 + width]
    for index, call in enumerate(query.aggregates):
        value, rows, magnitude = row[1 + width + 3 * index : 4 + width + 3 * index]
        yield Place(opened, key, call.name), Expected(value, kind_of(call), rows, float(magnitude))
