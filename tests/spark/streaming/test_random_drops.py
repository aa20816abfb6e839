"""Random networks whose windows are dropped, rows out of order and late, against the same queries natively."""

from __future__ import annotations

import json
import random
from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from datetime import timedelta
from itertools import groupby
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from streamshed.errors import InvalidNetworkError
from streamshed.network.network import network
from streamshed.network.query import AnswerMode, Query
from tests.spark.exactness.build import build_query, build_relations
from tests.spark.exactness.comparison import Answer, first_difference, key_expected, key_given
from tests.spark.exactness.generator import generate
from tests.spark.exactness.oracle import Expected, Place
from tests.spark.exactness.specification import QuerySpec
from tests.spark.exactness.tables import EPOCH, make_tables
from tests.spark.streaming.disorder import FILES, Arrivals, arrive, streams_of, write_closing_file
from tests.spark.streaming.files import EPOCH_MICROSECONDS
from tests.spark.streaming.forced import force_sampling
from tests.spark.streaming.harness import QUICK, Collected, Found, finish
from tests.spark.streaming.native import native_answers
from tests.thoroughness import thorough

pytestmark = thorough

NETWORKS = 8
FIRST_SEED = 7000
ROWS = {"events": 260, "others": 180}
MODES = ("subset", "subset", "subset", "exact", "approximate")


@dataclass(frozen=True)
class Outcome:
    """What the networks' queries answered, natively and here."""

    queries: tuple[QuerySpec, ...]
    asked: Mapping[str, Query]
    collected: Collected
    native: dict[str, dict[Place, Expected]]

    @property
    def tolerant(self) -> Iterator[QuerySpec]:
        return (query for query in self.queries if self.asked[query.name].gap_windows > 0)


@pytest.fixture(scope="module")
def outcome(spark: SparkSession, tmp_path_factory: pytest.TempPathFactory) -> Outcome:
    path = tmp_path_factory.mktemp("random_drops")
    arrivals = arrive(make_tables(FIRST_SEED, ROWS, path), FIRST_SEED, path)
    specs = [generate(seed, list(ROWS)) for seed in range(FIRST_SEED, FIRST_SEED + NETWORKS)]
    queries = tuple(query for spec in specs for query in spec.queries if query.window is not None)
    collected = Collected()
    asked = _run(queries, arrivals, spark, path, collected)
    for name, where in arrivals.folders.items():
        write_closing_file(where, arrivals.tables.streams[name].schema)
    originals = [query for query in queries if not query.name.endswith("_twin")]
    relations = {name: spark.createDataFrame(stored.table) for name, stored in arrivals.tables.relations.items()}
    native = native_answers(spark, originals, arrivals.folders, relations, path / "native")
    told = {query.name: native[query.name.removesuffix("_twin")] for query in queries}
    return Outcome(queries, asked, collected, told)


def _run(
    queries: tuple[QuerySpec, ...], arrivals: Arrivals, spark: SparkSession, path: Path, collected: Collected
) -> Mapping[str, Query]:
    streams = streams_of(arrivals)
    relations = build_relations(arrivals.tables, spark)
    chance = random.Random(FIRST_SEED)
    asked = {}
    for query in queries:
        built = build_query(query, streams, relations)
        mode, gap = chance.choice(MODES), chance.choice((1, 2, 5, 20))
        assert built.aggregate is not None
        max_gap = gap if mode == "subset" else None
        by = "group" if mode == "subset" and query.keys else "window"
        try:
            asked[query.name] = built.aggregate.query(query.name, mode=mode, max_gap=max_gap, gaps_by=by)
        except InvalidNetworkError:
            assert by == "group"
            asked[query.name] = built.aggregate.query(query.name, mode=mode, max_gap=max_gap)

    def kept_shares(micro_batch_id: int) -> Mapping[str, float]:
        at_random = random.Random(micro_batch_id)
        return {name: at_random.choice((1.0, 0.5, 0.2, 0.05)) for name in asked}

    with pytest.MonkeyPatch.context() as patch:
        force_sampling(patch, lambda _: dict.fromkeys(asked, 0), kept_shares=kept_shares)
        whole = network(*asked.values())
        run = whole.start(spark, checkpoint=str(path / "ours"), sink=collected, unscalable="keep", **QUICK)
        finish(run, FILES)
    return asked


