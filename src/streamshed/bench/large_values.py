"""Benchmark `large_values`: how much nearer sums are whose large values are kept likelier, from as many rows."""

from __future__ import annotations

import math
import statistics
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import product
from pathlib import Path
from typing import TYPE_CHECKING

from streamshed.bench.contract import BenchOptions, BenchResult
from streamshed.bench.pictures import draw_large_values
from streamshed.bench.recorded_run import run_recording
from streamshed.bench.recordings import recording_file, recordings_folder
from streamshed.bench.workplace import Workplace, bench_session, workplace
from streamshed.network.aggregate import AggregateKind
from streamshed.network.network import QueryNetwork, network
from streamshed.network.sources import folder
from streamshed.network.stream import stream
from streamshed.planning.large_values import SizedSampling, lifted_spread, sizes_of
from streamshed.planning.query_rates import SizedRate
from streamshed.statistics.network_statistics import Moments

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, Row, SparkSession

SAMPLING_RATES = (0.2, 0.1, 0.05, 0.02)
_QUICK_SAMPLING_RATES = (0.1,)


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


@dataclass(frozen=True, slots=True, kw_only=True)
class Compared:
    """A sum at a sampling rate, rows all alike and chosen by size.

    Args:
        summed: What.
        sampling_rate: Which share of the rows was to be kept.
        total_errors: Root mean squares over windows of the error of the total ÷ Σ|v| of a mean window, (alike, sized).
        count_errors: The same of the count, ÷ a mean count.
        rows: Rows kept.
        expected_ratio: What the plan would say of the second total error ÷ the first.
        holds: How often the truth lay within the bounds of 95 % of the sized totals that have any.
    """

    summed: str
    sampling_rate: float
    total_errors: tuple[float, float]
    count_errors: tuple[float, float]
    rows: tuple[int, int]
    expected_ratio: float
    holds: float

    @property
    def error_ratio(self) -> float:
        """The sized error ÷ the other, as if as many rows had been kept."""
        alike, sized = self.total_errors
        return sized / alike * math.sqrt(self.rows[1] / self.rows[0])


def run(options: BenchOptions) -> BenchResult:
    """Measure what choosing rows by size saves; `options.trace` is the folder of the recordings.

    Raises:
        JavaUnavailableError: There is no Java, or it is too old.
        MissingRecordingsError: No folder is named, or a recording is missing there.
    """
    recordings = recordings_folder(options, {summed.recording for summed in SUMS})
    sampling_rates = _QUICK_SAMPLING_RATES if options.quick else SAMPLING_RATES
    cases = list(product(SUMS, sampling_rates))
    compared = []
    with workplace() as place, bench_session("large_values") as spark:
        for number, (summed, sampling_rate) in enumerate(cases):
            options.progress(f"{summed.name} at {sampling_rate:g}", number / len(cases))
            compared.append(_compared(spark, place, summed, recordings, f"{options.seed}_{number}", sampling_rate))
    return BenchResult(
        figures=figures_of(compared),
        details={
            "cases": [
                {
                    "summed": one.summed,
                    "sampling_rate": one.sampling_rate,
                    "total_errors": list(one.total_errors),
                    "count_errors": list(one.count_errors),
                    "rows": list(one.rows),
                    "expected_ratio": one.expected_ratio,
                    "holds": one.holds,
                }
                for one in compared
            ],
            "left_out": [f"sampling rate {one:g}" for one in SAMPLING_RATES if one not in sampling_rates],
        },
        picture=partial(
            draw_large_values, ratios={(one.summed, one.sampling_rate): one.error_ratio for one in compared}
        ),
    )


def figures_of(compared: Sequence[Compared]) -> dict[str, float]:
    """Condense what was measured into the benchmark's figures."""
    figures: dict[str, float] = {}
    for name in dict.fromkeys(one.summed for one in compared):
        own = [one for one in compared if one.summed == name]
        figures[f"{name}_error_ratio"] = statistics.geometric_mean(one.error_ratio for one in own)
        figures[f"{name}_expected_ratio"] = statistics.geometric_mean(one.expected_ratio for one in own)
        figures[f"{name}_count_error_ratio"] = statistics.geometric_mean(
            one.count_errors[1] / one.count_errors[0] for one in own
        )
    figures["rows_ratio"] = statistics.geometric_mean(one.rows[1] / one.rows[0] for one in compared)
    figures["coverage_at_95"] = statistics.fmean(one.holds for one in compared)
    return figures


