"""Killed at the worst moments and started again: no answer lost, none given twice, the same rows shed."""

from __future__ import annotations

import shutil
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from pyspark.sql import SparkSession

from streamshed.spark.sinks import parquet_sink
from tests.spark.streaming.files import at, seconds_of, write_parquet
from tests.spark.streaming.harness import finish
from tests.spark.streaming.killed_program import CODES, MAX_GAP, run_it
from tests.spark.streaming.killing import kill, rows_of

FILES = 7
FILE_SECONDS = 10
ROWS_PER_SECOND = 20
UNREADABLE_PER_FILE = 2
PLACE = ("kind", "query", "window_start", "window_end", "window_from", "key", "aggregate")


@dataclass(frozen=True)
class Killed:
    """A network killed twice, and one with the same plans that was not: answers, and rows set aside."""

    answers: list[dict[str, Any]]
    set_aside: list[dict[str, Any]]
    unhurt_answers: list[dict[str, Any]]
    unhurt_set_aside: list[dict[str, Any]]


def _write_files(path: Path) -> None:
    for number in range(FILES):
        count = FILE_SECONDS * ROWS_PER_SECOND
        seconds = [number * FILE_SECONDS + index / ROWS_PER_SECOND for index in range(count)]
        instants = [at(second) for second in seconds] + [None] * UNREADABLE_PER_FILE
        values = [index * 13 % 10 for index in range(count + UNREADABLE_PER_FILE)]
        table = pa.table({"ts": pa.array(instants, pa.timestamp("us", "UTC")), "v": pa.array(values, pa.int64())})
        write_parquet(path / "in" / f"{number}.parquet", table)


@pytest.fixture(scope="module")
def killed(spark: SparkSession, tmp_path_factory: pytest.TempPathFactory) -> Killed:
    path = tmp_path_factory.mktemp("killed")
    _write_files(path)
    kill(path, "all", 2, "written")
    kill(path, "all", 4, "unwritten")
    finish(run_it(spark, path, path / "checkpoint", parquet_sink(str(path / "answers"))), FILES)
    plans = path / "unhurt" / "time" / "plans"
    shutil.copytree(path / "checkpoint" / "time" / "plans", plans)
    finish(run_it(spark, path, path / "unhurt", parquet_sink(str(path / "unhurt answers"))), FILES)
    return Killed(
        rows_of(path / "answers"),
        rows_of(path / "checkpoint" / "time" / "set_aside"),
        rows_of(path / "unhurt answers"),
        rows_of(path / "unhurt" / "time" / "set_aside"),
    )


def _place(row: dict[str, Any]) -> tuple[Any, ...]:
    return tuple(tuple(row[name] or ()) if name == "key" else row[name] for name in PLACE)


def test_no_answer_is_given_twice(killed: Killed) -> None:
    places = Counter(_place(row) for row in killed.answers if row["kind"] == "answer")
    assert max(places.values()) == 1


def test_no_answer_is_lost(killed: Killed) -> None:
    answered = {row["window_start"] for row in killed.answers if row["query"] == "sliding"}
    assert answered == {at(start) for start in range(-10, FILES * FILE_SECONDS, 5)}


def test_windows_of_rows_are_whole_and_given_once(killed: Killed) -> None:
    """Their rows are numbered in state: one that were lost, or taken in twice, would move all that follow."""
    counts = [row for row in killed.answers if (row["query"], row["aggregate"]) == ("last_rows", "n")]
    of_group = FILES * FILE_SECONDS * ROWS_PER_SECOND // 10
    assert sorted((int(row["key"][0]), row["window_from"], row["value"]) for row in counts) == [
        (group, start, min(start + 30, of_group) - max(start, 0))
        for group in range(10)
        for start in range(-20, of_group, 10)
    ]
    assert all(row["exact"] for row in killed.answers if row["query"] == "last_rows")
    totals = [row for row in killed.answers if (row["query"], row["aggregate"]) == ("last_rows", "total")]
    assert {(row["key"][0], row["value"] / row["rows_used"]) for row in totals} == {(str(v), v) for v in range(10)}


