"""Sums over windows of recorded streams, from samples and in truth: what ways to sample are compared by."""

from __future__ import annotations

import math
import statistics
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import product
from pathlib import Path
from typing import TYPE_CHECKING, TypeVar

from streamshed.network.model.declared_stream import stream
from streamshed.network.model.network import QueryNetwork
from streamshed.network.model.rows import Rows
from streamshed.network.source.sources import folder
from streamshed.statistics.network_statistics import Moments
from streamshed_bench.contract import BenchOptions
from streamshed_bench.inputs.recordings import recording_file, recordings_folder
from streamshed_bench.runs.fixed_sampling import FixedSampling
from streamshed_bench.runs.recorded_run import run_recording
from streamshed_bench.runs.workplace import Workplace, bench_session, workplace

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, Row, SparkSession

_SAMPLING_RATES = (0.2, 0.1, 0.05, 0.02)
_QUICK_SAMPLING_RATES = (0.1,)

Outcome = TypeVar("Outcome")


@dataclass(frozen=True, slots=True, kw_only=True)
class Summed:
    """Values that are summed.

    Args:
        name: Of the figures.
        recording: Name of the folder and of the file in it.
        column: What is summed.
        columns: What is read.
        condition: Which rows are taken.
        window_seconds: In tumbling windows of this size.
    """

    name: str
    recording: str
    column: str
    columns: str
    condition: str
    window_seconds: int


