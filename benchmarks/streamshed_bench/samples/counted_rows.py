"""Benchmark `counted_rows`: how much nearer sums below a function are when it is known how many rows came to it."""

from __future__ import annotations

import math
import statistics
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

import pandas as pd

from streamshed.network.model.network import QueryNetwork, network
from streamshed.planning.tree.quantization import WHOLE
from streamshed_bench.contract import BenchOptions, BenchResult
from streamshed_bench.inputs.recordings import recording_file
from streamshed_bench.runs.fixed_sampling import FixedSampling
from streamshed_bench.runs.pictures import draw_error_ratios
from streamshed_bench.runs.workplace import Workplace
from streamshed_bench.samples.sampled_totals import (
    Summed,
    Windows,
    over_recordings,
    root_mean_square_error,
    sampled_totals,
    share_that_holds,
    summed_rows,
    true_totals,
)

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

ALL, SOME = "all", "some"
"""The queries: one takes all rows that come to the function, one those whose value is the median at least."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Compared:
    """A query at a sampling rate, without and with counting its rows; its sample has the same rows.

    Args:
        summed: What is summed.
        query: `ALL` or `SOME`.
        sampling_rate: Which share of the rows was kept.
        total_errors: Root mean squares over windows of the error of the total, without and with.
        count_errors: The same of the count.
        expected_ratio: What the plan would say of the second total error ÷ the first.
        holds: How often the truth lay within the bounds of 95 % of the corrected totals.
    """

    summed: str
    query: str
    sampling_rate: float
    total_errors: tuple[float, float]
    count_errors: tuple[float, float]
    expected_ratio: float
    holds: float

    @property
    def error_ratio(self) -> float:
        """The corrected total's error ÷ the other."""
        return self.total_errors[1] / self.total_errors[0]


def judged(values: pd.Series) -> pd.Series:
    """A stand-in for a dear function: its cost does not matter here."""
    return values.astype("float64")


def run(options: BenchOptions) -> BenchResult:
    """Measure what counting rows saves; `options.trace` is the folder of the recordings.

    Raises:
        JavaUnavailableError: There is no Java, or it is too old.
        MissingRecordingsError: No folder is named, or a recording is missing there.
    """
    compared, left_out = over_recordings(options, "counted_rows", _compared)
    return BenchResult(
        figures=figures_of(compared),
        details={"cases": [asdict(one) for one in compared], "left_out": left_out},
        picture=partial(
            draw_error_ratios,
            ratios={(f"{one.summed}, {one.query}", one.sampling_rate): one.error_ratio for one in compared},
            title="Error of sums below a function, rows counted above it",
            against="without counting",
        ),
    )


def figures_of(compared: Sequence[Compared]) -> dict[str, float]:
    """Condense what was measured into the benchmark's figures."""
    figures: dict[str, float] = {}
    for name, query in dict.fromkeys((comparison.summed, comparison.query) for comparison in compared):
        of_query = [comparison for comparison in compared if (comparison.summed, comparison.query) == (name, query)]
        figures[f"{name}_{query}_error_ratio"] = statistics.geometric_mean(
            comparison.error_ratio for comparison in of_query
        )
        figures[f"{name}_{query}_expected_ratio"] = statistics.geometric_mean(
            comparison.expected_ratio for comparison in of_query
        )
    some = [comparison for comparison in compared if comparison.query == SOME]
    figures["count_error_ratio"] = statistics.geometric_mean(
        comparison.count_errors[1] / comparison.count_errors[0] for comparison in some
    )
    figures["coverage_at_95"] = statistics.fmean(comparison.holds for comparison in compared)
    return figures


def _compared(
    spark: SparkSession, place: Workplace, summed: Summed, recordings: Path, name: str, sampling_rate: float
) -> list[Compared]:
    median = _median(summed, recordings)
    conditions = {ALL: "true", SOME: f"{summed.column} >= {median}"}
    recording = recording_file(recordings, summed.recording)
    network_over = partial(_judged_network, summed, name, median)
    scaled, corrected = (
        sampled_totals(spark, place, recording, network_over, FixedSampling(sampling_rate, counting=counting))
        for counting in ({}, dict.fromkeys(conditions, WHOLE))
    )
    return [
        _compared_query(summed, recordings, query, condition, sampling_rate, (scaled[query], corrected[query]))
        for query, condition in conditions.items()
    ]


def _compared_query(
    summed: Summed,
    recordings: Path,
    query: str,
    condition: str,
    sampling_rate: float,
    answers: tuple[Windows, Windows],
) -> Compared:
    truths, moments = true_totals(summed, recordings, condition)
    came, _ = true_totals(summed, recordings)
    passed = _rows(truths) / _rows(came)
    errors = {
        field: tuple(root_mean_square_error(found, truths, field) for found in answers) for field in ("total", "count")
    }
    return Compared(
        summed=summed.name,
        query=query,
        sampling_rate=sampling_rate,
        total_errors=(errors["total"][0], errors["total"][1]),
        count_errors=(errors["count"][0], errors["count"][1]),
        expected_ratio=math.sqrt(1 - passed / moments.relative_square),
        holds=share_that_holds(answers[1], truths),
    )


def _rows(windows: Windows) -> float:
    return sum(found.count for found in windows.values())


def _median(summed: Summed, recordings: Path) -> float:
    import duckdb

    file = recording_file(recordings, summed.recording)
    row = duckdb.execute(f"SELECT median({summed.column}) FROM '{file}' WHERE {summed.condition}").fetchone()
    return float(row[0]) if row else 0.0


def _judged_network(summed: Summed, name: str, median: float, watched: Path) -> QueryNetwork:
    rows = summed_rows(summed, watched, f"rows_{name}")
    judged_rows = rows.apply(judged, columns=[summed.column], into="judged", returns="double")
    taken = {ALL: judged_rows, SOME: judged_rows.filter(f"judged >= {median}")}
    size, calls = f"{summed.window_seconds} seconds", {"count": "count(*)", "total": "sum(judged)"}
    return network(*[chosen.window(size).agg(**calls).query(query) for query, chosen in taken.items()])
