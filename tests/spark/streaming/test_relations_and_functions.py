"""Stored relations that are replaced, and user functions, while a stream runs; answers kept in memory."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import Any

import pandas as pd
import pyarrow as pa
import pytest
from pyspark.sql import SparkSession

from streamshed.network.network import QueryNetwork, network
from streamshed.network.relation import relation
from streamshed.network.sources import folder
from streamshed.network.stream import stream
from streamshed.spark.sinks import memory_sink
from tests.spark.streaming.files import at, timed_values, write_parquet
from tests.spark.streaming.harness import QUICK, finish, wait_for_micro_batch

VIEW = "answers_about_relations"
REPLACED_AFTER = 2
FILES = 4
LARGE = 2**60 + 1


@dataclass(frozen=True)
class Seen:
    """What the view in memory holds, and the rows that the user function was handed."""

    view: list[dict[str, Any]]
    handed: list[int]

    def values(self, query: str, aggregate: str) -> dict[datetime, Any]:
        rows = [row for row in self.view if (row["query"], row["aggregate"]) == (query, aggregate)]
        return dict(sorted((row["window_start"], row["value"]) for row in rows))


@pytest.fixture(scope="module")
def seen(spark: SparkSession, tmp_path_factory: pytest.TempPathFactory) -> Seen:
    path = tmp_path_factory.mktemp("relations")
    _write_relation(path, keys=[1, 2], labels=["one", "two"])
    for number in range(REPLACED_AFTER):
        _write_file(path, number)
    run = _network(path).start(
        spark, checkpoint=str(path / "checkpoint"), sink=memory_sink(VIEW), advisory=True, **QUICK
    )
    with run:
        wait_for_micro_batch(run, REPLACED_AFTER)
        _write_relation(path, keys=[2, 3, 4], labels=["zwei", "drei", "vier"])
        for number in range(REPLACED_AFTER, FILES):
            _write_file(path, number)
        wait_for_micro_batch(run, run.status().micro_batch_id + FILES - REPLACED_AFTER + 2)
        finish(run, FILES)
    view = spark.table(f"global_temp.{VIEW}").toArrow().to_pylist()
    handed = [int(value) for value in (path / "handed").read_text().split()]
    return Seen(view, handed)


def _write_relation(path: Path, keys: list[int], labels: list[str]) -> None:
    write_parquet(path / "labels.parquet", pa.table({"k": pa.array(keys, pa.int64()), "label": labels}))


def _write_file(path: Path, number: int) -> None:
    """Ten seconds, one row each of the values 0 to 9."""
    write_parquet(
        path / "in" / f"{number}.parquet", timed_values([number * 10.0 + v for v in range(10)], list(range(10)))
    )


def _network(path: Path) -> QueryNetwork:
    log = str(path / "handed")

    def squared(values: pd.Series) -> pd.Series:
        with Path(log).open("a") as handed:
            handed.write("".join(f"{value}\n" for value in values))
        return values * values + LARGE

    events = stream("events", folder(path / "in", "parquet", max_files_per_micro_batch=1), time="ts")
    labels = relation("labels", path / "labels.parquet")
    tumbling = "10 seconds"
    return network(
        events.lookup(labels, on={"v": "k"}).window(tumbling).by("label").agg(n="count(*)").query("labeled"),
        events.semijoin(labels, on={"v": "k"}).window(tumbling).agg(n="count(*)", total="sum(v)").query("known"),
        events.semijoin(labels, on={"v": "k"}, negate=True).window(tumbling).agg(n="count(*)").query("unknown"),
        events.filter("v >= 7")
        .apply(squared, columns=["v"], into="square", returns="bigint")
        .window(tumbling)
        .agg(total="sum(square)")
        .query("squares"),
    )


def test_a_relation_is_read_again_when_its_file_was_replaced(seen: Seen) -> None:
    assert list(seen.values("known", "n").values()) == [2, 2, 3, 3]
    assert list(seen.values("known", "total").values()) == [3, 3, 9, 9]
    assert list(seen.values("unknown", "n").values()) == [8, 8, 7, 7]
    labels = {(row["window_start"], row["key"][0]) for row in seen.view if row["query"] == "labeled"}
    before = {(at(start), label) for start in (0, 10) for label in ("one", "two")}
    after = {(at(start), label) for start in (20, 30) for label in ("zwei", "drei", "vier")}
    assert labels == before | after


def test_a_user_function_is_handed_only_rows_that_reach_it(seen: Seen) -> None:
    assert sorted(seen.handed) == sorted([7, 8, 9] * FILES)
    totals = {row["value_text"] for row in seen.view if row["query"] == "squares"}
    assert totals == {str(49 + 64 + 81 + 3 * LARGE)}, "whole numbers keep their digits"


def test_the_view_in_memory_holds_all_answers_in_order(seen: Seen) -> None:
    numbers = [row["micro_batch_id"] for row in seen.view]
    assert numbers == sorted(numbers)
    assert {row["kind"] for row in seen.view} == {"answer"}
    assert list(seen.values("known", "n")) == [at(start) for start in (0, 10, 20, 30)]
