"""What was answered, beside what DuckDB and NumPy say: nothing lost, doubled or changed."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime
from itertools import groupby

import duckdb
import numpy as np
import pyarrow as pa

from streamshed.planning.tree.quantization import WHOLE
from tests.spark.event_times import EPOCH_MICROSECONDS, at, seconds_of
from tests.spark.harness import Found
from tests.spark.kill_loop.queries import PAIRS_SECONDS, SAMPLED, WITHIN_SECONDS, ExactQuery
from tests.spark.kill_loop.violation import Violation
from tests.spark.trunks.drawn_rows import DrawnRows
from tests.spark.trunks.sample.estimates import estimate
from tests.spark.trunks.windows_of_duckdb import Answers

SHUT_DOWN = "shut down"
"""Why windows are gaps of a query whose gaps cannot be kept short: these are not counted against its bound."""

MICRO_BATCH = "micro_batch"
"""The column of events that tells which micro-batch read their file."""

_CLOSE = 1e-9


@dataclass(frozen=True)
class Delivered:
    """What the sink has of a query.

    Attributes:
        query: Its name.
        answers: Its answers.
        gaps: Its gaps.
    """

    query: str
    answers: Sequence[Found]
    gaps: Sequence[Found] = ()

    def doubled(self) -> Iterator[Violation]:
        """What is there more than once, or as an answer and as a gap."""
        places = Counter((row.window_start, row.key, row.aggregate) for row in self.answers)
        gaps = Counter(row.window_start for row in self.gaps)
        for (start, key, aggregate), count in places.items():
            if count > 1:
                yield self.violation(start, key, aggregate, f"{count} answers", "one")
            if start in gaps:
                yield self.violation(start, key, aggregate, "an answer and a gap", "one of them")
        for start, count in gaps.items():
            if count > 1:
                yield self.violation(start, (), None, f"{count} gaps", "one")

    def violation(
        self, start: datetime, key: tuple[str | None, ...], aggregate: str | None, got: object, expected: object
    ) -> Violation:
        """Something that is not as it should be."""
        window = f"{seconds_of(start):g} s {'/'.join(map(str, key))} {aggregate or ''}".strip()
        return Violation(self.query, window, str(got), str(expected))


def exact_violations(delivered: Delivered, aggregate: str, expected: Answers) -> Iterator[Violation]:
    """Whether each window is answered with the exact value, or is a gap; windows without rows may be there or not.

    Args:
        delivered: Of a query.
        aggregate: One of its aggregates.
        expected: Its answers.
    """
    answers = {(row.window_start, row.key): row for row in delivered.answers if row.aggregate == aggregate}
    gaps = {row.window_start for row in delivered.gaps}
    for (start, key), value in expected.items():
        row = answers.get((start, key))
        if row is None:
            if start not in gaps:
                yield delivered.violation(start, key, aggregate, "nothing", value)
        elif row.value != value:
            yield delivered.violation(start, key, aggregate, row.value, value)
    for (start, key), row in answers.items():
        if (start, key) not in expected and row.value not in {None, 0.0}:
            yield delivered.violation(start, key, aggregate, row.value, "nothing")
        if not row.exact:
            yield delivered.violation(start, key, aggregate, "not exact", "exact")


def guest_violations(delivered: Delivered, expected: Answers) -> Iterator[Violation]:
    """Whether each window that was answered, of a query that comes and goes, has the exact value.

    Args:
        delivered: Of the query.
        expected: The answers of all windows.
    """
    for row in delivered.answers:
        value = expected.get((row.window_start, row.key), 0.0)
        if row.value != value or not row.exact:
            yield delivered.violation(row.window_start, row.key, row.aggregate, row.value, value)


def longest_gap(delivered: Delivered, slide: int) -> int:
    """How many windows in a row are missing at most, but for those for which the query was shut down."""
    missed = [row for row in delivered.gaps if row.reason != SHUT_DOWN]
    numbers = sorted({round(seconds_of(row.window_start)) // slide for row in missed})
    runs = groupby(enumerate(numbers), key=lambda pair: pair[1] - pair[0])
    return max((len(list(run)) for _, run in runs), default=0)


def gap_violations(delivered: Delivered, query: ExactQuery) -> Iterator[Violation]:
    """Whether no gap is longer than allowed."""
    longest = longest_gap(delivered, query.slide)
    if longest > query.max_gap:
        yield Violation(delivered.query, "longest gap", str(longest), f"at most {query.max_gap}")


def sampled_violations(delivered: Delivered, rows: DrawnRows) -> Iterator[Violation]:
    """Whether answers are those of the rows that pass the rates of their micro-batches.

    Args:
        delivered: Of the query `sampled`.
        rows: All events, in order of time, with the micro-batch that read each.
    """
    samples = rows.those(SAMPLED.where(rows)).kept(delivered.query)
    places = SAMPLED.places(samples)
    aggregates = {row.aggregate for row in delivered.answers}
    answered = {(seconds_of(row.window_start), row.key, row.aggregate) for row in delivered.answers}
    for start, key in sorted(places):
        for aggregate in sorted(aggregate or "" for aggregate in aggregates):
            if (start, key, aggregate) not in answered:
                yield delivered.violation(at(start), key, aggregate, "nothing", "an answer")
    shed = shed_times(rows, delivered.query)
    for row in delivered.answers:
        is_whole = not any(_overlaps(row, first, last) for first, last in shed)
        if row.exact != is_whole:
            yield delivered.violation(
                row.window_start, row.key, row.aggregate, f"exact {row.exact}", f"exact {is_whole}"
            )
        sample = SAMPLED.group(samples, row)
        got = (row.value, row.rows_used, row.rows_estimated)
        expected = _estimated(row, SAMPLED.value(sample), sample.rates(delivered.query))
        if not all(map(_is_close, got, expected)):
            yield delivered.violation(row.window_start, row.key, row.aggregate, got, expected)


def _estimated(row: Found, values: np.ndarray, rates: np.ndarray) -> tuple[float | None, int, float]:
    if not len(rates):
        return None, 0, 0.0
    return estimate(row.aggregate or "", values, rates)[0], len(rates), float((1 / rates).sum())


def shed_times(rows: DrawnRows, query: str) -> list[tuple[float, float]]:
    """The first and last event time of all rows that came in micro-batches which shed some of a query.

    A window that none of them touches is answered exactly.
    """
    numbers, codes = rows[MICRO_BATCH], rows.codes(query)
    shed = np.unique(numbers[codes != WHOLE])
    return [(float(of.min()), float(of.max())) for number in shed for of in [rows.seconds[numbers == number]]]


def _overlaps(row: Found, first: float, last: float) -> bool:
    return row.window_end is None or (seconds_of(row.window_start) <= last and first < seconds_of(row.window_end))


def _is_close(got: float | None, expected: float | None) -> bool:
    if got is None or expected is None:
        return got is expected
    return math.isclose(got, expected, rel_tol=_CLOSE)


def pairs_expected(calls: pa.Table, alerts: pa.Table) -> Answers:
    """Each pair in its window, as DuckDB finds them.

    Args:
        calls: All calls.
        alerts: All alerts.
    """
    after, before = (1_000_000 * seconds for seconds in WITHIN_SECONDS)
    with duckdb.connect() as database:
        database.execute("SET TimeZone = 'UTC'")
        database.register("calls", calls)
        database.register("alerts", alerts)
        pairs = database.execute(
            f"SELECT a.id, b.id, (epoch_us(greatest(a.ts, b.ts)) - {EPOCH_MICROSECONDS}) // {1_000_000 * PAIRS_SECONDS}"
            " FROM calls a JOIN alerts b ON a.host = b.host"
            f" AND epoch_us(b.ts) - epoch_us(a.ts) BETWEEN {-before} AND {after}"
        ).fetchall()
    return {(at(window * PAIRS_SECONDS), (str(left), str(right))): 1.0 for left, right, window in pairs}
