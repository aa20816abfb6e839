"""Joins of answers of windows over bounded input, as DuckDB finds them."""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Mapping

import duckdb
import pyarrow as pa
import pyarrow.compute as pc
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from pyspark.sql import SparkSession

from streamshed.network.document.document import network_to_document, parse_network
from streamshed.network.model.declared_stream import stream
from streamshed.network.model.network import QueryNetwork, network
from streamshed.network.model.query import Query
from streamshed.network.model.rows import Rows
from streamshed.network.source.sources import folder
from streamshed.network.terms.aggregate import user_aggregate
from streamshed.spark import answers, query_view
from tests.spark.event_times import at
from tests.spark.joined_sides import COLUMNS, NUMBERS, JoinSpec, SideSpec, Windows, expected, found, windows_in
from tests.spark.sessions import interpreting
from tests.thoroughness import thorough

SCHEMA = pa.schema([("at", pa.timestamp("us", "UTC")), ("host", pa.string()), ("n", pa.int64())])
SPAN_SECONDS = 60


def _rows(seed: int, count: int) -> pa.Table:
    """Rows in any order, with nulls, often equally old."""
    draws = random.Random(seed)
    rows = [
        {
            "at": draws.choices([at(draws.randrange(SPAN_SECONDS * 4) / 4), None], [20, 1])[0],
            "host": draws.choice(["a", "b", "c", None]),
            "n": draws.choice([None, *range(-5, 20)]),
        }
        for _ in range(count)
    ]
    return pa.Table.from_pylist(rows, SCHEMA)


def _stream(name: str) -> Rows:
    return stream(name, folder(f"nowhere/{name}", "json", schema=COLUMNS), time="at")


def windows() -> st.SearchStrategy[Windows]:
    """Windows of which some overlap, and some do not begin with the minute."""
    sizes = st.tuples(st.integers(1, 15), st.integers(1, 15), st.integers(0, 9))
    return sizes.map(lambda drawn: Windows(max(drawn[:2]), min(drawn[:2]), drawn[2]))


def sides() -> st.SearchStrategy[SideSpec]:
    """Rows, answers of windows, or of windows over these, by host or not."""
    return st.builds(
        SideSpec,
        st.lists(windows(), max_size=2).map(tuple),
        st.booleans(),
        st.sampled_from([-(2**40), 3]),
    )


def joins() -> st.SearchStrategy[JoinSpec]:
    """Joins of which at least one side is answers."""
    within = st.tuples(st.integers(0, 20), st.integers(0, 20)).filter(any)
    made = st.builds(JoinSpec, sides(), sides(), within)
    return made.filter(lambda spec: bool(spec.left.windows or spec.right.windows))


def _check(spec: JoinSpec, inputs: Mapping[str, pa.Table], spark: SparkSession) -> int:
    queries = spec.network(_stream("calls"), _stream("alerts"))
    return _compare(spec, inputs, _answered(queries, inputs, spark), queries, spark)


def _answered(queries: QueryNetwork, inputs: Mapping[str, pa.Table], spark: SparkSession) -> pa.Table:
    frames = {name: spark.createDataFrame(rows, COLUMNS) for name, rows in inputs.items()}
    return answers(queries, spark, frames).toArrow()


def _compare(
    spec: JoinSpec, inputs: Mapping[str, pa.Table], answered: pa.Table, queries: QueryNetwork, spark: SparkSession
) -> int:
    """Compare what the queries of a join answer with what DuckDB says; how many pairs there are."""
    pairs = found({"pairs": _view(answered, queries, "pairs", spark)})
    windows = {name: windows_in(answered, name) for name in NUMBERS if name != "pairs"}
    wanted = expected(spec, inputs)
    assert {**pairs, **windows} == wanted
    return sum(wanted["pairs"].values())


def _view(answered: pa.Table, queries: QueryNetwork, name: str, spark: SparkSession) -> pa.Table:
    rows = answered.filter(pc.field("query") == name).combine_chunks()
    return query_view(spark.createDataFrame(rows), queries, name).toArrow()


BUSY = SideSpec((Windows(10, 5),), least=3)
LARGEST = SideSpec((Windows(4, 2, 1), Windows(9, 3)))
CASES = {
    "answers with rows": JoinSpec(BUSY, SideSpec(), (15, 5)),
    "rows with answers": JoinSpec(SideSpec(), BUSY, (0, 12)),
    "answers with answers": JoinSpec(BUSY, SideSpec((Windows(6, 6),)), (10, 10)),
    "answers of answers with rows": JoinSpec(LARGEST, SideSpec(), (3, 8)),
    "without keys": JoinSpec(SideSpec((Windows(5, 5),), keyed=False), SideSpec(), (4, 0)),
}


INPUTS = {"calls": _rows(1, 120), "alerts": _rows(2, 90)}
BRIEF = "answers with answers"


