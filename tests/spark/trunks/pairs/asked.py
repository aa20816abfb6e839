"""Queries over pairs on equal columns, summed up where pairs are found or not, and the same in DuckDB's words."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import duckdb
import pyarrow as pa
import pytest

from streamshed.network.model.query import Query
from streamshed.network.model.rows import Rows
from tests.spark.trunks.joins.sides import SCHEMA
from tests.spark.trunks.pairs.matched import SAME, WITHIN_SECONDS

PairSums = dict[tuple[object, ...], tuple[object, ...]]
"""Figures by window and key."""


@dataclass(frozen=True)
class Asked:
    """A query.

    Attributes:
        name: Of the query.
        size: Of its windows, seconds.
        slide: Between its windows, seconds.
        figures: By name, what streamshed and what DuckDB calls them.
        where: Filters over pairs.
        keys: What groups are told apart by.
        is_summed: Whether it is summed up where pairs are found.
        maps: Columns that are computed first.
    """

    name: str
    size: int
    slide: int
    figures: Mapping[str, tuple[str, str]]
    where: tuple[str, ...] = ()
    keys: tuple[str, ...] = ()
    is_summed: bool = True
    maps: tuple[tuple[str, str], ...] = ()

    def query(self, pairs: Rows) -> Query:
        """The query over a join."""
        for name, sql in self.maps:
            pairs = pairs.map(**{name: sql})
        for predicate in self.where:
            pairs = pairs.filter(predicate)
        windows = pairs.window(f"{self.size} seconds", every=f"{self.slide} seconds")
        grouped = windows.by(*self.keys) if self.keys else windows
        return grouped.agg(**{name: ours for name, (ours, _) in self.figures.items()}).query(self.name, mode="exact")

    def expected(self, calls: pa.Table, alerts: pa.Table) -> PairSums:
        """What it answers."""
        with duckdb.connect() as database:
            database.execute("SET TimeZone = 'UTC'")
            database.register("calls", calls)
            database.register("alerts", alerts)
            rows = database.execute(self._sql()).fetchall()
        count = 1 + len(self.keys)
        return {row[:count]: row[count:] for row in rows}

    def _sql(self) -> str:
        after, before = (1_000_000 * seconds for seconds in WITHIN_SECONDS)
        keys = "".join(f", {key}" for key in self.keys)
        maps = "".join(f", {sql} AS {name}" for name, sql in self.maps)
        tests = " AND ".join(f"({test})" for test in (*self.where, "true"))
        figures = ", ".join(theirs for _, theirs in self.figures.values())
        back = f"range(0, {self.size} + {self.slide}, {self.slide})"
        return (
            f"WITH p AS (SELECT greatest(a.ts, b.ts) AS t, {_columns('a', 'calls')}, {_columns('b', 'alerts')}"
            f" FROM calls a JOIN alerts b ON {SAME} AND epoch_us(b.ts) - epoch_us(a.ts) BETWEEN {-before} AND {after}),"
            f" q AS (SELECT *{maps} FROM p),"
            f" w AS (SELECT *, time_bucket(INTERVAL {self.slide} SECOND, t, TIMESTAMPTZ '1970-01-01')"
            f" - INTERVAL 1 SECOND * unnest({back}) AS start FROM q WHERE {tests})"
            f" SELECT start{keys}, {figures} FROM w WHERE start + INTERVAL {self.size} SECOND > t GROUP BY ALL"
        )


def _columns(alias: str, prefix: str) -> str:
    return ", ".join(f"{alias}.{name} AS {prefix}_{name}" for name in SCHEMA.names if name != "ts")


N = ("count(*)", "count(*)")
REMAINDERS = ("sum(alerts_n % 1000)", "sum(alerts_n % 1000)::BIGINT")
THERE = ("count(calls_x)", "count(calls_x)")
SLIDING = Asked(
    "sliding",
    10,
    4,
    {
        "n": N,
        "total": REMAINDERS,
        "least": ("min(calls_n)", "min(calls_n)"),
        "most": ("max(calls_n)", "max(calls_n)"),
        "least_x": ("min(calls_x)", "min(calls_x)"),
        "most_x": ("max(alerts_x)", "max(alerts_x)"),
        "mean": ("avg(coalesce(alerts_n % 7, 0) / 4)", "avg(coalesce(alerts_n % 7, 0) / 4)"),
        "there": THERE,
        "letters": ("sum(length(alerts_host))", "sum(length(alerts_host))::BIGINT"),
    },
)
BY_HOST = Asked(
    "by_host", 9, 3, {"n": N, "total": REMAINDERS}, ("calls_port = 80", "alerts_n % 2 = 0"), keys=("calls_host",)
)
BY_BOTH = Asked("by_both", 6, 6, {"n": N, "there": THERE}, keys=("calls_host", "alerts_port"))
MEAN = ("avg(coalesce(alerts_n % 7, 0) / 4)", "avg(coalesce(alerts_n % 7, 0) / 4)")
BY_NUMBER = Asked("by_number", 6, 6, {"n": N, "mean": MEAN}, ("alerts_n > 0",), keys=("alerts_n",))
MAPPED = Asked(
    "mapped", 8, 4, {"n": N}, where=("letters > 1",), keys=("letters",), maps=(("letters", "length(alerts_host)"),)
)
SUMMED = (SLIDING, BY_HOST, BY_BOTH, BY_NUMBER, MAPPED)

RESIDUAL = Asked("residual", 10, 5, {"n": N, "total": REMAINDERS}, ("calls_n < alerts_n",), ("calls_host",), False)
SUMS = Asked(
    "sums", 6, 6, {"total": ("sum(calls_n + 1)", "sum(calls_n + 1)")}, ("calls_n BETWEEN 0 AND 1000",), is_summed=False
)
COSTS = Asked("costs", 10, 10, {"cost": ("sum(alerts_cost)", "sum(alerts_cost)")}, is_summed=False)
SPREAD = Asked(
    "spread", 10, 5, {"s": ("stddev(calls_n % 9)", "stddev(calls_n % 9)")}, ("calls_n > 0",), is_summed=False
)
AS_ROWS = (RESIDUAL, SUMS, COSTS, SPREAD)


def answered(asked: Asked, view: pa.Table) -> PairSums:
    """What a query answered, as its typed view shows it; each once."""
    assert all(view["exact"].to_pylist()), asked.name
    keys = zip(*(view[name].to_pylist() for name in ("window_start", *asked.keys)), strict=True)
    figures = list(zip(*(view[name].to_pylist() for name in asked.figures), strict=True))
    rows = dict(zip(keys, figures, strict=True))
    assert len(rows) == len(figures), f"{asked.name}: a window was answered twice"
    return rows


def assert_alike(asked: Asked, answers: PairSums, expected: PairSums) -> None:
    """Compare answers; windows without groups may be empty or not there."""
    answers, expected = _filled(asked, answers), _filled(asked, expected)
    assert answers.keys() == expected.keys(), asked.name
    for place, figures in expected.items():
        for answer, figure in zip(answers[place], figures, strict=True):
            alike = answer == figure if figure is None or isinstance(figure, int) else _is_close(answer, figure)
            assert alike, (asked.name, place, answers[place], figures)


def _filled(asked: Asked, rows: PairSums) -> PairSums:
    return {place: figures for place, figures in rows.items() if asked.keys or figures[0] not in (0, None)}


def _is_close(answer: object, figure: object) -> bool:
    return answer is not None and float(str(answer)) == pytest.approx(float(str(figure)), rel=1e-9, nan_ok=True)
