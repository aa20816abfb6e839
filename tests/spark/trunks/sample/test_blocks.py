"""Blocks that are left unread: the same ones after a kill, and answers that tell how far off they may be for it.

Of Parquet files, and of text, where stretches of a file are blocks.
"""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Iterable
from functools import cache, cached_property
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
from pyarrow import parquet
from pyspark.sql import SparkSession
from pyspark.sql import functions as F
from scipy.stats import t

from streamshed.columnar.text_rows import BLOCK_BYTES
from streamshed.network.model.query import Query
from streamshed.network.source.sources import FileFormat
from streamshed.network.terms.join_shedding import COHORTS
from streamshed.planning.place.block_cut import BlockCut
from streamshed.planning.tree.quantization import sampling_rate_of
from streamshed.spark.checkpoint.storage import Storage
from streamshed.spark.loop.learned_files import LOOP_FILE
from streamshed.statistics.design_effects import design_effects
from tests.spark.event_times import instants, seconds_of
from tests.spark.harness import Found
from tests.spark.trunks.checks import (
    test_no_row_is_late,  # noqa: F401
    test_what_is_delivered_is_exact_and_the_rest_are_gaps,  # noqa: F401
)
from tests.spark.trunks.inputs import STEP, Input
from tests.spark.trunks.outcome import Outcome
from tests.spark.trunks.sample import CODES, CONFIDENCE, SHED_STEPS
from tests.spark.trunks.sample.events import STEP_SECONDS, STEPS
from tests.spark.trunks.scenario import Scenario, Setting, Shed
from tests.spark.trunks.windows_of_duckdb import ExactWindows

BLOCKS, ROWS_EACH = 100, 60
READ = (1.0, 0.5, 0.25, 0.3, 1.0)
"""By step, the share of its rows that is to be read: more than that of the rows that are in a sample."""
WIDTHS = (1, 1, 1, 2, 1)
"""By step, how many neighboring blocks are read together."""
GOLDEN = np.uint64(11400714819323198485)
"""2⁶⁴ ÷ the golden ratio, 1.618..."""
LEAST_COHORTS = 8
"""With rows in fewer of them, nobody knows how many there are in blocks that were not read."""
STREAMS = ("blocks", "stretches")
QUERIES: dict[str, Callable[[np.ndarray], np.ndarray]] = {
    "all": lambda values: values > 0,
    "few": lambda values: values > 120,
    "grouped": lambda values: values > 0,
}
TOLERANT = "blocks_largest"
"""Keeps no windows while blocks are left unread."""
LEVEL = 10
"""Rows of a group are of values that have as many tens: a few of the blocks have nearly all of them."""
WINDOW_SECONDS = 30
PADDING_LETTERS = BLOCK_BYTES // ROWS_EACH - 60
"""Lines are so long that about as many are in a block."""


def _rows() -> list[pa.Table]:
    """Each block has rows of the whole step; its values are near one another."""
    size, chance = BLOCKS * ROWS_EACH, np.random.default_rng(8)
    levels = np.repeat(chance.normal(100.0, 20.0, BLOCKS), ROWS_EACH).clip(min=30)
    return [
        pa.table(
            {
                "ts": instants(step * STEP_SECONDS + chance.random(size) * (STEP_SECONDS - 0.01)),
                "v": (levels + chance.normal(0.0, 5.0, size)).astype(np.int64),
            }
        )
        for step in range(STEPS)
    ]


def _write_lines(path: Path, rows: pa.Table) -> None:
    """Of each tenth line tasks are not sure, as what it has might be a number that is too long: Spark reads it."""
    lines = [
        json.dumps(
            {"ts": row["ts"].isoformat(), "v": row["v"], "padding": ("x" if index % 10 else ".") * PADDING_LETTERS}
        )
        for index, row in enumerate(rows.to_pylist())
    ]
    path.write_text("".join(f"{line}\n" for line in lines))


SETTINGS = {"time": "ts", "watermark": "61 seconds"}
INPUTS = (
    Input(
        name="blocks",
        steps=_rows,
        write=lambda path, rows: parquet.write_table(rows, path, row_group_size=ROWS_EACH),
        schema="ts timestamp, v bigint",
        settings=SETTINGS,
    ),
    Input(
        name="stretches",
        steps=_rows,
        write=_write_lines,
        format=FileFormat.JSON,
        schema="ts timestamp, v bigint",
        settings=SETTINGS,
    ),
)


