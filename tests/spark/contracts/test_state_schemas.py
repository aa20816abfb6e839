"""The schema of state keys is the same whatever is asked: Spark refuses state whose key may be null where it could not.

So queries can come and go while a network runs, and across restarts.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import reduce
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import types as T

import streamshed as ss
from streamshed.network.model.query import Query
from streamshed.network.model.rows import Rows
from streamshed.spark.checkpoint.state_layout import StateLayout
from streamshed.spark.compile import compiled_network
from streamshed.spark.compile.compiled_network import compiled_partials, needed_layout
from streamshed.spark.domain_draft import DomainDraft
from streamshed.spark.windows.slice_partials import SLICE_KEY
from streamshed.spark.windows.watermarked_rows import watermarked_rows
from streamshed.spark.windows.window_partials import WINDOW_KEY

COLUMNS = "timestamp timestamp, value bigint"
KEYS = {"slice_partials": SLICE_KEY, "window_partials": WINDOW_KEY}


def one_class(events: Rows) -> list[Query]:
    return [events.window("10 seconds").agg(n="count(*)", total="sum(value)").query("all")]


def a_filter(events: Rows) -> list[Query]:
    return [events.filter("value > 3").window("10 seconds", every="5 seconds").agg(n="count(*)").query("some")]


def by_key(events: Rows) -> list[Query]:
    return [events.window("10 seconds").by("value").agg(total="sum(value * 0.5)").query("by_key")]


def several_classes(events: Rows) -> list[Query]:
    return [*one_class(events), *a_filter(events), *by_key(events)]


def windows_that_may_be_dropped(events: Rows) -> list[Query]:
    return [events.window("10 seconds").by("value").agg(most="max(value)").query("most", mode="subset", max_gap=3)]


def dropped_by_group(events: Rows) -> list[Query]:
    grouped = events.window("10 seconds").by("value").agg(most="max(value)")
    return [grouped.query("most", mode="subset", max_gap=3, gaps_by="group")]


def of_rows_that_are_never_sampled(events: Rows) -> list[Query]:
    return [events.window("10 seconds").agg(n="count(*)").query("all", mode="exact")]


NETWORKS = (
    one_class,
    a_filter,
    by_key,
    several_classes,
    windows_that_may_be_dropped,
    dropped_by_group,
    of_rows_that_are_never_sampled,
)


def of_files(path: Path) -> Rows:
    return ss.stream("events", ss.folder(str(path), "json", schema=COLUMNS), time="timestamp", watermark="1 second")


def of_rows_that_can_always_be_read(_path: Path) -> Rows:
    return ss.stream("events", ss.rate(10), time="timestamp", watermark="1 second")


@pytest.mark.parametrize("source", [of_files, of_rows_that_can_always_be_read])
def test_keys_are_the_same_for_all_networks(
    spark: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, source: Callable[[Path], Rows]
) -> None:
    events = source(tmp_path)
    drafts = [_draft(spark, asked(events)) for asked in NETWORKS]
    families = {family for draft in drafts for family in needed_layout(draft.compiled).families}
    layout = reduce(lambda reserved, family: reserved.extended(family), sorted(families), StateLayout())
    keys = {
        asked.__name__: _keys(spark, draft, layout, monkeypatch) for asked, draft in zip(NETWORKS, drafts, strict=True)
    }
    first = keys["one_class"]
    assert {asked: fields for asked, fields in keys.items() if fields != first} == {}, first


def _draft(spark: SparkSession, queries: list[Query]) -> DomainDraft:
    network = ss.network(*queries)
    return DomainDraft.of(network, network.time_domains[0], spark)


def _keys(
    spark: SparkSession, draft: DomainDraft, layout: StateLayout, monkeypatch: pytest.MonkeyPatch
) -> dict[str, list[T.StructField]]:
    """The fields of each stage's key, as Spark sees them."""
    fields: dict[str, list[T.StructField]] = {}
    with monkeypatch.context() as patch:
        for stage, key in KEYS.items():
            patch.setattr(compiled_network, stage, _noted(getattr(compiled_network, stage), key, stage, fields))
        classes = [sharing_class for work in draft.works.values() for sharing_class in work.classes]
        compiled_partials(draft.compiled, watermarked_rows(spark, draft.compiled.streams, layout), classes, layout)
    assert fields.keys() == KEYS.keys()
    return fields


def _noted(
    stage: Callable[..., DataFrame], key: tuple[str, ...], name: str, fields: dict[str, list[T.StructField]]
) -> Callable[..., DataFrame]:
    def noted(*arguments: Any, **settings: Any) -> DataFrame:
        partials = stage(*arguments, **settings)
        schema = partials.schema
        fields[name] = [T.StructField(column, schema[column].dataType, schema[column].nullable) for column in key]
        return partials

    return noted
