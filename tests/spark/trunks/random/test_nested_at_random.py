"""Random queries over nested aggregates, rows out of order, windows dropped at random, against DuckDB."""

from __future__ import annotations

import random
from collections.abc import Iterable
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from pyarrow import parquet

from streamshed.network.model.query import AnswerMode, Query
from streamshed.network.model.relation import relation
from tests.spark.event_times import EPOCH_MICROSECONDS, microseconds_of
from tests.spark.exactness.nesting import (
    SECOND,
    AddedKind,
    Place,
    differences,
    expected,
    nested_aggregate,
    random_nesting,
    random_rows,
    sizes,
)
from tests.spark.exactness.tables import SPAN_SECONDS
from tests.spark.trunks.cohorts import longest_run
from tests.spark.trunks.inputs import STEP, Input
from tests.spark.trunks.outcome import Outcome
from tests.spark.trunks.random.arrivals import SETTINGS, STEP_SECONDS, STEPS, last_rows
from tests.spark.trunks.scenario import Scenario, Setting, Shed
from tests.thoroughness import share_of

QUERIES, DEEPEST = share_of(16, least=8), 4
ROWS, LATEST_SECONDS, SEED = 2016, 4, 7200
"""No row comes so late that its windows are closed."""
SHARES = (1.0, 0.5, 0.2, 0.05)
SPECS = tuple(random_nesting(f"q{number}", SEED + number, 1 + number % DEEPEST) for number in range(QUERIES))


def _steps() -> list[pa.Table]:
    rows = random_rows(SEED, ROWS, SPAN_SECONDS, EPOCH_MICROSECONDS)
    delays = np.random.default_rng(SEED).integers(0, LATEST_SECONDS * SECOND, ROWS)
    arrivals = np.asarray(rows["ts"].cast(pa.int64())) - EPOCH_MICROSECONDS + delays
    order = np.argsort(arrivals, kind="stable")
    steps = pa.array(np.minimum(arrivals[order] // (STEP_SECONDS * SECOND), STEPS - 1))
    arriving, ends = rows.take(pa.array(order)), last_rows(rows.schema)
    return [pa.concat_tables([arriving.filter(pc.equal(steps, step)), ends.slice(step, 1)]) for step in range(STEPS)]


def _prepare(folder: Path) -> None:
    parquet.write_table(sizes(), folder / "sizes.parquet")


def _queries(setting: Setting) -> Iterable[Query]:
    looked_up, chance = relation("sizes", setting.folder / "sizes.parquet"), random.Random(SEED)
    for spec in SPECS:
        mode = chance.choice((AnswerMode.SUBSET, AnswerMode.SUBSET, AnswerMode.EXACT))
        gap = chance.choice((1, 2, 5, 20)) if mode is AnswerMode.SUBSET else None
        yield nested_aggregate(spec, setting["numbers"], looked_up).query(spec.name, mode=mode, max_gap=gap)


def _shed(step: int) -> Shed:
    chance = random.Random(step)
    return Shed(kept_shares={spec.name: chance.choice(SHARES) for spec in SPECS})


SCENARIO = Scenario(
    inputs=(Input(name="numbers", steps=_steps, settings=SETTINGS),), prepare=_prepare, queries=_queries, shed=_shed
)


def test_every_answer_delivered_is_equal_and_every_other_window_is_a_gap(outcome: Outcome) -> None:
    all_rows, problems = outcome.table("numbers").drop_columns(STEP), []
    for spec in SPECS:
        gaps = outcome.gap_starts(spec.name)
        rows = [row for row in outcome.rows(spec.name) if row.rows_used or row.key]
        answers: dict[Place, float | None] = {
            (microseconds_of(row.window_start), row.key, row.aggregate or ""): row.value for row in rows
        }
        assert len(answers) == len(rows), f"{spec.name}: a window was answered twice"
        assert all(row.exact for row in rows)
        truth = {place: value for place, value in expected(spec, all_rows).items() if place[0] not in gaps}
        counted = {place: value for place, value in answers.items() if place in truth or value}
        problems += [f"{spec}: {one}" for one in differences(counted, truth)[:3]]
    assert not problems, "\n".join(problems[:10])


def test_queries_of_all_depths_drop_windows(outcome: Outcome) -> None:
    dropping = {spec.name: len(spec.levels) for spec in SPECS if outcome.gap_starts(spec.name)}
    assert set(dropping.values()) == set(range(1, DEEPEST + 1))
    assert dropping.keys() <= _gap_windows(outcome).keys()


def test_windows_are_dropped_of_queries_with_maps_lookups_and_functions_between_aggregates(outcome: Outcome) -> None:
    dropping = [spec for spec in SPECS if outcome.gap_starts(spec.name)]
    between = [level.added.kind for spec in dropping for level in spec.levels[1:] if level.added is not None]
    assert set(between) == set(AddedKind)


def test_no_gap_is_longer_than_allowed(outcome: Outcome) -> None:
    for spec in SPECS:
        slide, offset = spec.windows[-1][1] * SECOND, spec.windows[-1][2] * SECOND
        numbers = {(start - offset) // slide for start in outcome.gap_starts(spec.name)}
        assert longest_run(numbers) <= _gap_windows(outcome).get(spec.name, 0), spec.name


def _gap_windows(outcome: Outcome) -> dict[str, int]:
    """By query that may miss windows, how many in a row."""
    built = {query.name.removeprefix(f"{outcome.prefix}."): query.gap_windows for query in outcome.network.queries}
    return {spec.name: built[spec.name] for spec in SPECS if built[spec.name]}
