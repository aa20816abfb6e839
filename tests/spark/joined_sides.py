"""Sides of joins, as rows or as answers of windows, and the same in DuckDB's words."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field

import duckdb
import pyarrow as pa
import pyarrow.compute as pc

from streamshed.network.model.network import QueryNetwork, network
from streamshed.network.model.rows import Rows
from streamshed.network.terms.join_condition import pairs_where

QUERIES = ("pairs", "plain", "both", "nested")
"""What is asked of joins."""

COLUMNS = "at timestamp, host string, n bigint"
"""What streams have."""


@dataclass(frozen=True)
class Windows:
    """Windows in seconds."""

    size: int
    slide: int
    offset: int = 0

    def starts(self, instant: str) -> str:
        """The starts of the windows that an instant is in, a list in DuckDB's words."""
        since = f"((epoch_us({instant}) - {self.offset * 1_000_000}) % {self.slide * 1_000_000})"
        micros = f"epoch_us({instant}) - {since}"
        steps = f"generate_series(0, {self.size // self.slide})"
        candidates = f"[{micros} - i * {self.slide * 1_000_000} FOR i IN {steps}]"
        return (
            f"[make_timestamp(edge) FOR edge IN {candidates} IF edge + {self.size * 1_000_000} > epoch_us({instant})]"
        )


@dataclass(frozen=True)
class SideSpec:
    """A side of a join.

    Attributes:
        windows: Those of the aggregates on the way to it, each over the answers of the one before; of rows, none.
        keyed: Whether these are by host.
        least: Rows, or answers, with no more than so many in `v` are filtered out.
    """

    windows: tuple[Windows, ...] = ()
    keyed: bool = True
    least: int = field(default=-(2**40))

    @property
    def time(self) -> str:
        """The column of its rows' time."""
        return "window_start" if self.windows else "at"

    def node(self, stream: Rows) -> Rows:
        """The side as a node: columns `host`, where it is keyed, and `v`."""
        found = stream.map(v="n", c="1")
        for one in self.windows:
            cut = found.window(f"{one.size} s", every=f"{one.slide} s", offset=f"{one.offset} s")
            cut = cut.by("host") if self.keyed else cut
            found = cut.agg(v="sum(v)", c="sum(c)", top="max(v)")
        return found.filter(f"v > {self.least}")

    def sql(self, table: str) -> str:
        """The side as a query of DuckDB: columns `t`, `host`, `v`, `c`."""
        found = f'(SELECT "at" AS t, host, n AS v, 1 AS c FROM {table} WHERE "at" IS NOT NULL)'
        host = "host" if self.keyed or not self.windows else "NULL AS host"
        for one in self.windows:
            starts = f"(SELECT unnest({one.starts('t')}) AS start, host, v, c FROM {found})"
            sums = "sum(v)::BIGINT AS v, sum(c)::BIGINT AS c"
            found = f"(SELECT start AS t, {host}, {sums} FROM {starts} GROUP BY ALL)"
        return f"(SELECT * FROM {found} WHERE v > {self.least})"


@dataclass(frozen=True)
class JoinSpec:
    """A join of two sides on host, or on nothing where one of them has none.

    Attributes:
        left: The left side.
        right: The right side.
        within: How long either waits, in seconds.
        name: Of the joined stream.
    """

    left: SideSpec
    right: SideSpec
    within: tuple[int, int]
    name: str = "joined"

    @property
    def on_host(self) -> bool:
        """Whether both sides have hosts."""
        return all(side.keyed or not side.windows for side in (self.left, self.right))

    def stream(self, calls: Rows, alerts: Rows, *, mode: str = "subset") -> Rows:
        """The joined stream."""
        on = "host" if self.on_host else pairs_where(any_pair)
        within = tuple(f"{seconds} s" for seconds in self.within)
        left, right = self.left.node(calls), self.right.node(alerts)
        return left.join(right, on=on, within=within, prefixes=("a_", "b_"), name=self.name, mode=mode)

    def network(
        self, calls: Rows, alerts: Rows, *, mode: str = "exact", only: tuple[str, ...] = QUERIES
    ) -> QueryNetwork:
        """Its results themselves, and windows: summed up where pairs are found, of rows, and nested."""
        joined = self.stream(calls, alerts)
        plain = joined.window("10 s", every="4 s").agg(n="count(*)", total="sum(a_v)", most="max(b_v)")
        both = joined.window("7 s", offset="2 s").agg(n="count(*)", total="sum(a_v - b_v)")
        nested = joined.window("5 s").by(key="b_v % 3").agg(n="count(*)").window("15 s", every="5 s")
        rows = joined.map(a_t=f"a_{self.left.time}", b_t=f"b_{self.right.time}", both="a_v + b_v")
        asked = {"pairs": rows, "plain": plain, "both": both, "nested": nested.agg(most="max(n)")}
        return network(*[one.query(name, mode=mode) for name, one in asked.items() if name in only])

    def sql(self, calls: str = "calls", alerts: str = "alerts") -> str:
        """Its results as a query of DuckDB: `time`, `a_t`, `b_t`, `a_host`, `b_host`, `a_v`, `b_v`."""
        w1, w2 = self.within
        near = f"b.t <= a.t + INTERVAL {w1} SECOND AND b.t >= a.t - INTERVAL {w2} SECOND"
        on = "a.host = b.host" if self.on_host else "TRUE"
        return (
            "(SELECT greatest(a.t, b.t) AS time, a.t AS a_t, b.t AS b_t, a.host AS a_host, b.host AS b_host,"
            f" a.v AS a_v, b.v AS b_v FROM {self.left.sql(calls)} a JOIN {self.right.sql(alerts)} b ON {on} AND {near})"
        )