SUMS: tuple[Summed, ...] = (
    Summed(
        name="packets",
        recording="packets",
        column="size",
        columns="ts timestamp, size int, proto smallint",
        condition="proto = 6",
        window_seconds=30,
    ),
    Summed(
        name="fares",
        recording="fares",
        column="total_amount",
        columns="ts timestamp, total_amount double",
        condition="total_amount > 0",
        window_seconds=3600,
    ),
    Summed(
        name="tolls",
        recording="fares",
        column="tolls_amount",
        columns="ts timestamp, tolls_amount double",
        condition="tolls_amount >= 0",
        window_seconds=3600,
    ),
    Summed(
        name="wiki_edits",
        recording="wiki_edits",
        column="delta",
        columns="ts timestamp, delta bigint",
        condition="delta IS NOT NULL",
        window_seconds=1200,
    ),
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Answer:
    """What was answered of a window, or is true of it.

    Args:
        count: Of its rows.
        total: Of their values.
        lower: Bound of the total; NaN: there is none.
        upper: Likewise.
        rows: That it rests on.
    """

    count: float
    total: float
    lower: float = math.nan
    upper: float = math.nan
    rows: int = 0


Windows = Mapping[int, Answer]
"""By the second at which it starts."""


Compare = Callable[["SparkSession", Workplace, Summed, Path, str, float], Sequence[Outcome]]
"""(session, place, what is summed, folder of the recordings, name, sampling rate) to what is found."""


def over_recordings(options: BenchOptions, name: str, compare: Compare[Outcome]) -> tuple[list[Outcome], list[str]]:
    """Compare ways to sample for all that is summed, at all sampling rates.

    Args:
        options: Of the benchmark; its trace is the folder of the recordings.
        name: Of the benchmark.
        compare: How.

    Returns:
        What was found, and what was left out.

    Raises:
        JavaUnavailableError: There is no Java, or it is too old.
        MissingRecordingsError: No folder is named, or a recording is missing there.
    """
    recordings = recordings_folder(options, {summed.recording for summed in SUMS})
    sampling_rates = _QUICK_SAMPLING_RATES if options.quick else _SAMPLING_RATES
    cases = list(product(SUMS, sampling_rates))
    comparisons: list[Outcome] = []
    with workplace() as place, bench_session(name) as spark:
        for number, (summed, sampling_rate) in enumerate(cases):
            options.progress(f"{summed.name} at {sampling_rate:g}", number / len(cases))
            comparisons += compare(spark, place, summed, recordings, f"{options.seed}_{number}", sampling_rate)
    return comparisons, [f"sampling rate {one:g}" for one in _SAMPLING_RATES if one not in sampling_rates]


def summed_rows(summed: Summed, watched: Path, name: str) -> Rows:
    """Return the rows whose values are summed.

    Args:
        summed: What.
        watched: The folder that holds the recording.
        name: Of the stream; which rows are in a sample follows from it.
    """
    rows = stream(name, folder(str(watched), "parquet", schema=summed.columns), time="ts", watermark="1 second")
    return rows.filter(summed.condition)


def sampled_totals(
    spark: SparkSession,
    place: Workplace,
    recording: Path,
    network_over: Callable[[Path], QueryNetwork],
    sampling: FixedSampling,
) -> dict[str, dict[int, Answer]]:
    """Answer a network whose queries compute a `count` and a `total`, from samples.

    Args:
        spark: The session.
        place: Where to work.
        recording: The file.
        network_over: The network, given the folder that holds the recording.
        sampling: How rows are sampled.

    Returns:
        By query, and the second at which the window starts.
    """
    rows_by_window: dict[tuple[str, int], dict[str, Row]] = {}

    def take(frame: DataFrame, _: int) -> None:
        for row in frame.where("kind = 'answer'").collect():
            rows_by_window.setdefault((row.query, round(row.window_start.timestamp())), {})[row.aggregate] = row

    run_recording(network_over, spark, place, recording, take, sampling=sampling)
    answers: dict[str, dict[int, Answer]] = {}
    for (query, start), rows in rows_by_window.items():
        answers.setdefault(query, {})[start] = _answer(rows["count"], rows["total"])
    return answers


def _answer(count: Row, total: Row) -> Answer:
    lower, upper = (math.nan if bound is None else bound for bound in (total.lower, total.upper))
    return Answer(count=count.value, total=total.value or 0.0, lower=lower, upper=upper, rows=count.rows_used)


def true_totals(summed: Summed, recordings: Path, condition: str = "true") -> tuple[dict[int, Answer], Moments]:
    """Return the true answers, by the second at which the window starts, and what is known of the values, by DuckDB.

    Args:
        summed: What.
        recordings: The folder of the recordings.
        condition: What rows pass besides.
    """
    import duckdb

    column, file = summed.column, recording_file(recordings, summed.recording)
    rows = f"'{file}' WHERE ({summed.condition}) AND ({condition})"
    start = f"CAST(floor(epoch(ts) / {summed.window_seconds}) AS BIGINT) * {summed.window_seconds}"
    totals = duckdb.execute(
        f"SELECT {start} AS start, count(*), CAST(sum({column}) AS DOUBLE) FROM {rows} GROUP BY ALL"
    ).fetchall()
    moments = duckdb.execute(f"SELECT avg({column}), stddev_pop({column}), avg(abs({column})) FROM {rows}").fetchone()
    if moments is None:
        raise ValueError(f"{summed.name}: there are no rows")
    mean, deviation, size = moments
    truths = {begin: Answer(count=count, total=total) for begin, count, total in totals}
    return truths, Moments(mean=mean, deviation=deviation, size=size)


def root_mean_square_error(answers: Windows, truths: Windows, field: str) -> float:
    """Return that of the windows which are both answered and known."""
    squares = [
        (getattr(answer, field) - getattr(truths[start], field)) ** 2
        for start, answer in answers.items()
        if start in truths
    ]
    return math.sqrt(statistics.fmean(squares))


def share_that_holds(answers: Windows, truths: Windows) -> float:
    """Return how often the truth lies within the bounds of the totals that have any."""
    return statistics.fmean(_held(answers, truths))


def _held(answers: Windows, truths: Windows) -> Iterable[bool]:
    for start, answer in answers.items():
        if start in truths and answer.lower <= answer.upper:
            yield answer.lower <= truths[start].total <= answer.upper