def _gaps(outcome: Outcome, query: str) -> set[int]:
    starts = Counter(_start(row) for row in outcome.collected.rows(query, kind="gap"))
    assert not starts or max(starts.values()) == 1, query
    return set(starts)


def _cohorts(outcome: Outcome, query: str) -> dict[int, frozenset[int]]:
    """By window that was dropped for some groups only, their cohorts."""
    return {
        _start(row): frozenset(json.loads(row.value_text)["cohorts"])
        for row in outcome.collected.rows(query, kind="gap")
        if row.value_text is not None
    }


def test_every_answer_delivered_is_equal_and_every_other_window_is_a_gap(outcome: Outcome) -> None:
    differences = []
    for query in outcome.queries:
        some = _cohorts(outcome, query.name)
        gaps = _gaps(outcome, query.name) - set(some)
        rows = [_comparable(row) for row in outcome.collected.rows(query.name)]
        assert not gaps & {row.window_start for row in rows}, query.name
        delivered = {(row.window_start, key_given(query, row.key)) for row in rows}
        native = {
            place: told
            for place, told in outcome.native[query.name].items()
            if place.window_start not in gaps
            and (place.window_start not in some or (place.window_start, key_expected(query, place.key)) in delivered)
        }
        told = [row for row in rows if query.keys or _place(row) in native]
        difference = first_difference(query, told, native)
        if difference is not None:
            differences.append(f"{query.name}: {difference}\n    {query}")
    assert not differences, "\n".join(differences[:10])


def test_groups_miss_windows_that_gaps_say_their_cohort_misses_and_no_others(outcome: Outcome) -> None:
    """Of the cohorts that a group may belong to one is left: it missed all that the group did, and nothing else."""
    grouped = 0
    for query in outcome.tolerant:
        some = _cohorts(outcome, query.name)
        delivered = {(_start(row), key_given(query, row.key)) for row in outcome.collected.rows(query.name)}
        groups: dict[tuple[str | None, ...], frozenset[int]] = {}
        for place in outcome.native[query.name] if some else ():
            if place.window_start in some:
                told = some[place.window_start]
                key = key_expected(query, place.key)
                may_be = told if (place.window_start, key) not in delivered else frozenset(range(16)) - told
                groups[key] = groups.get(key, frozenset(range(16))) & may_be
        assert all(groups.values()), query.name
        grouped += len(groups)
    assert grouped > 50


def test_windows_of_most_queries_that_tolerate_gaps_are_dropped_and_of_no_others(outcome: Outcome) -> None:
    tolerant = {query.name for query in outcome.tolerant}
    dropping = {query.name for query in outcome.queries if _gaps(outcome, query.name)}
    assert dropping <= tolerant
    assert len(dropping) > len(tolerant) / 2 > 5
    modes = {outcome.asked[name].mode for name in outcome.asked}
    assert modes == set(AnswerMode)


def test_no_gap_is_longer_than_allowed(outcome: Outcome) -> None:
    for query in outcome.tolerant:
        window = outcome.asked[query.name].aggregate
        assert window is not None
        slide = window.over.slide_microseconds
        some, gaps = _cohorts(outcome, query.name), _gaps(outcome, query.name)
        for cohort in range(16):
            numbers = sorted(start // slide for start in gaps if start not in some or cohort in some[start])
            runs = [len(list(run)) for _, run in groupby(enumerate(numbers), key=lambda pair: pair[1] - pair[0])]
            assert max(runs, default=0) <= outcome.asked[query.name].gap_windows, query.name


def test_what_is_delivered_is_exact(outcome: Outcome) -> None:
    for row in outcome.collected.rows():
        assert (row.exact, row.sampling_rate, row.reason) == (True, 1.0, None)


def _start(row: Found) -> int:
    return EPOCH_MICROSECONDS + (row.window_start - EPOCH) // timedelta(microseconds=1)


def _comparable(row: Found) -> Answer:
    return Answer(_start(row), row.key, row.aggregate or "", row.value, row.value_text, row.rows_used)


def _place(answer: Answer) -> Place:
    return Place(answer.window_start, answer.key, answer.aggregate)