def any_pair(left: pa.Table, _right: pa.Table) -> pa.Array:
    """A condition that all meet."""
    return pa.array([True] * left.num_rows)


def expected(spec: JoinSpec, inputs: Mapping[str, pa.Table]) -> dict[str, Counter[tuple[object, ...]]]:
    """What DuckDB says of each query of `JoinSpec.network`; times and starts of windows in microseconds."""
    pairs, sliding = spec.sql(), Windows(10, 4).starts("time")
    offset, tumbling, nested = (
        Windows(7, 7, 2).starts("time"),
        Windows(5, 5).starts("time"),
        Windows(15, 5).starts("s"),
    )
    cut = f"(SELECT unnest({tumbling}) AS s, b_v FROM {pairs})"
    inner = f"(SELECT s, b_v % 3 AS key, count(*) AS n FROM {cut} GROUP BY ALL)"
    queries = {
        "pairs": f"SELECT epoch_us(time), epoch_us(a_t), epoch_us(b_t), a_v + b_v FROM {pairs}",
        "plain": "SELECT epoch_us(s), count(*), sum(a_v)::BIGINT, max(b_v)::BIGINT FROM"
        f" (SELECT unnest({sliding}) AS s, * FROM {pairs}) GROUP BY s",
        "both": "SELECT epoch_us(s), count(*), sum(a_v - b_v)::BIGINT FROM"
        f" (SELECT unnest({offset}) AS s, * FROM {pairs}) GROUP BY s",
        "nested": f"SELECT epoch_us(s2), max(n) FROM (SELECT unnest({nested}) AS s2, n FROM {inner}) GROUP BY s2",
    }
    with duckdb.connect() as database:
        database.execute("SET TimeZone = 'UTC'")
        for name, rows in inputs.items():
            database.register(name, rows)
        return {name: Counter(database.execute(sql).fetchall()) for name, sql in queries.items()}


NUMBERS = {
    "pairs": ("time", "a_t", "b_t", "both"),
    "plain": ("window_start", "n", "total", "most"),
    "both": ("window_start", "n", "total"),
    "nested": ("window_start", "most"),
}
"""The columns of views that are compared."""


def found(views: Mapping[str, pa.Table], *, exact: bool = True) -> dict[str, Counter[tuple[object, ...]]]:
    """The same of what came, by query as `query_view` shows it; windows that nothing fell into are left out.

    Args:
        views: What `query_view` returns.
        exact: Whether all has to be.
    """
    shown = {}
    for name, view in views.items():
        assert all(view["exact"].to_pylist()) or not exact
        rows = zip(*[_numbers(view[column]) for column in NUMBERS[name]], strict=True)
        shown[name] = Counter(row for row in rows if name == "pairs" or row[1])
    return shown


def windows_in(answered: pa.Table, query: str) -> Counter[tuple[object, ...]]:
    """The same of windows, from the rows of all answers.

    Args:
        answered: Rows of the answer schema.
        query: One of `JoinSpec.network`, but for the results themselves.
    """
    of_query = answered.filter((pc.field("query") == query) & (pc.field("kind") == "answer"))
    assert all(of_query["exact"].to_pylist())
    starts = _numbers(of_query["window_start"])
    values: dict[int | None, dict[str, int | None]] = {start: {} for start in starts}
    for start, aggregate, value in zip(
        starts, of_query["aggregate"].to_pylist(), _numbers(of_query["value"]), strict=True
    ):
        assert aggregate not in values[start], f"{query}: a window was answered twice"
        values[start][aggregate] = value
    rows = ((start, *(of_window[name] for name in NUMBERS[query][1:])) for start, of_window in values.items())
    return Counter(row for row in rows if row[1])


def _numbers(column: pa.ChunkedArray) -> list[int | None]:
    if pa.types.is_timestamp(column.type):
        column = column.cast(pa.timestamp("us", "UTC")).cast(pa.int64())
    return [None if value is None else int(value) for value in column.to_pylist()]
