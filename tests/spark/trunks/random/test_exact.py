"""Random queries of which nothing is shed, rows out of order and late, against the same queries in plain Spark."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import replace
from datetime import timedelta
from typing import Any

import duckdb
import pyarrow as pa
import pyarrow.compute as pc

from streamshed.network.model.query import Query
from streamshed.network.terms.window import WindowSpecification
from tests.oracles.windows_of_a_row import windows_containing
from tests.spark.event_times import EPOCH, EPOCH_MICROSECONDS
from tests.spark.exactness.build import build_query
from tests.spark.exactness.comparison import first_difference, rows_difference
from tests.spark.exactness.oracle import Oracle, Place
from tests.spark.exactness.specification import AggregateSpec, QuerySpec
from tests.spark.harness import Found
from tests.spark.trunks.inputs import STEP
from tests.spark.trunks.outcome import Outcome
from tests.spark.trunks.random.comparable import answer_of, place_of
from tests.spark.trunks.random.native_run import NativeAnswers
from tests.spark.trunks.random.read_rows import late_until, rows_read, steps_by_micro_batch
from tests.spark.trunks.random.specs import NETWORKS, ROWS, aggregate_queries, oracle, prepare, queries, relations
from tests.spark.trunks.scenario import Scenario, Setting


def _queries(setting: Setting) -> Iterable[Query]:
    known = relations(setting.folder)
    return [build_query(query, setting.streams, known) for query in queries()]


SCENARIO = Scenario(queries=_queries, prepare=prepare)


def test_every_native_answer_is_given_and_equal(outcome: Outcome, native: NativeAnswers) -> None:
    differences = []
    for query in aggregate_queries():
        answers = [answer_of(row) for row in outcome.rows(query.name)]
        comparable = [answer for answer in answers if query.keys or place_of(answer) in native[query.name]]
        difference = first_difference(query, comparable, native[query.name])
        if difference is not None:
            differences.append(f"{query.name}: {difference}\n    {query}")
    assert not differences, "\n".join(differences[:10])
    assert sum(len(answers) for answers in native.by_query.values()) > 500 * NETWORKS


def test_empty_windows_of_ungrouped_queries_are_answered(outcome: Outcome, native: NativeAnswers) -> None:
    for query in aggregate_queries():
        if query.keys:
            continue
        answers = {place_of(answer_of(row)): row for row in outcome.rows(query.name)}
        empty = [row for place, row in answers.items() if place not in native[query.name]]
        assert all(_is_empty(query, row) for row in empty), query.name
        starts = _windows_passed(query, outcome)
        passed = {Place(start, (), call.name) for start in starts for call in query.aggregates}
        assert passed | native[query.name].keys() == answers.keys(), query.name


def test_all_answers_are_exact(outcome: Outcome) -> None:
    for row in outcome.rows():
        assert (row.exact, row.confidence, row.standard_error, row.sampling_rate) == (True, 1.0, 0.0, 1.0)
        assert (row.low, row.reason) == (False, None)


def test_late_pairs_are_counted(outcome: Outcome) -> None:
    counted: Counter[str] = Counter()
    for row in outcome.rows(kind="late"):
        assert row.value == row.rows_used
        counted[row.query] += row.rows_used
    whole = _oracle(outcome)
    expected = {query.name: _late_pairs(query, outcome, whole) for query in aggregate_queries()}
    assert {name: pairs for name, pairs in expected.items() if pairs} == dict(counted)
    assert sum(expected.values()) > 15 * NETWORKS


def test_rows_of_set_valued_queries_are_all_delivered(outcome: Outcome) -> None:
    whole = _oracle(outcome)
    set_valued = [query for query in queries() if query.window is None]
    assert set_valued
    for query in set_valued:
        texts = [row.value_text or "" for row in outcome.rows(query.name, kind="row")]
        assert rows_difference(query, texts, whole.rows(query)) is None


def _oracle(outcome: Outcome) -> Oracle:
    return oracle({name: outcome.table(name).drop_columns(STEP) for name in ROWS})


def _is_empty(query: QuerySpec, row: Found) -> bool:
    call = next(call for call in query.aggregates if call.name == row.aggregate)
    return row.rows_used == 0 and row.value == _of_nothing(call) and row.exact


def _of_nothing(call: AggregateSpec) -> Any:
    """What an aggregate is where there are no rows."""
    if call.function.startswith("count"):
        return 0.0
    if not call.parts:
        return None
    assert call.argument is not None
    parts = [str(_of_nothing(part)) for part in call.parts]
    formula = call.argument.duckdb.format(*["NULL" if part == "None" else part for part in parts])
    (value,) = duckdb.execute(f"SELECT {formula.replace('count(*)', 'nullif(0, 0)')}").fetchall()[0]
    return value


def _windows_passed(query: QuerySpec, outcome: Outcome) -> Iterator[int]:
    """Starts of the windows that overlap the time from the first event of the first micro-batch to the last of all."""
    assert query.window is not None
    window, rows = query.window, outcome.table(query.stream)
    first_rows = rows_read(rows, query.stream, steps_by_micro_batch(outcome.cast)[0])
    first, last = (pick(table["ts"].cast(pa.int64())).as_py() for pick, table in ((pc.min, first_rows), (pc.max, rows)))
    index = (first - window.offset - window.size) // window.slide + 1
    while (opened := window.offset + index * window.slide) <= last:
        yield opened
        index += 1


def _late_pairs(query: QuerySpec, outcome: Outcome, whole: Oracle) -> int:
    """Count, row by row, the windows that had closed when the row's micro-batch came."""
    assert query.window is not None
    windows = WindowSpecification(query.window.size, query.window.slide, query.window.offset)
    closed_until = _late_by_row(outcome, query.stream)
    rows = whole.rows(replace(query, window=None, columns=tuple(c for c in query.columns if c[0] == "row")))
    pairs = 0
    for row in rows:
        instant = EPOCH_MICROSECONDS + (row["ts"] - EPOCH.replace(tzinfo=None)) // timedelta(microseconds=1)
        starts = windows_containing(windows, instant)
        pairs += sum(start + query.window.size <= closed_until[row["row"]] for start in starts)
    return pairs


def _late_by_row(outcome: Outcome, name: str) -> dict[int, int]:
    """By number of a row, which instants were late in its micro-batch."""
    rows = outcome.table(name)
    read = zip(late_until(outcome.cast), steps_by_micro_batch(outcome.cast), strict=True)
    return {number: late for late, steps in read for number in rows_read(rows, name, steps)["row"].to_pylist()}