def _queries(setting: Setting) -> Iterable[Query]:
    calls = {"n": "count(*)", "total": "sum(v)", "mean": "avg(v)"}
    for stream in STREAMS:
        rows = setting[stream]
        yield rows.window(f"{WINDOW_SECONDS} seconds").agg(**calls).query(f"{stream}_all")
        yield rows.filter("v > 120").window(f"{WINDOW_SECONDS} seconds").agg(**calls).query(f"{stream}_few")
        grouped = rows.window(f"{WINDOW_SECONDS} seconds").by(level=f"v div {LEVEL}")
        yield grouped.agg(**calls).query(f"{stream}_grouped")
    tolerant = setting["blocks"].window(f"{WINDOW_SECONDS} seconds").agg(top="max(v)")
    yield tolerant.query(TOLERANT, mode="subset", max_gap=STEPS * STEP_SECONDS // WINDOW_SECONDS)


SCENARIO = Scenario(
    queries=_queries,
    inputs=INPUTS,
    shed=lambda step: Shed(
        codes={f"{stream}_{query}": CODES[step] for stream in STREAMS for query in QUERIES},
        # While the tolerant query keeps windows, all of its blocks are read, whatever share is asked for.
        read_shares=dict.fromkeys(STREAMS, READ[step]) if READ[step] < 1 else {"blocks": 0.5},
        bundle_widths=dict.fromkeys(STREAMS, WIDTHS[step]),
        kept_shares={TOLERANT: 0.0} if READ[step] < 1 else {},
    ),
    exact={TOLERANT: ExactWindows(aggregate="top", call="max(v)", size=WINDOW_SECONDS, stream="blocks")},
)


def _cuts(outcome: Outcome, stream: str) -> dict[int, BlockCut | None]:
    """By step, what the plan says."""
    plans = outcome.plans()
    return {step: plans[number].streams[stream].blocks for step, number in outcome.readers(stream).items()}


@pytest.mark.parametrize("stream", STREAMS)
def test_just_more_rows_are_read_than_was_asked(outcome: Outcome, stream: str) -> None:
    for step, cut in _cuts(outcome, stream).items():
        assert (cut is None) == (READ[step] == 1)
        assert cut is None or READ[step] <= cut.share < READ[step] + 1.5 * WIDTHS[step] / BLOCKS


def test_windows_of_which_blocks_are_not_read_are_gaps(outcome: Outcome) -> None:
    """So are those that are open then. Of the others, every row is read."""
    steps = {int(seconds_of(start)) // STEP_SECONDS for start in outcome.gaps(TOLERANT)}
    assert steps >= {step for step, share in enumerate(READ) if share < 1}
    assert STEPS - 1 not in steps


class Kept:
    """The rows that are to be kept of each step, by what plain Spark hashes files, blocks and rows to."""

    def __init__(self, outcome: Outcome, stream: str, spark: SparkSession) -> None:
        self._cuts, rows = _cuts(outcome, stream), outcome.table(stream)
        self.steps = np.asarray(rows[STEP])
        self.values = np.asarray(rows["v"], np.float64)
        self.seconds = np.asarray(rows["ts"].cast("int64")) / 1e6
        folder, is_text = outcome.cast.path / "in" / stream, stream == "stretches"
        files = [folder / f"{step:03}.{'json' if is_text else 'parquet'}" for step in range(STEPS)]
        numbers = [_starts(file) if is_text else np.arange(BLOCKS * ROWS_EACH) for file in files]
        each = BLOCK_BYTES if is_text else ROWS_EACH
        places = pd.DataFrame(
            {
                "path": np.repeat([str(file) for file in files], [*map(len, numbers)]),
                "number": np.concatenate(numbers),
                "block": np.concatenate([number // each for number in numbers]),
            }
        )
        row = F.xxhash64(F.lit(stream), F.concat(F.lit("file://"), "path"), "number")
        uniform = F.shiftrightunsigned(row, 11) * F.lit(2.0**-53)
        self._of_rows = spark.createDataFrame(places).select(uniform.alias("row")).toPandas().row.to_numpy()
        readers = outcome.readers(stream)
        numbers_read = spark.createDataFrame([(step, readers[step]) for step in range(STEPS)], "step int, number long")
        first = F.xxhash64(F.lit(f"{stream} block"), "number").alias("first")
        firsts: dict[int, int] = dict(numbers_read.select("step", first).toPandas().itertuples(index=False))
        of_steps = np.array([firsts[step] for step in range(STEPS)], np.int64).view(np.uint64)[self.steps]
        bundles = places.block.to_numpy() // np.array(WIDTHS)[self.steps]
        self._of_blocks = ((of_steps + bundles.astype(np.uint64) * GOLDEN) >> np.uint64(11)) * 2.0**-53

    @cached_property
    def epoch(self) -> float:
        return float(self.seconds.min() - self.seconds.min() % STEP_SECONDS)

    @cache  # noqa: B019 - it lives as long as the module's tests
    def of(self, step: int) -> tuple[np.ndarray, np.ndarray]:
        """Which rows of a step are kept, and the cohort of each row, as far as its block is read."""
        cut, is_here = self._cuts[step], self.steps == step
        if cut is None:
            return is_here, np.zeros(len(self.steps), np.int64)
        is_read = self._of_blocks < cut.limits[-1]
        below = np.sum([self._of_blocks >= limit for limit in cut.limits], axis=0)
        rate = sampling_rate_of(CODES[step])
        return is_here & is_read & (self._of_rows * cut.share < rate), (below + cut.turn) % COHORTS


def _starts(file: Path) -> np.ndarray:
    """Where each line of a file begins."""
    lengths = [len(line) for line in file.read_bytes().splitlines(keepends=True)]
    return np.cumsum([0, *lengths[:-1]])


@pytest.fixture(scope="module")
def kept(outcome: Outcome, spark: SparkSession) -> dict[str, Kept]:
    return {stream: Kept(outcome, stream, spark) for stream in STREAMS}


def _step(row: Found) -> int:
    return int(seconds_of(row.window_start)) // STEP_SECONDS


@pytest.mark.parametrize("stream", STREAMS)
@pytest.mark.parametrize("query", QUERIES)
def test_answers_are_of_the_rows_that_were_to_be_kept(
    outcome: Outcome, kept: dict[str, Kept], stream: str, query: str
) -> None:
    answers, rows = outcome.rows(f"{stream}_{query}"), kept[stream]
    assert len({(row.window_start, *row.key, row.aggregate) for row in answers}) == len(answers)
    windows = np.floor((rows.seconds - rows.epoch) / WINDOW_SECONDS)
    is_kept = np.logical_or.reduce([rows.of(step)[0] for step in range(STEPS)]) & QUERIES[query](rows.values)
    groups = rows.values // LEVEL if query == "grouped" else np.zeros(len(windows))
    assert len(answers) == 3 * len(set(zip(windows[is_kept].tolist(), groups[is_kept].tolist(), strict=True)))
    for row in answers:
        step, start = _step(row), rows.epoch + seconds_of(row.window_start)
        is_kept, cohorts = rows.of(step)
        is_inside = (rows.seconds >= start) & (rows.seconds < start + WINDOW_SECONDS)
        chosen = is_kept & is_inside & QUERIES[query](rows.values)
        chosen &= groups == int(row.key[0] or 0) if row.key else True
        values, rate = rows.values[chosen], sampling_rate_of(CODES[step])
        assert row.rows_used == len(values)
        # Of lines nobody knows the times before they are read: windows beside those that were shed may be touched.
        assert row.exact == (step not in SHED_STEPS) or (stream == "stretches" and not row.exact)
        estimates = {"n": len(values) / rate, "total": values.sum() / rate, "mean": values.mean()}
        assert row.value == pytest.approx(estimates[str(row.aggregate)])
        if step in SHED_STEPS:
            _check_bounds(row, values, cohorts[chosen], rate)


def _check_bounds(row: Found, values: np.ndarray, cohorts: np.ndarray, rate: float) -> None:
    """V = K/(K − 1)·(1 − P)·Σ(Z_k − mean Z)², of an average over N²."""
    mean = values.mean()
    brought = {"n": np.ones(len(values)), "total": values, "mean": values - mean}[str(row.aggregate)]
    sums = np.bincount(cohorts, brought, COHORTS) / rate
    variance = COHORTS / (COHORTS - 1) * (1 - rate) * ((sums - sums.mean()) ** 2).sum()
    error = math.sqrt(variance) / (len(values) / rate if row.aggregate == "mean" else 1.0)
    count = len(set(cohorts.tolist()))
    assert row.low or count == COHORTS
    if count < LEAST_COHORTS:
        assert (row.upper, row.standard_error) == (None, None)
        assert row.lower == (len(values) if row.aggregate == "n" else None)
        return
    assert row.standard_error == pytest.approx(error, rel=1e-4)  # sums of cohorts have 24 binary digits
    assert row.value is not None
    assert row.upper is not None
    assert row.upper - row.value == pytest.approx(t.ppf(0.5 + CONFIDENCE / 2, count - 1) * error, rel=1e-4)


@pytest.mark.parametrize("stream", STREAMS)
def test_bounds_are_far_wider_than_if_rows_had_been_drawn(outcome: Outcome, stream: str) -> None:
    """The values of a block are near one another."""
    answers = outcome.rows(f"{stream}_all")
    means = [row for row in answers if row.aggregate == "mean" and _step(row) in SHED_STEPS]
    assert len(means) == 2 * len(SHED_STEPS)
    assert all(row.standard_error > 20.0 / math.sqrt(row.rows_used) * 1.2 for row in means if row.standard_error)


def test_rows_that_were_not_read_count_as_offered(outcome: Outcome) -> None:
    """Those of text are not counted: there are about as many to a byte as of those that were read."""
    journal = outcome.journal.set_index("micro_batch_id")
    all_rows = outcome.rows_of_files_by_micro_batch()
    for step in SHED_STEPS:
        number = outcome.readers("stretches")[step]
        if number in journal.index:
            assert journal.offered_rows[number] == pytest.approx(all_rows[number], rel=0.02)


@pytest.mark.parametrize("stream", STREAMS)
def test_it_is_learned_how_much_blocks_differ(outcome: Outcome, stream: str) -> None:
    """So many times as large is the variance of counts and totals where blocks are drawn, as where rows are."""
    learned = _learned(outcome)["block_spreads"]
    file = outcome.cast.path / "in" / stream / ("000.json" if stream == "stretches" else "000.parquet")
    numbers = _starts(file) // BLOCK_BYTES if stream == "stretches" else np.arange(BLOCKS * ROWS_EACH) // ROWS_EACH
    values = np.asarray(outcome.table(stream)["v"], np.float64)[: len(numbers)]
    of_blocks = of_rows = 0.0
    for name, passes in QUERIES.items():
        counts = passes(values).astype(np.float64)
        groups = values // LEVEL if name == "grouped" else np.zeros(len(values))
        for brought in (counts, values * counts):
            for group in np.unique(groups):
                totals = np.bincount(numbers, brought * (groups == group))
                of_blocks += len(totals) * totals.var(ddof=1) / brought.sum() ** 2
            of_rows += (brought**2).sum() / brought.sum() ** 2
    assert design_effects(learned)[stream] == pytest.approx(of_blocks / of_rows, rel=0.25)
    assert of_blocks > 3 * of_rows


def test_the_clocks_of_tasks_tell_what_rows_cost(outcome: Outcome) -> None:
    """They run only while tasks are at work: all of them together took no longer than the micro-batches.

    Of lines, Spark reads each tenth: what that takes no task knows.
    """
    task_seconds = _learned(outcome)["task_seconds"]
    assert {*task_seconds} & {*STREAMS} == {"blocks"}
    times = task_seconds["blocks"]
    assert min(times["read_rows"], times["work_rows"]) > 1_000
    assert 0 < times["read_seconds"] + times["work_seconds"] < outcome.journal.processing_seconds.sum()


def _learned(outcome: Outcome) -> dict[str, Any]:
    """What the control loop has written down in the end."""
    text = Storage.at(str(outcome.clock_folder())).read_sealed(LOOP_FILE)
    assert text is not None
    learned: dict[str, Any] = json.loads(text)["learned"]
    return learned
