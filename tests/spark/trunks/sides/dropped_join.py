"""A join of answers of answers with rows, windows over it that may be missing, and which rows these need."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace
from datetime import datetime
from pathlib import Path

import duckdb
import pyarrow as pa

from streamshed.network.model.query import Query
from streamshed.network.model.relation import relation
from streamshed.network.model.rows import Answers, Rows
from tests.spark.event_times import seconds_of
from tests.spark.files import write_parquet
from tests.spark.joined_sides import JoinSpec, SideSpec, Windows, expected
from tests.spark.trunks.hosted_rows import HOSTS
from tests.spark.trunks.outcome import Outcome
from tests.spark.trunks.scenario import Setting
from tests.spark.trunks.watched_function import watched

INNER, OUTER = Windows(4, 2, 1), Windows(9, 3)
SPEC = JoinSpec(SideSpec((INNER, OUTER)), SideSpec(), (10, 3), "dropped")
MAX_GAPS = {"plain": 12, "both": 7, "nested": 10}
WINDOWS = {"plain": Windows(10, 4), "both": Windows(7, 7, 2), "nested": Windows(15, 5)}
CODES = "codes.parquet"


def write_codes(folder: Path, kind: pa.DataType = pa.int32()) -> None:  # noqa: B008 - a type is a value
    """Write the relation by whose column one side is grouped."""
    write_parquet(folder / CODES, pa.table({"host": list(HOSTS), "code": pa.array(range(len(HOSTS)), kind)}))


def sides(setting: Setting) -> Iterator[Rows]:
    """ResultCounts of both sides, by a column of a relation, behind a function that writes down which it is handed."""
    codes = relation("codes", setting.folder / CODES)
    for name in ("calls", "alerts"):
        seen = setting[name].apply(watched(setting.folder / name), columns=["id"], into="seen", returns="bigint")
        yield seen.filter("seen >= 0").lookup(codes, on="host").map(host="code")


def joined(setting: Setting, spec: JoinSpec = SPEC) -> Rows:
    """The joined stream."""
    return spec.stream(*sides(setting))


def queries(setting: Setting, spec: JoinSpec = SPEC) -> Iterable[Query]:
    """Windows of which some may be missing; after the last start one query misses none any more, and one is new."""
    for query in spec.network(*sides(setting), only=tuple(MAX_GAPS)).queries:
        assert query.aggregate is not None
        if setting.start == 2 and query.name == "plain":
            yield Answers(query.aggregate).query("plain", mode="exact")
        else:
            yield Answers(query.aggregate).query(query.name, mode="subset", max_gap=MAX_GAPS[query.name])
    if setting.start == 2:
        added = joined(setting, spec).window("10 s", every="4 s").agg(n="count(a_v)", least="min(b_v)")
        yield added.query("added", mode="subset", max_gap=2)


def other_windows() -> JoinSpec:
    """The same join, but for the windows of a side."""
    return replace(SPEC, left=SideSpec((INNER, Windows(9, 9))))


ResultCounts = Counter[tuple[object, ...]]


def expected_of(outcome: Outcome) -> Mapping[str, ResultCounts]:
    """What DuckDB says: the pairs, and of each query the start of a window in microseconds, and its values."""
    inputs = {name: outcome.table(name) for name in ("calls", "alerts")}
    with duckdb.connect() as database:
        database.execute("SET TimeZone = 'UTC'")
        for name, rows in inputs.items():
            database.register(name, rows)
        added = database.execute(
            "SELECT epoch_us(s), count(a_v), min(b_v)::BIGINT FROM"
            f" (SELECT unnest({WINDOWS['plain'].starts('time')}) AS s, * FROM {SPEC.sql()}) GROUP BY s"
        ).fetchall()
    return {**expected(SPEC, inputs), "added": Counter(row for row in added if row[1])}


def needed(side: str, kept: Mapping[str, Iterable[datetime]]) -> list[tuple[float, float]]:
    """From which second until which rows of a side are needed by windows that are kept.

    Args:
        side: "calls", which is answers of answers, or "alerts", which is rows.
        kept: By query, the starts of the windows.
    """
    waits = SPEC.within[0] if side == "calls" else SPEC.within[1]
    of_results = [
        (seconds_of(start) - waits, seconds_of(start) + WINDOWS[query].size)
        for query, starts in kept.items()
        for start in starts
    ]
    if side == "alerts":
        return of_results
    stamps = {stamp for first, end in of_results for stamp in _starts(OUTER, first, end)}
    below = {start for stamp in stamps for start in _starts(INNER, stamp, stamp + OUTER.size)}
    return [(start, start + INNER.size) for start in below]


def _starts(windows: Windows, first: float, end: float) -> Iterator[int]:
    """The starts of windows from one second until before another."""
    number = -((windows.offset - first) // windows.slide)
    start = windows.offset + int(number) * windows.slide
    while start < end:
        if start >= first:
            yield start
        start += windows.slide
