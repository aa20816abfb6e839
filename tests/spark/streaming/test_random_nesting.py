"""Random queries over nested aggregates as streams, rows out of order, windows dropped, against DuckDB."""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from itertools import groupby

import numpy as np
import pyarrow as pa
import pytest
from pyspark.sql import SparkSession

from streamshed.network.network import network
from streamshed.network.query import Query
from streamshed.network.relation import relation
from streamshed.network.sources import folder
from streamshed.network.stream import stream
from tests.spark.exactness.nesting import (
    SECOND,
    AddedKind,
    NestedSpec,
    Place,
    differences,
    expected,
    nested_aggregate,
    random_nesting,
    random_rows,
    sizes,
)
from tests.spark.streaming.files import EPOCH_MICROSECONDS, write_parquet
from tests.spark.streaming.forced import force_sampling
from tests.spark.streaming.harness import QUICK, Collected, Found, finish
from tests.thoroughness import share_of

QUERIES, DEEPEST = share_of(16, least=8), 4
FILES, SECONDS, ROWS = 9, 90, 1512
LATEST_SECONDS = 4
SEED = 7200
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


@dataclass(frozen=True)
class Outcome:
    """What was asked, and what came of it."""

    specs: tuple[NestedSpec, ...]
    asked: Mapping[str, Query]
    rows: pa.Table
    collected: Collected


@pytest.fixture(scope="module")
def outcome(spark: SparkSession, tmp_path_factory: pytest.TempPathFactory) -> Outcome:
    path = tmp_path_factory.mktemp("random_nesting")
    rows = random_rows(SEED, ROWS, SECONDS, EPOCH_MICROSECONDS)
    arrival = np.asarray(rows["ts"].cast(pa.int64())) + np.random.default_rng(SEED).integers(
        0, LATEST_SECONDS * SECOND, ROWS
    )
    arriving = rows.take(pa.array(np.argsort(arrival, kind="stable")))
    for number in range(FILES):
        write_parquet(path / "in" / f"{number}.parquet", arriving.slice(number * ROWS // FILES, ROWS // FILES))
    source = folder(path / "in", "parquet", max_files_per_micro_batch=1)
    events = stream("events", source, time="ts", watermark=f"{LATEST_SECONDS} seconds")
    write_parquet(path / "sizes.parquet", sizes())
    looked_up = relation("sizes", path / "sizes.parquet")
    specs = tuple(random_nesting(f"q{seed}", SEED + seed, 1 + seed % DEEPEST) for seed in range(QUERIES))
    chance, asked = random.Random(SEED), {}
    for spec in specs:
        mode = chance.choice(("subset", "subset", "exact"))
        gap = chance.choice((1, 2, 5, 20)) if mode == "subset" else None
        asked[spec.name] = nested_aggregate(spec, events, looked_up).query(spec.name, mode=mode, max_gap=gap)

    def kept_shares(micro_batch_id: int) -> Mapping[str, float]:
        at_random = random.Random(micro_batch_id)
        return {name: at_random.choice((1.0, 0.5, 0.2, 0.05)) for name in asked}

    collected = Collected()
    with pytest.MonkeyPatch.context() as patch:
        force_sampling(patch, lambda _: {}, kept_shares=kept_shares)
        run = network(*asked.values()).start(spark, checkpoint=str(path / "ours"), sink=collected, **QUICK)
        finish(run, FILES - 1)
    return Outcome(specs, asked, rows, collected)


def _gaps(outcome: Outcome, query: str) -> set[int]:
    starts = Counter(_start(row) for row in outcome.collected.rows(query, kind="gap"))
    assert not starts or max(starts.values()) == 1, query
    return set(starts)


def test_every_answer_delivered_is_equal_and_every_other_window_is_a_gap(outcome: Outcome) -> None:
    found = []
    for spec in outcome.specs:
        gaps = _gaps(outcome, spec.name)
        rows = [row for row in outcome.collected.rows(spec.name) if row.rows_used or row.key]
        told: dict[Place, float | None] = {(_start(row), row.key, row.aggregate or ""): row.value for row in rows}
        assert len(told) == len(rows), f"{spec.name}: a window was answered twice"
        assert all(row.exact for row in rows)
        truth = {place: value for place, value in expected(spec, outcome.rows).items() if place[0] not in gaps}
        counted = {place: value for place, value in told.items() if place in truth or value}
        found += [f"{spec}: {one}" for one in differences(counted, truth)[:3]]
    assert not found, "\n".join(found[:10])


def test_queries_of_all_depths_drop_windows(outcome: Outcome) -> None:
    depths = {len(spec.levels) for spec in outcome.specs if _gaps(outcome, spec.name)}
    assert depths == set(range(1, DEEPEST + 1))
    tolerant = {name for name, query in outcome.asked.items() if query.gap_windows}
    assert {name for name in outcome.asked if _gaps(outcome, name)} <= tolerant


def test_windows_are_dropped_of_queries_with_maps_lookups_and_functions_between_aggregates(outcome: Outcome) -> None:
    dropping = [spec for spec in outcome.specs if _gaps(outcome, spec.name)]
    between = [level.added.kind for spec in dropping for level in spec.levels[1:] if level.added is not None]
    assert set(between) == set(AddedKind)


def test_no_gap_is_longer_than_allowed(outcome: Outcome) -> None:
    for spec in outcome.specs:
        slide, offset = spec.windows[-1][1] * SECOND, spec.windows[-1][2] * SECOND
        numbers = sorted((start - offset) // slide for start in _gaps(outcome, spec.name))
        runs = [len(list(run)) for _, run in groupby(enumerate(numbers), key=lambda pair: pair[1] - pair[0])]
        assert max(runs, default=0) <= outcome.asked[spec.name].gap_windows, spec.name


def _start(row: Found) -> int:
    return (row.window_start - _EPOCH) // timedelta(microseconds=1)