def _compared(
    spark: SparkSession, place: Workplace, summed: Summed, recordings: Path, name: str, sampling_rate: float
) -> Compared:
    truths, moments = _true(summed, recordings)
    sizes = sizes_of(moments)
    if sizes is None:
        raise ValueError(f"{summed.name}: its values are all alike")
    sampling = SizedSampling(column=summed.column, sizes=sizes)
    sized = SizedRate(column=summed.column, threshold=sampling.threshold, code=sizes.base_code(sampling_rate))
    alike = _answers(spark, place, summed, recordings, f"alike_{name}", sampling_rate, {})
    by_size = _answers(spark, place, summed, recordings, f"sized_{name}", sampling_rate, {"asked": sized})
    held = [
        found.lower <= truths[start].total <= found.upper
        for start, found in by_size.items()
        if start in truths and found.lower <= found.upper
    ]
    spread = lifted_spread(sizes, AggregateKind.SUM, moments)
    return Compared(
        summed=summed.name,
        sampling_rate=sampling_rate,
        total_errors=(_error(alike, truths, "total"), _error(by_size, truths, "total")),
        count_errors=(_error(alike, truths, "count"), _error(by_size, truths, "count")),
        rows=(sum(found.rows for found in alike.values()), sum(found.rows for found in by_size.values())),
        expected_ratio=math.sqrt(spread / moments.relative_square),
        holds=statistics.fmean(held),
    )


def _error(answers: Windows, truths: Windows, field: str) -> float:
    squares = [
        (getattr(found, field) - getattr(truths[start], field)) ** 2
        for start, found in answers.items()
        if start in truths
    ]
    return math.sqrt(statistics.fmean(squares))


def _true(summed: Summed, recordings: Path) -> tuple[dict[int, Answer], Moments]:
    """The true answers, and what is known of the values, by DuckDB."""
    import duckdb

    column, rows = summed.column, f"'{recording_file(recordings, summed.recording)}' WHERE {summed.condition}"
    start = f"CAST(floor(epoch(ts) / {summed.window_seconds}) AS BIGINT) * {summed.window_seconds}"
    found = duckdb.execute(
        f"SELECT {start} AS start, count(*), CAST(sum({column}) AS DOUBLE) FROM {rows} GROUP BY ALL"
    ).fetchall()
    known = duckdb.execute(f"SELECT avg({column}), stddev_pop({column}), avg(abs({column})) FROM {rows}").fetchone()
    if known is None:
        raise ValueError(f"{summed.name}: there are no rows")
    mean, deviation, size = known
    truths = {begin: Answer(count=count, total=total) for begin, count, total in found}
    return truths, Moments(mean=mean, deviation=deviation, size=size)


def _asked(summed: Summed, watched: Path, name: str) -> QueryNetwork:
    rows = stream(name, folder(str(watched), "parquet", schema=summed.columns), time="ts", watermark="1 second")
    windows = rows.filter(summed.condition).window(f"{summed.window_seconds} seconds")
    return network(windows.agg(count="count(*)", total=f"sum({summed.column})").query("asked"))


def _answers(
    spark: SparkSession,
    place: Workplace,
    summed: Summed,
    recordings: Path,
    name: str,
    sampling_rate: float,
    sized: Mapping[str, SizedRate],
) -> dict[int, Answer]:
    """What was answered of each window, by the second at which it starts."""
    found: dict[int, dict[str, Row]] = {}

    def take(frame: DataFrame, _: int) -> None:
        for row in frame.where("kind = 'answer'").collect():
            found.setdefault(round(row.window_start.timestamp()), {})[row.aggregate] = row

    run_recording(
        lambda watched: _asked(summed, watched, name),
        spark,
        place,
        recording_file(recordings, summed.recording),
        take,
        sampling_rate=sampling_rate,
        sized=sized,
    )
    return {start: _answer(told["count"], told["total"]) for start, told in found.items()}


def _answer(count: Row, total: Row) -> Answer:
    lower, upper = (math.nan if bound is None else bound for bound in (total.lower, total.upper))
    return Answer(count=count.value, total=total.value or 0.0, lower=lower, upper=upper, rows=count.rows_used)
