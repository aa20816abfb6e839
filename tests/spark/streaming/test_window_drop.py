"""Windows are dropped as the plan says: what is delivered is exact, the others are gaps, none longer than allowed."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta
from itertools import pairwise
from pathlib import Path

import duckdb
import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
from pyspark.sql import SparkSession

from streamshed.network.network import QueryNetwork, network
from streamshed.network.query import Query
from streamshed.network.sources import folder
from streamshed.network.stream import stream
from streamshed.planning.quantization import sampling_rate_of
from tests.spark.streaming.files import EPOCH_MICROSECONDS, at, write_parquet
from tests.spark.streaming.forced import force_sampling
from tests.spark.streaming.harness import QUICK, Collected, finish

pytestmark = pytest.mark.cluster

FILES, FILE_SECONDS, ROWS_PER_SECOND = 8, 10, 40
SECONDS = FILES * FILE_SECONDS
SCHEMA = "id bigint, ts timestamp, v bigint, g bigint"
MAX_GAP = 4
CODE = 16


def kept_shares(micro_batch_id: int) -> Mapping[str, float]:
    """Nothing is dropped at first, nor at last."""
    dropping = {"tumbling": 0.3, "sliding": 0.4, "grouped": 0.2, "largest": 0.5, "by_group": 0.6, "by_g": 0.3}
    return dropping if 1 <= micro_batch_id <= 5 else {}


@dataclass(frozen=True)
class Dropped:
    """What was answered, and how many rows the function was given."""

    queries: tuple[Query, ...]
    collected: Collected
    table: pa.Table
    judged: list[int]
    judged_by_group: list[int]
    journal: pd.DataFrame

    def gaps(self, query: str) -> list[datetime]:
        return [row.window_start for row in self.collected.rows(query, kind="gap")]


def judging(log: Path) -> Callable[[pd.Series], pd.Series]:
    """A function that writes down which rows it is given."""

    def judge(values: pd.Series) -> pd.Series:
        with log.open("a") as lines:
            lines.writelines(f"{value}\n" for value in values.dropna())
        return values % 7

    return judge


def _network(path: Path) -> QueryNetwork:
    source = folder(path / "in", "parquet", schema=SCHEMA, max_files_per_micro_batch=1)
    rows = stream("events", source, time="ts", watermark="2 seconds", identity=["id"])
    judged = rows.apply(judging(path / "log"), columns=["id"], into="verdict", returns="bigint")
    by_group = rows.apply(judging(path / "log_by_group"), columns=["id"], into="verdict", returns="bigint")
    return network(
        rows.window("1 second").agg(n="count(*)", total="sum(v)").query("tumbling", mode="subset", max_gap=MAX_GAP),
        rows.filter("v > 50")
        .window("3 seconds", every="1 second")
        .agg(n="count(*)")
        .query("sliding", mode="subset", max_gap=MAX_GAP),
        rows.window("2 seconds")
        .by(five="v % 5")
        .agg(n="count(*)", top="max(id)")
        .query("grouped", mode="subset", max_gap=MAX_GAP),
        judged.filter("verdict = 1")
        .window("1 second")
        .agg(top="max(v)")
        .query("largest", mode="subset", max_gap=MAX_GAP),
        by_group.filter("verdict < 6")
        .window("3 seconds", every="1 second")
        .by("v")
        .agg(n="count(*)", top="max(id)")
        .query("by_group", mode="subset", max_gap=MAX_GAP, gaps_by="group"),
        rows.window("2 seconds")
        .by("g")
        .agg(n="count(*)", top="max(id)")
        .query("by_g", mode="subset", max_gap=MAX_GAP, gaps_by="group"),
        rows.window("1 second").agg(n="count(*)", total="sum(v)").query("exact", mode="exact"),
        rows.filter("v > 50").window("20 seconds").agg(n="count(*)", total="sum(v)").query("sampled"),
    )


@pytest.fixture(scope="module")
def dropped(spark: SparkSession, tmp_path_factory: pytest.TempPathFactory) -> Dropped:
    path = tmp_path_factory.mktemp("window_drop")
    ids = np.arange(SECONDS * ROWS_PER_SECOND)
    instants = EPOCH_MICROSECONDS + ids * 1_000_000 // ROWS_PER_SECOND
    times = pa.array(instants, pa.timestamp("us", "UTC"))
    table = pa.table({"id": ids, "ts": times, "v": (ids * 7919) % 101, "g": ids % 13})
    for number in range(FILES):
        size = FILE_SECONDS * ROWS_PER_SECOND
        write_parquet(path / "in" / f"{number}.parquet", table.slice(number * size, size))
    collected = Collected()
    queries = _network(path)
    with pytest.MonkeyPatch.context() as patch:
        force_sampling(patch, lambda _: {"sampled": CODE}, kept_shares=kept_shares)
        run = queries.start(spark, checkpoint=str(path / "checkpoint"), sink=collected, **QUICK)
        finish(run, FILES - 1)
    judged, by_group = (list(map(int, (path / log).read_text().split())) for log in ("log", "log_by_group"))
    return Dropped(queries.queries, collected, table, judged, by_group, run.journal())


def _answers(
    dropped: Dropped, query: str, aggregate: str
) -> dict[tuple[datetime, tuple[str | None, ...]], float | None]:
    rows = [row for row in dropped.collected.rows(query) if row.aggregate == aggregate]
    found = {(row.window_start, row.key): row.value for row in rows}
    assert len(found) == len(rows), f"{query}: a window was answered twice"
    return found


EXPECTED = {
    "sliding": ("n", "v > 50", 3, 1, "'all'", "count(*)"),
    "grouped": ("top", "true", 2, 2, "v % 5", "max(id)"),
    "largest": ("top", "id % 7 = 1", 1, 1, "'all'", "max(v)"),
}
BY_GROUP = {
    "by_group": ("top", "id % 7 < 6", 3, 1, "v", "max(id)"),
    "by_g": ("top", "true", 2, 2, "g", "max(id)"),
}
"""Of two families by group, and one by window, which drop independently of each other."""


def _expected(table: pa.Table, query: str) -> dict[tuple[datetime, tuple[str, ...]], float]:
    """What DuckDB answers."""
    _, condition, size, slide, key, call = (EXPECTED | BY_GROUP)[query]
    with duckdb.connect() as database:
        database.register("events", table.append_column("t", table["ts"].cast(pa.int64())))
        rows = database.execute(
            f"SELECT k, {key} AS key, {call} FROM events, range({slide - size}, {SECONDS}, {slide}) w(k)"
            f" WHERE t >= {EPOCH_MICROSECONDS} + k * 1000000 AND t < {EPOCH_MICROSECONDS} + (k + {size}) * 1000000"
            f" AND {condition} GROUP BY ALL"
        ).fetchall()
    return {(at(start), () if key == "all" else (str(key),)): float(value) for start, key, value in rows}


@pytest.mark.parametrize("query", EXPECTED)
def test_what_is_delivered_is_exact_and_the_rest_are_gaps(dropped: Dropped, query: str) -> None:
    expected, gaps = _expected(dropped.table, query), dropped.gaps(query)
    assert len(set(gaps)) == len(gaps)
    found = _answers(dropped, query, EXPECTED[query][0])
    inside = {place: value for place, value in found.items() if place in expected}
    assert inside == {place: value for place, value in expected.items() if place[0] not in set(gaps)}
    assert all(row.exact for row in dropped.collected.rows(query))
    assert len(gaps) > 15


@pytest.mark.parametrize("query", EXPECTED)
def test_no_gap_is_longer_than_allowed(dropped: Dropped, query: str) -> None:
    slide = EXPECTED[query][3]
    starts = sorted({row.window_start for row in dropped.collected.rows(query)})
    assert max((b - a).total_seconds() for a, b in pairwise(starts)) <= (MAX_GAP + 1) * slide
    assert all(row.reason == "overload" for row in dropped.collected.rows(query, kind="gap"))


@pytest.fixture(scope="module")
def cohorts(spark: SparkSession) -> dict[str, int]:
    """The cohort of each value of v, as the documentation says."""
    hashed = spark.range(101).selectExpr("id", "xxhash64(id, '') & 15 AS cohort")
    return {str(row.id): row.cohort for row in hashed.collect()}


def _missing(dropped: Dropped, query: str) -> dict[datetime, set[int]]:
    """By window, the cohorts that it was dropped for."""
    return {
        row.window_start: set(json.loads(row.value_text or "")["cohorts"])
        for row in dropped.collected.rows(query, kind="gap")
    }


@pytest.mark.parametrize("query", BY_GROUP)
def test_by_group_each_group_has_its_own_gaps_and_all_else_is_exact(
    dropped: Dropped, cohorts: dict[str, int], query: str
) -> None:
    expected, missing = _expected(dropped.table, query), _missing(dropped, query)
    assert len(dropped.collected.rows(query, kind="gap")) == len(missing) > 15
    found = {place: value for place, value in _answers(dropped, query, "top").items() if place in expected}
    kept = {
        (start, key): value
        for (start, key), value in expected.items()
        if cohorts[key[0]] not in missing.get(start, set())
    }
    assert found == kept
    assert 0.3 < len(kept) / len(expected) < 0.95
    assert all(row.exact for row in dropped.collected.rows(query))


@pytest.mark.parametrize("query", BY_GROUP)
def test_by_group_no_gap_of_any_is_longer_than_allowed(dropped: Dropped, query: str) -> None:
    missing, slide = _missing(dropped, query), BY_GROUP[query][3]
    first, runs = min(missing), dict.fromkeys(range(16), 0)
    for second in range(0, SECONDS, slide):
        told = missing.get(first + timedelta(seconds=second), set())
        runs = {cohort: length + 1 if cohort in told else 0 for cohort, length in runs.items()}
        assert max(runs.values()) <= MAX_GAP


def test_by_group_the_load_is_even(dropped: Dropped) -> None:
    assert {len(told) for told in list(_missing(dropped, "by_group").values())[5:-5]} <= set(range(3, 10))


def test_by_group_rows_of_dropped_groups_do_not_go_to_functions(dropped: Dropped, cohorts: dict[str, int]) -> None:
    missing, values = _missing(dropped, "by_group"), np.asarray(dropped.table["v"]).tolist()

    def is_needed(number: int) -> bool:
        starts = (at(float(number // ROWS_PER_SECOND - back)) for back in range(3))
        return any(cohorts[str(values[number])] not in missing.get(start, set()) for start in starts)

    needed = {number for number in range(SECONDS * ROWS_PER_SECOND) if is_needed(number)}
    seen = set(dropped.judged_by_group)
    assert needed <= seen
    assert len(seen) <= len(needed) + 2 * ROWS_PER_SECOND
    assert len(needed) < 0.95 * SECONDS * ROWS_PER_SECOND


def test_a_query_whose_answers_another_needs_misses_nothing(dropped: Dropped) -> None:
    assert dropped.gaps("tumbling") == []
    assert _answers(dropped, "tumbling", "total") == _answers(dropped, "exact", "total")


def test_a_query_beside_is_answered_from_a_sample_of_all_rows_those_of_dropped_windows_too(dropped: Dropped) -> None:
    """Its rows are those of `sliding`, whose windows are dropped."""
    values = np.asarray(dropped.table["v"])
    rate = sampling_rate_of(CODE)
    truths = {"n": (values > 50).sum(), "total": values[values > 50].sum()}
    for aggregate, truth in truths.items():
        rows = [row for row in dropped.collected.rows("sampled") if row.aggregate == aggregate and row.rows_used]
        assert len(rows) == SECONDS // 20
        assert all(row.sampling_rate == pytest.approx(rate) and not row.exact for row in rows)
        estimated, error = (sum(getattr(row, name) or 0.0 for row in rows) for name in ("value", "standard_error"))
        assert abs(estimated - truth) <= 3 * error


def test_rows_that_no_kept_window_needs_do_not_go_to_functions(dropped: Dropped) -> None:
    """But the few of a micro-batch for which windows were not decided on yet."""
    seen, gaps = Counter(dropped.judged), set(dropped.gaps("largest"))
    needed = {number for number in range(SECONDS * ROWS_PER_SECOND) if at(float(number // ROWS_PER_SECOND)) not in gaps}
    assert set(seen) >= needed
    assert max(seen.values()) == 1
    assert len(seen) <= len(needed) + 2 * ROWS_PER_SECOND


def test_the_journal_counts_gaps(dropped: Dropped) -> None:
    assert dropped.journal.gaps.sum() == sum(len(dropped.gaps(query)) for query in (*EXPECTED, *BY_GROUP))
    assert json.loads(json.dumps(dropped.journal.kept_shares.iloc[2])) == {
        "sliding": 0.4,
        "grouped": 0.2,
        "largest": 0.5,
        "by_group": 0.6,
        "by_g": 0.3,
    }
