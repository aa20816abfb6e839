"""Random networks as streams, rows out of order and late, against the same queries written natively."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, replace
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import DataFrame, SparkSession

from streamshed.network.network import network
from streamshed.network.window import WindowSpecification
from tests.spark.exactness.build import build_query, build_relations
from tests.spark.exactness.comparison import Answer, first_difference, rows_difference
from tests.spark.exactness.generator import generate
from tests.spark.exactness.oracle import Expected, Oracle, Place
from tests.spark.exactness.specification import QuerySpec
from tests.spark.exactness.tables import EPOCH, Tables, make_tables
from tests.spark.streaming.disorder import (
    FILES,
    Arrivals,
    arrive,
    late_watermark,
    streams_of,
    write_closing_file,
)
from tests.spark.streaming.files import EPOCH_MICROSECONDS
from tests.spark.streaming.harness import QUICK, Collected, Found, finish
from tests.spark.streaming.native import native_answers
from tests.thoroughness import thorough

pytestmark = thorough

NETWORKS = 8
FIRST_SEED = 5000
ROWS = {"events": 260, "others": 180}


@dataclass(frozen=True)
class Outcome:
    """What the networks' queries answered, natively and here."""

    queries: tuple[QuerySpec, ...]
    arrivals: Arrivals
    collected: Collected
    native: dict[str, dict[Place, Expected]]

    @property
    def aggregates(self) -> Iterator[QuerySpec]:
        return (query for query in self.queries if query.window is not None)


@pytest.fixture(scope="module")
def outcome(spark: SparkSession, tmp_path_factory: pytest.TempPathFactory) -> Outcome:
    path = tmp_path_factory.mktemp("random_networks")
    arrivals = arrive(make_tables(FIRST_SEED, ROWS, path), FIRST_SEED, path)
    specs = [generate(seed, list(ROWS)) for seed in range(FIRST_SEED, FIRST_SEED + NETWORKS)]
    queries = tuple(query for spec in specs for query in spec.queries)
    collected = Collected()
    _run(queries, arrivals, spark, path, collected)
    for name, where in arrivals.folders.items():
        write_closing_file(where, arrivals.tables.streams[name].schema)
    aggregates = [query for query in queries if query.window is not None]
    native = native_answers(
        spark,
        # Of two branches that are the same query, Spark loses groups of the second; it is asked for the first.
        [query for query in aggregates if _original(query.name) == query.name],
        arrivals.folders,
        _relation_frames(arrivals.tables, spark),
        path / "native",
    )
    told = {query.name: native[_original(query.name)] for query in aggregates}
    return Outcome(queries, arrivals, collected, told)


def _original(name: str) -> str:
    return name.removesuffix("_twin")


def _run(
    queries: tuple[QuerySpec, ...], arrivals: Arrivals, spark: SparkSession, path: Path, collected: Collected
) -> None:
    streams = streams_of(arrivals)
    relations = build_relations(arrivals.tables, spark)
    whole = network(*[build_query(query, streams, relations) for query in queries])
    run = whole.start(spark, checkpoint=str(path / "ours"), sink=collected, advisory=True, unscalable="keep", **QUICK)
    finish(run, FILES)


def _relation_frames(tables: Tables, spark: SparkSession) -> dict[str, DataFrame]:
    return {name: spark.createDataFrame(stored.table) for name, stored in tables.relations.items()}


def test_every_native_answer_is_given_and_equal(outcome: Outcome) -> None:
    differences = []
    for query in outcome.aggregates:
        answered = [_comparable(row) for row in outcome.collected.rows(query.name)]
        told = [row for row in answered if query.keys or _place(row) in outcome.native[query.name]]
        difference = first_difference(query, told, outcome.native[query.name])
        if difference is not None:
            differences.append(f"{query.name}: {difference}\n    {query}")
    assert not differences, "\n".join(differences[:10])
    assert sum(len(answers) for answers in outcome.native.values()) > 500 * NETWORKS