@thorough
@pytest.mark.parametrize("case", [case for case in CASES if case != BRIEF])
def test_answers_are_joined_as_duckdb_joins_them(case: str, spark: SparkSession) -> None:
    assert _check(CASES[case], INPUTS, spark) > 20


@thorough
@settings(max_examples=8, deadline=None, suppress_health_check=list(HealthCheck), derandomize=True)
@given(spec=joins(), seed=st.integers(0, 1_000), count=st.sampled_from([1, 25, 80]))
def test_any_such_join_finds_what_duckdb_finds(spec: JoinSpec, seed: int, count: int, spark: SparkSession) -> None:
    _check(spec, {"calls": _rows(seed, count), "alerts": _rows(seed + 1, 40)}, spark)


def test_a_document_joins_answers_as_its_network_does() -> None:
    queries = JoinSpec(BUSY, SideSpec(), (15, 5)).network(_stream("calls"), _stream("alerts"))
    loaded = parse_network(network_to_document(queries), folder="/elsewhere").network
    assert [one.definition for one in loaded.queries] == [one.definition for one in queries.queries]


class Spread:
    """The difference of the largest and the smallest value, in any order of rows."""

    order_matters = False

    def init(self) -> tuple[int, int] | None:
        return None

    def incr(self, state: tuple[int, int] | None, value: int | None) -> tuple[int, int] | None:
        if value is None:
            return state
        return (value, value) if state is None else (min(state[0], value), max(state[1], value))

    def merge(self, left: tuple[int, int] | None, right: tuple[int, int] | None) -> tuple[int, int] | None:
        if left is None or right is None:
            return left or right
        return min(left[0], right[0]), max(left[1], right[1])

    def final(self, state: tuple[int, int] | None) -> int | None:
        return None if state is None else state[1] - state[0]


def _of_users_own() -> Query:
    """A join of answers with aggregates of every kind, by keys of every type."""
    calls, alerts = _stream("calls"), _stream("alerts")
    spread = user_aggregate(Spread, columns=["n"], returns="bigint")
    keys = {"day": "to_date(at)", "odd": "n % 2 = 1", "cost": "cast(n as decimal(10, 2))"}
    of_calls = calls.window("12 s", every="6 s").by("host", **keys).agg(spread=spread, mean="avg(n)", n="count(*)")
    side = of_calls.map(hosts="concat(host, host)").filter("spread = 0")
    costly = alerts.map(cost="cast(n as decimal(10, 2))")
    return side.join(costly, on=["host", "cost"], within="30 s", name="of_users_own").query("of_users_own")


@pytest.fixture(scope="module")
def queries() -> QueryNetwork:
    return network(*CASES[BRIEF].network(_stream("calls"), _stream("alerts")).queries, _of_users_own())


@pytest.fixture(scope="module")
def answered(spark: SparkSession, queries: QueryNetwork) -> pa.Table:
    """What one network of two joins answers."""
    return _answered(queries, INPUTS, interpreting(spark))


def test_answers_are_joined_with_answers_as_duckdb_joins_them(
    answered: pa.Table, queries: QueryNetwork, spark: SparkSession
) -> None:
    assert _compare(CASES[BRIEF], INPUTS, answered, queries, spark) > 20


def test_a_side_may_have_aggregates_of_the_users_own_and_every_type_of_key(
    answered: pa.Table, queries: QueryNetwork, spark: SparkSession
) -> None:
    view = _view(answered, queries, "of_users_own", spark)
    shown = zip(
        *(
            view[name].to_pylist()
            for name in ("calls_window_start", "alerts_at", "calls_host", "calls_n", "calls_mean")
        ),
        strict=True,
    )
    groups = (
        (
            f"(SELECT s AS t, host, n, count(*) AS c FROM (SELECT unnest({Windows(12, 6).starts('at')}) AS s, host, n"
            " FROM calls WHERE at IS NOT NULL) GROUP BY ALL)"
        )
        .replace("(at)", '("at")')
        .replace(" at ", ' "at" ')
    )
    near = "b.at <= a.t + INTERVAL 30 SECOND AND b.at >= a.t - INTERVAL 30 SECOND"
    sql = f"SELECT a.t::TIMESTAMPTZ, b.at, a.host, a.c, a.n::DOUBLE FROM {groups} a JOIN alerts b USING (host, n)"
    with duckdb.connect() as database:
        database.execute("SET TimeZone = 'UTC'")
        for name, rows in INPUTS.items():
            database.register(name, rows)
        wanted = Counter(database.execute(f"{sql} WHERE {near}").fetchall())
    assert sum(wanted.values()) > 10
    assert Counter(shown) == wanted
    assert view["calls_spread"].to_pylist() == [0] * view.num_rows
    assert view["calls_cost"].to_pylist() == view["alerts_cost"].to_pylist()
    assert set(view["calls_day"].to_pylist()) == {at(0).date()}
    assert view["calls_hosts"].to_pylist() == [2 * host for host in view["alerts_host"].to_pylist()]
