"""Windows that were dropped stay so when their queries no longer tolerate gaps: no answer is made of what is left."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import duckdb
import numpy as np
import pyarrow as pa
import pytest
from pyspark.sql import SparkSession

from streamshed.network.grouping import Aggregate
from streamshed.network.network import QueryNetwork, network
from streamshed.network.sources import folder
from streamshed.network.stream import stream
from streamshed.planning.window_drop.window_drops import WindowDrops
from tests.spark.streaming.files import EPOCH_MICROSECONDS, seconds_of, write_parquet
from tests.spark.streaming.forced import force_sampling
from tests.spark.streaming.harness import QUICK, Collected, finish, wait_for_micro_batch
from tests.thoroughness import chosen

FILES_BEFORE, FILES, FILE_SECONDS, ROWS_PER_SECOND = 5, 8, 10, 20
SECONDS = FILES * FILE_SECONDS
RESTARTED_AT = FILES_BEFORE * FILE_SECONDS
SCHEMA = "id bigint, ts timestamp, v bigint, g bigint"
TOLERANT: dict[str, Any] = {"mode": "subset", "max_gap": 8}
EXACT: dict[str, Any] = {"mode": "exact"}
GAPLESS: dict[str, Any] = {"mode": "subset", "max_gap": 0}
BY_GROUP: dict[str, Any] = {**TOLERANT, "gaps_by": "group"}

BEFORE = {
    "sliding": TOLERANT,
    "grouped": TOLERANT,
    "by_group": BY_GROUP,
    "nested": TOLERANT,
    "mixed": TOLERANT,
    "whole": EXACT,
}
"""The last two rest on one aggregate, of which one needs all windows."""
AFTER: dict[str, dict[str, dict[str, Any]]] = {
    "none tolerates gaps": {
        **BEFORE,
        "sliding": EXACT,
        "grouped": GAPLESS,
        "by_group": EXACT,
        "nested": EXACT,
        "mixed": EXACT,
    },
    "others tolerate gaps": {**BEFORE, "grouped": EXACT, "by_group": GAPLESS, "nested": GAPLESS},
}
WINDOWS = {"sliding": (20, 5), "grouped": (20, 20), "by_group": (20, 20), "nested": (20, 20), "mixed": (20, 20)}
"""Size and slide, seconds."""

_OF_WINDOWS = f"""
    SELECT k, {{key}} AS key, {{call}} AS value FROM events, range({{first}}, {SECONDS}, {{slide}}) w(k)
    WHERE t >= {EPOCH_MICROSECONDS} + k * 1000000 AND t < {EPOCH_MICROSECONDS} + (k + {{size}}) * 1000000 GROUP BY ALL
"""
_NESTED = f"""
    SELECT w.k, 'all' AS key, sum(value) FROM range(-20, {SECONDS}, 20) w(k), ({{inner}}) i
    WHERE i.k >= w.k AND i.k < w.k + 20 GROUP BY ALL