def test_empty_windows_of_ungrouped_queries_are_answered(outcome: Outcome) -> None:
    for query in outcome.aggregates:
        if query.keys:
            continue
        answered = {_place(_comparable(row)): row for row in outcome.collected.rows(query.name)}
        empty = {place: row for place, row in answered.items() if place not in outcome.native[query.name]}
        assert all(_is_empty(query, row) for row in empty.values()), query.name
        starts = _windows_passed(query, outcome)
        passed = {Place(opened, (), call.name) for opened in starts for call in query.aggregates}
        assert passed | outcome.native[query.name].keys() == answered.keys(), query.name


def test_all_answers_are_exact(outcome: Outcome) -> None:
    for row in outcome.collected.rows():
        assert (row.exact, row.confidence, row.standard_error, row.sampling_rate) == (True, 1.0, 0.0, 1.0)
        assert (row.low, row.reason) == (False, None)


def test_late_pairs_are_counted(outcome: Outcome) -> None:
    oracle = Oracle(outcome.arrivals.tables)
    counted: Counter[str] = Counter()
    for row in outcome.collected.rows(kind="late"):
        assert row.value == row.rows_used
        counted[row.query] += row.rows_used
    expected = {query.name: _late_pairs(query, outcome, oracle) for query in outcome.aggregates}
    assert {name: pairs for name, pairs in expected.items() if pairs} == dict(counted)
    assert sum(expected.values()) > 100


def test_rows_of_set_valued_queries_are_all_delivered(outcome: Outcome) -> None:
    oracle = Oracle(outcome.arrivals.tables)
    row_queries = [query for query in outcome.queries if query.window is None]
    assert row_queries
    for query in row_queries:
        texts = [row.value_text or "" for row in outcome.collected.rows(query.name, kind="row")]
        assert rows_difference(query, texts, oracle.rows(query)) is None


def _comparable(row: Found) -> Answer:
    opened = row.window_start - EPOCH
    start = EPOCH_MICROSECONDS + opened // timedelta(microseconds=1)
    return Answer(start, row.key, row.aggregate or "", row.value, row.value_text, row.rows_used)


def _place(answer: Answer) -> Place:
    return Place(answer.window_start, answer.key, answer.aggregate)


def _is_empty(query: QuerySpec, row: Found) -> bool:
    call = next(call for call in query.aggregates if call.name == row.aggregate)
    nothing: Any = 0.0 if call.function == "count" else None
    return row.rows_used == 0 and row.value == nothing and row.exact


def _windows_passed(query: QuerySpec, outcome: Outcome) -> Iterator[int]:
    """Starts of the windows that overlap the time from the first event of a stream's first file to its last."""
    assert query.window is not None
    window = query.window
    first, last = _first_and_last_event(outcome.arrivals, query.stream)
    index = (first - window.offset - window.size) // window.slide + 1
    while (opened := window.offset + index * window.slide) <= last:
        yield opened
        index += 1


def _first_and_last_event(arrivals: Arrivals, name: str) -> tuple[int, int]:
    table = arrivals.tables.streams[name]
    rows = zip(table["row"].to_pylist(), table["ts"].cast("int64").to_pylist(), strict=True)
    instants = list(rows)
    first = min(instant for row, instant in instants if arrivals.file_of[name][row] == 0)
    return first, max(instant for _, instant in instants)


def _late_pairs(query: QuerySpec, outcome: Outcome, oracle: Oracle) -> int:
    """Count, row by row, the windows that had closed when the row's file came."""
    assert query.window is not None
    windows = WindowSpecification(query.window.size, query.window.slide, query.window.offset)
    file_of = outcome.arrivals.file_of[query.stream]
    rows = oracle.rows(replace(query, window=None, columns=tuple(c for c in query.columns if c[0] == "row")))
    pairs = 0
    for row in rows:
        instant = EPOCH_MICROSECONDS + (row["ts"] - EPOCH.replace(tzinfo=None)) // timedelta(microseconds=1)
        closed_until = late_watermark(file_of[row["row"]]).timestamp() * 1e6
        starts = windows.windows_containing(instant)
        pairs += sum(start + query.window.size <= closed_until for start in starts)
    return pairs
