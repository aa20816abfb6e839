"""Windows over joins that are summed up where pairs are found, beside those that take rows: all as DuckDB has them."""

from __future__ import annotations

import random
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal
from pathlib import Path

import duckdb
import pyarrow as pa
import pytest
from pyspark.sql import DataFrame, SparkSession

from streamshed.joins.side import Side
from streamshed.network.network import QueryNetwork, network
from streamshed.network.node import Node
from streamshed.network.query import Query
from streamshed.network.sources import folder
from streamshed.network.stream import Stream, stream
from streamshed.sharing.network_work import stream_work
from streamshed.spark import answers, query_view
from streamshed.spark.internal_names import TIME
from streamshed.spark.join_sums import join_sums
from streamshed.spark.join_work import JoinSums
from tests.spark.streaming.files import at, write_parquet
from tests.spark.streaming.harness import PATIENCE_SECONDS, Collected, wait_for_micro_batch
from tests.thoroughness import thorough

FILES, ROWS, SPAN_SECONDS = 6, 50, 30
WATERMARK_SECONDS = 3
WITHIN_SECONDS = 6
RESTARTS = (2, 4)
"""The files that come first after a restart."""
SCHEMA = pa.schema(
    [
        ("at", pa.timestamp("us", "UTC")),
        ("n", pa.int64()),
        ("host", pa.string()),
        ("port", pa.int32()),
        ("x", pa.float64()),
        ("cost", pa.decimal128(10, 2)),
    ]
)
DDL = "at timestamp, n bigint, host string, port int, x double, cost decimal(10,2)"
SETTINGS = {"trigger": "100 ms", "partitions": 2, "advisory": True}


def _rows(seed: int) -> pa.Table:
    """Rows out of order, with nulls, NaN, both zeros, and numbers that no float can hold."""
    draws = random.Random(seed)
    rows = []
    for place in range(FILES * ROWS):
        second = place * SPAN_SECONDS / (FILES * ROWS)
        rows.append(
            {
                "at": at(max(0.0, round(second - draws.random() * WATERMARK_SECONDS, 1))),
                "n": draws.choice([None, 0, 7, 2**60 + place, -(2**60) - place, place, place]),
                "host": draws.choice([None, "a", "a", "b", "", "ä", "long|er"]),
                "port": draws.choice([80, 443, None]),
                "x": draws.choice([None, float("nan"), 0.0, -0.0, 1.5, -2.25, 1e3]),
                "cost": None if place % 7 == 0 else Decimal(place) / 4,
            }
        )
    return pa.Table.from_pylist(rows, SCHEMA)


LEFT, RIGHT = _rows(1), _rows(2)


@dataclass(frozen=True)
class Asked:
    """A query, and the same in DuckDB's words over pairs."""

    name: str
    size: int
    slide: int
    figures: Mapping[str, tuple[str, str]]
    where: tuple[str, ...] = ()
    keys: tuple[str, ...] = ()
    is_summed: bool = True
    maps: tuple[tuple[str, str], ...] = ()

    def query(self, pairs: Node) -> Query:
        """The query over a join."""
        for name, sql in self.maps:
            pairs = pairs.map(**{name: sql})
        for predicate in self.where:
            pairs = pairs.filter(predicate)
        windows = pairs.window(f"{self.size} seconds", every=f"{self.slide} seconds")
        grouped = windows.by(*self.keys) if self.keys else windows
        return grouped.agg(**{name: ours for name, (ours, _) in self.figures.items()}).query(self.name, mode="exact")

    def expected(self) -> dict[tuple[object, ...], tuple[object, ...]]:
        """What it answers, by window and key."""
        keys = "".join(f", {key}" for key in self.keys)
        maps = "".join(f", {sql} AS {name}" for name, sql in self.maps)
        tests = " AND ".join(f"({test})" for test in (*self.where, "true"))
        figures = ", ".join(theirs for _, theirs in self.figures.values())
        back = f"range(0, {self.size} + {self.slide}, {self.slide})"
        found = _from_duckdb(
            f"WITH p AS (SELECT greatest(a.at, b.at) AS t,"
            f" {_columns('a', 'calls')}, {_columns('b', 'alerts')} FROM calls a JOIN alerts b ON a.port = b.port AND"
            f" abs(epoch_us(a.at) - epoch_us(b.at)) <= {WITHIN_SECONDS * 1_000_000}),"
            f" q AS (SELECT *{maps} FROM p),"
            f" w AS (SELECT *, time_bucket(INTERVAL {self.slide} SECOND, t, TIMESTAMPTZ '1970-01-01')"
            f" - INTERVAL 1 SECOND * unnest({back}) AS start FROM q WHERE {tests})"
            f" SELECT start{keys}, {figures} FROM w WHERE start + INTERVAL {self.size} SECOND > t GROUP BY ALL"
        )
        count = 1 + len(self.keys)
        return {row[:count]: row[count:] for row in found}