"""
EXPECTED = {
    "sliding": _OF_WINDOWS.format(key="'all'", call="sum(v)", first=-15, size=20, slide=5),
    "grouped": _OF_WINDOWS.format(key="v % 5", call="sum(v)", first=0, size=20, slide=20),
    "by_group": _OF_WINDOWS.format(key="g", call="sum(v)", first=0, size=20, slide=20),
    "nested": _NESTED.format(inner=_OF_WINDOWS.format(key="g", call="max(id)", first=-2, size=4, slide=2)),
    "mixed": _NESTED.format(inner=_OF_WINDOWS.format(key="g", call="min(id)", first=-2, size=4, slide=2)),
}
EXPECTED["whole"] = EXPECTED["mixed"].replace("sum(value)", "max(value)")


def kept_shares(micro_batch_id: int) -> Mapping[str, float]:
    return {**dict.fromkeys(BEFORE, 0.15), "by_group": 0.4} if micro_batch_id >= 1 else {}


def _network(path: Path, asked: Mapping[str, dict[str, Any]]) -> QueryNetwork:
    source = folder(path / "in", "parquet", schema=SCHEMA, max_files_per_micro_batch=1)
    rows = stream("events", source, time="ts", watermark="2 seconds", identity=["id"])
    short = rows.window("4 seconds", every="2 seconds").by("g")
    largest, least = short.agg(top="max(id)"), short.agg(least="min(id)")
    aggregates: dict[str, Aggregate] = {
        "sliding": rows.window("20 seconds", every="5 seconds").agg(total="sum(v)"),
        "grouped": rows.window("20 seconds").by(five="v % 5").agg(total="sum(v)"),
        "by_group": rows.window("20 seconds").by("g").agg(total="sum(v)"),
        "nested": largest.window("20 seconds").agg(total="sum(top)"),
        "mixed": least.window("20 seconds").agg(total="sum(least)"),
        "whole": least.window("20 seconds").agg(most="max(least)"),
    }
    return network(*[aggregate.query(name, **asked[name]) for name, aggregate in aggregates.items()])


def _table() -> pa.Table:
    ids = np.arange(SECONDS * ROWS_PER_SECOND)
    times = pa.array(EPOCH_MICROSECONDS + ids * 1_000_000 // ROWS_PER_SECOND, pa.timestamp("us", "UTC"))
    return pa.table({"id": ids, "ts": times, "v": (ids * 7919) % 101, "g": ids % 13})


@dataclass(frozen=True)
class Restarted:
    """What two runs over one checkpoint answered, and what was dropped when the second began."""

    collected: Collected
    dropped: WindowDrops
    table: pa.Table

    def starts_open_at_restart(self, query: str, asked: QueryNetwork) -> list[int]:
        """Seconds at which windows start that were dropped in the first run and end after what it saw."""
        size, slide = WINDOWS[query]
        [definition] = [one.definition_id for one in asked.queries if one.name == query]
        parts = [one for part, one in self.dropped.queries.items() if part.split(".")[0] == str(definition)]
        first = EPOCH_MICROSECONDS // 1_000_000 // slide
        starts = {(number - first) * slide for one in parts for number in one.numbers()}
        return sorted(start for start in starts if RESTARTED_AT - size <= start < RESTARTED_AT)

    def gaps(self, query: str) -> dict[int, str | None]:
        rows = self.collected.rows(query, kind="gap")
        found = {round(seconds_of(row.window_start)): row.value_text for row in rows}
        assert len(found) == len(rows), "there are two gaps for a window"
        return found

    def answers(self, query: str) -> dict[tuple[int, tuple[str | None, ...]], float | None]:
        rows = self.collected.rows(query)
        found = {(round(seconds_of(row.window_start)), row.key): row.value for row in rows}
        assert len(found) == len(rows), "a window was answered twice"
        return found

    def expected(self, query: str) -> dict[tuple[int, tuple[str, ...]], float]:
        with duckdb.connect() as database:
            database.register("events", self.table.append_column("t", self.table["ts"].cast(pa.int64())))
            rows = database.execute(EXPECTED[query]).fetchall()
        return {(start, () if key == "all" else (str(key),)): float(value) for start, key, value in rows}


@pytest.fixture(scope="module", params=chosen(AFTER, "others tolerate gaps"))
def restarted(
    request: pytest.FixtureRequest, spark: SparkSession, tmp_path_factory: pytest.TempPathFactory
) -> Restarted:
    path, table, collected = tmp_path_factory.mktemp("restart_dropping"), _table(), Collected()
    settings = {"checkpoint": str(path / "checkpoint"), "sink": collected, **QUICK}

    def write(files: range) -> None:
        size = FILE_SECONDS * ROWS_PER_SECOND
        for number in files:
            write_parquet(path / "in" / f"{number}.parquet", table.slice(number * size, size))

    write(range(FILES_BEFORE))
    with pytest.MonkeyPatch.context() as patch:
        force_sampling(patch, lambda _: {}, kept_shares=kept_shares)
        with _network(path, BEFORE).start(spark, **settings) as run:
            wait_for_micro_batch(run, FILES_BEFORE - 1)
    last = max((path / "checkpoint" / "time" / "plans").glob("*.json"))
    dropped = WindowDrops.from_document(json.loads(last.read_text())["drops"])
    write(range(FILES_BEFORE, FILES))
    # Nothing is shed for want of time, whatever else the machine does.
    run = _network(path, AFTER[request.param]).start(spark, advisory=True, **settings)
    finish(run, int(last.stem) + FILES - FILES_BEFORE)
    return Restarted(collected, dropped, table)


@pytest.mark.parametrize("query", [name for name in WINDOWS if name != "by_group"])
def test_what_was_dropped_is_a_gap_and_all_else_is_exact(restarted: Restarted, query: str, tmp_path: Path) -> None:
    expected, gaps = restarted.expected(query), restarted.gaps(query)
    still_open = restarted.starts_open_at_restart(query, _network(tmp_path, BEFORE))
    assert still_open, "no dropped window was open"
    assert set(still_open) <= gaps.keys()
    found = restarted.answers(query)
    inside = {place: value for place, value in found.items() if place in expected}
    assert inside == {place: value for place, value in expected.items() if place[0] not in gaps}
    assert all(value is None for place, value in found.items() if place not in expected)
    assert all(row.exact for row in restarted.collected.rows(query))


def test_one_that_needs_all_windows_has_them_beside_one_that_drops_some(restarted: Restarted) -> None:
    assert restarted.gaps("whole") == {}
    found = {place: value for place, value in restarted.answers("whole").items() if value is not None}
    assert found == restarted.expected("whole")
    assert all(row.exact for row in restarted.collected.rows("whole"))


def test_groups_whose_windows_were_not_dropped_are_answered(
    restarted: Restarted, spark: SparkSession, tmp_path: Path
) -> None:
    expected, gaps = restarted.expected("by_group"), restarted.gaps("by_group")
    still_open = restarted.starts_open_at_restart("by_group", _network(tmp_path, BEFORE))
    assert still_open, "no dropped window was open"
    assert set(still_open) <= gaps.keys()
    hashed = spark.range(13).selectExpr("id", "xxhash64(id, '') & 15 AS cohort")
    cohorts = {str(row.id): row.cohort for row in hashed.collect()}
    missing = {start: set(json.loads(text)["cohorts"]) for start, text in gaps.items() if text is not None}
    assert missing.keys() == gaps.keys()
    kept = {
        (start, key): value
        for (start, key), value in expected.items()
        if cohorts[key[0]] not in missing.get(start, set())
    }
    assert restarted.answers("by_group") == kept
    assert any(start in still_open for start, _ in kept)
    assert all(row.exact for row in restarted.collected.rows("by_group"))