def test_states_of_ones_own_hold_each_row_once_and_in_order(killed: Killed) -> None:
    rows = [row for row in killed.answers if row["query"] == "in_order"]
    assert all(row["exact"] for row in rows)
    told = {(row["aggregate"], seconds_of(row["window_start"])): row["value_text"] for row in rows}
    assert len(told) == len(rows)
    values = [index * 13 % 10 for index in range(FILE_SECONDS * ROWS_PER_SECOND)] * FILES
    starts = [float(start) for start in range(-10, FILES * FILE_SECONDS, 5)]
    for start in starts:
        first, until = (round(max(second, 0.0) * ROWS_PER_SECOND) for second in (start, start + 15))
        assert told["told", start] == repr(values[first:until])
    assert {told["merges", start] for start in starts[2:-2]} == {"2"}
    assert len(told) == 2 * len(starts)


def test_the_same_rows_are_shed_as_if_nothing_had_happened(killed: Killed) -> None:
    def comparable(rows: list[dict[str, Any]]) -> Counter[str]:
        return Counter(repr(sorted(row.items())) for row in rows)

    assert comparable(killed.answers) == comparable(killed.unhurt_answers)
    sampled = [row for row in killed.answers if row["kind"] != "gap" and not row["exact"]]
    assert len(sampled) > 50


@pytest.mark.parametrize(("query", "slide"), [("missing", 2), ("missing_by_v", 1), ("missing_nested", 2)])
def test_each_window_is_answered_or_a_gap_once(killed: Killed, query: str, slide: int) -> None:
    own = [row for row in killed.answers if row["query"] == query]
    answered = {row["window_start"] for row in own if row["kind"] == "answer"}
    gaps = [row["window_start"] for row in own if row["kind"] == "gap"]
    assert max(Counter(gaps).values()) == 1
    assert not answered & set(gaps)
    everything = {at(start) for start in range(0, FILES * FILE_SECONDS, slide)}
    assert everything <= answered | set(gaps)
    assert len(gaps) > 5
    kept = sorted(seconds_of(start) for start in answered)
    assert max(b - a for a, b in pairwise(kept)) <= (MAX_GAP + 1) * slide
    assert all(row["exact"] for row in own if row["kind"] == "answer")


def test_sampled_windows_hold_fewer_rows(killed: Killed) -> None:
    """The kills lie among micro-batches that shed: the comparison above is not of whole windows."""
    assert set(CODES) & {2, 3}
    for row in _sliding_counts(killed):
        shed = [number for number in CODES if _overlaps(row, number)]
        full = 15 * ROWS_PER_SECOND
        begins, ends = seconds_of(row["window_start"]), seconds_of(row["window_end"])
        inside = full - max(-begins, 0, ends - FILES * FILE_SECONDS) * ROWS_PER_SECOND
        assert (row["rows_used"] < inside) == bool(shed)
        assert row["exact"] == (not shed)


def _sliding_counts(killed: Killed) -> Iterator[dict[str, Any]]:
    return (row for row in killed.answers if (row["query"], row["aggregate"]) == ("sliding", "n"))


def _overlaps(row: dict[str, Any], file: int) -> bool:
    begins, ends = seconds_of(row["window_start"]), seconds_of(row["window_end"])
    return begins < (file + 1) * FILE_SECONDS and ends > file * FILE_SECONDS


def test_unreadable_rows_are_set_aside_once(killed: Killed) -> None:
    identities = Counter(row["identity"] for row in killed.set_aside)
    assert max(identities.values()) == 1
    assert identities == Counter(row["identity"] for row in killed.unhurt_set_aside)
    kept_whole = [number for number in range(FILES) if number not in CODES]
    for number in kept_whole:
        mine = [identity for identity in identities if f"/{number}.parquet#" in identity]
        assert len(mine) == UNREADABLE_PER_FILE
    assert {row["reason"] for row in killed.set_aside} == {"event time is null"}
    assert {row["rows"] for row in killed.set_aside} == {1}