def _columns(alias: str, prefix: str) -> str:
    return ", ".join(f"{alias}.{name} AS {prefix}_{name}" for name in SCHEMA.names if name != "at")


def _from_duckdb(sql: str) -> list[tuple[object, ...]]:
    with duckdb.connect() as database:
        database.execute("SET TimeZone = 'UTC'")
        for name, rows in (("calls", LEFT), ("alerts", RIGHT)):
            database.register(name, rows)
        return database.execute(sql).fetchall()


N = ("count(*)", "count(*)")
REMAINDERS = ("sum(alerts_n % 1000)", "sum(alerts_n % 1000)::BIGINT")
FIGURES = {
    "n": N,
    "total": REMAINDERS,
    "least": ("min(calls_n)", "min(calls_n)"),
    "most": ("max(calls_n)", "max(calls_n)"),
    "least_x": ("min(calls_x)", "min(calls_x)"),
    "most_x": ("max(alerts_x)", "max(alerts_x)"),
    "mean": ("avg(coalesce(alerts_n % 7, 0) / 4)", "avg(coalesce(alerts_n % 7, 0) / 4)"),
    "there": ("count(calls_x)", "count(calls_x)"),
    "letters": ("sum(length(alerts_host))", "sum(length(alerts_host))::BIGINT"),
}
SLIDING = Asked("sliding", 10, 4, FIGURES)
BY_HOST = Asked(
    "by_host", 9, 3, {"n": N, "total": REMAINDERS}, where=("calls_port = 80", "alerts_n % 2 = 0"), keys=("calls_host",)
)
BY_BOTH = Asked("by_both", 6, 6, {"n": N, "there": FIGURES["there"]}, keys=("calls_host", "alerts_port"))
BY_NUMBER = Asked("by_number", 6, 6, {"n": N, "mean": FIGURES["mean"]}, ("alerts_n > 0",), keys=("alerts_n",))
MAPPED = Asked(
    "mapped", 8, 4, {"n": N}, where=("letters > 1",), keys=("letters",), maps=(("letters", "length(alerts_host)"),)
)
RESIDUAL = Asked(
    "residual",
    10,
    5,
    {"n": N, "total": REMAINDERS},
    where=("calls_n < alerts_n",),
    keys=("calls_host",),
    is_summed=False,
)
SUMS = Asked(
    "sums", 6, 6, {"total": ("sum(calls_n + 1)", "sum(calls_n + 1)")}, ("calls_n BETWEEN 0 AND 1000",), is_summed=False
)
COSTS = Asked("costs", 10, 10, {"cost": ("sum(alerts_cost)", "sum(alerts_cost)")}, is_summed=False)
SPREAD = Asked(
    "spread", 10, 5, {"s": ("stddev(calls_n % 9)", "stddev(calls_n % 9)")}, ("calls_n > 0",), is_summed=False
)
EVERY = (SLIDING, BY_HOST, BY_BOTH, BY_NUMBER, MAPPED, RESIDUAL, SUMS, COSTS, SPREAD)


def _sides(path: Path) -> tuple[Stream, Stream]:
    calls, alerts = (
        stream(
            name,
            folder(path / name, "parquet", schema=DDL, max_files_per_micro_batch=1),
            time="at",
            watermark=f"{WATERMARK_SECONDS} seconds",
            idle_after="1 hour",
        )
        for name in ("calls", "alerts")
    )
    return calls, alerts


def _pairs(path: Path) -> Stream:
    calls, alerts = _sides(path)
    return calls.join(alerts, on="port", within=f"{WITHIN_SECONDS} s", basic_window="2 s")


def _arrive(path: Path, files: range) -> None:
    for file in files:
        for name, rows in (("calls", LEFT), ("alerts", RIGHT)):
            write_parquet(path / name / f"{file}.parquet", rows.slice(file * ROWS, ROWS))


def _answered(found: DataFrame, queries: QueryNetwork, asked: Asked) -> dict[tuple[object, ...], tuple[object, ...]]:
    """What a query answered; of one without groups, the windows that are not empty."""
    view = query_view(found, queries, asked.name).toArrow()
    assert all(view["exact"].to_pylist())
    keys = zip(*(view[name].to_pylist() for name in ("window_start", *asked.keys)), strict=True)
    figures = list(zip(*(view[name].to_pylist() for name in asked.figures), strict=True))
    rows = dict(zip(keys, figures, strict=True))
    assert len(rows) == len(figures), "a window was answered twice"
    is_empty = {key for key, told in rows.items() if not asked.keys and told[0] in (0, None)}
    return {key: told for key, told in rows.items() if key not in is_empty}


def _check(
    found: Mapping[tuple[object, ...], tuple[object, ...]], expected: Mapping[tuple[object, ...], tuple[object, ...]]
) -> None:
    known = {key: told for key, told in expected.items() if len(key) > 1 or told[0] not in (0, None)}
    assert found.keys() == known.keys()
    for key, figures in known.items():
        for told, figure in zip(found[key], figures, strict=True):
            alike = told == figure if figure is None or isinstance(figure, int) else _is_close(told, figure)
            assert alike, (key, found[key], figures)


def _is_close(told: object, figure: object) -> bool:
    return told is not None and float(str(told)) == pytest.approx(float(str(figure)), rel=1e-9, nan_ok=True)


def _frame(spark: SparkSession, collected: Collected) -> DataFrame:
    return spark.createDataFrame(pa.concat_tables(collected.tables.values()).combine_chunks())


def _summed(spark: SparkSession, path: Path, asked: Sequence[Asked], *, rows: bool = False) -> JoinSums:
    """What of some queries is summed up where pairs are found."""
    pairs = _pairs(path)
    queries = [one.query(pairs) for one in asked] + ([pairs.query("pairs")] if rows else [])
    sides = {}
    for side, prefix in zip(Side, ("calls", "alerts"), strict=True):
        columns = [f"{TIME} bigint", *(f"{prefix}_{column}" for column in DDL.split(", "))]
        sides[side] = spark.createDataFrame([], ", ".join(columns))
    return join_sums(stream_work(pairs, network(*queries).foundation.queries), sides)[0]


def test_batch_mode_answers_as_duckdb_does(spark: SparkSession, tmp_path: Path) -> None:
    _arrive(tmp_path, range(FILES))
    queries = network(*(one.query(_pairs(tmp_path)) for one in EVERY))
    found = answers(queries, spark).cache()
    for one in EVERY:
        _check(_answered(found, queries, one), one.expected())


@pytest.mark.parametrize(
    "with_rows", [pytest.param(False, id="windows"), pytest.param(True, id="rows besides", marks=thorough)]
)
def test_streams_answer_as_duckdb_does(spark: SparkSession, tmp_path: Path, *, with_rows: bool) -> None:
    _arrive(tmp_path / "in", range(FILES))
    asked = EVERY if with_rows else tuple(one for one in EVERY if one.is_summed)
    pairs, collected = _pairs(tmp_path / "in"), Collected()
    rows = [pairs.filter("calls_n is not null").query("pairs")] if with_rows else []
    queries = network(*(one.query(pairs) for one in asked), *rows)
    with queries.start(spark, checkpoint=str(tmp_path / "checkpoint"), sink=collected, **SETTINGS) as run:
        wait_for_micro_batch(run, FILES - 1)
        assert run.drain(PATIENCE_SECONDS)
    found = _frame(spark, collected).cache()
    for one in asked:
        _check(_answered(found, queries, one), one.expected())
    if with_rows:
        told = query_view(found, queries, "pairs").count()
        expected = Asked(
            "pairs", SPAN_SECONDS * 2, SPAN_SECONDS * 2, {"n": N}, where=("calls_n is not null",)
        ).expected()
        assert told == sum(count for (count,) in expected.values() if isinstance(count, int))


@thorough
def test_queries_come_and_go(spark: SparkSession, tmp_path: Path) -> None:
    """Rows that were stored for other queries do not say what those of now need: their results go as rows."""
    networks = [(SLIDING, BY_HOST), (BY_HOST, MAPPED, RESIDUAL), (SLIDING, BY_HOST, BY_BOTH)]
    collected, edges = Collected(), (0, *RESTARTS, FILES)
    for number, asked in enumerate(networks):
        _arrive(tmp_path / "in", range(edges[number], edges[number + 1]))
        queries = network(*(one.query(_pairs(tmp_path / "in")) for one in asked))
        first = max(collected.tables, default=-1)
        with queries.start(spark, checkpoint=str(tmp_path / "checkpoint"), sink=collected, **SETTINGS) as run:
            wait_for_micro_batch(run, first + edges[number + 1] - edges[number] + 1)
            if number == len(networks) - 1:
                assert run.drain(PATIENCE_SECONDS)
    found = _frame(spark, collected).cache()
    _check(_answered(found, queries, BY_HOST), BY_HOST.expected())
    # One is new, the other was not there for a while: whole are the windows that begin later than all rows before.
    begun = at(RESTARTS[1] * SPAN_SECONDS / FILES)
    for one in (BY_BOTH, SLIDING):
        told = {key: figures for key, figures in _answered(found, queries, one).items() if str(key[0]) >= str(at(0))}
        _check(told, {key: figures for key, figures in one.expected().items() if str(key[0]) >= str(begun)})


def test_what_is_summed_up(spark: SparkSession, tmp_path: Path) -> None:
    for one in EVERY:
        assert bool(_summed(spark, tmp_path, [one]).classes) is one.is_summed, one.name
    summed = [one for one in EVERY if one.is_summed]
    assert not _summed(spark, tmp_path, summed).needs_rows
    assert _summed(spark, tmp_path, summed, rows=True).needs_rows
    assert _summed(spark, tmp_path, [SLIDING, RESIDUAL]).needs_rows
