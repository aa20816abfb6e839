"""Benchmark `large_values`: how much nearer sums are whose large values are kept likelier, from as many rows."""

from __future__ import annotations

import math
import statistics
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from streamshed.network.model.network import QueryNetwork, network
from streamshed.network.terms.aggregate import AggregateKind
from streamshed.planning.plan.query_rates import SizedRate
from streamshed.planning.tree.large_values import SizedSampling, lifted_spread, sizes_of
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
    compared, left_out = over_recordings(options, "large_values", _compared)
    return BenchResult(
        figures=figures_of(compared),
        details={"cases": [asdict(one) for one in compared], "left_out": left_out},
        picture=partial(
            draw_error_ratios,
            ratios={(one.summed, one.sampling_rate): one.error_ratio for one in compared},
            title="Error of sums whose large values are kept likelier",
            against="with all rows alike",
        ),
    )


def figures_of(compared: Sequence[Compared]) -> dict[str, float]:
    """Condense what was measured into the benchmark's figures."""
    figures: dict[str, float] = {}
    for name in dict.fromkeys(comparison.summed for comparison in compared):
        of_sum = [comparison for comparison in compared if comparison.summed == name]
        figures[f"{name}_error_ratio"] = statistics.geometric_mean(comparison.error_ratio for comparison in of_sum)
        figures[f"{name}_expected_ratio"] = statistics.geometric_mean(
            comparison.expected_ratio for comparison in of_sum
        )
        figures[f"{name}_count_error_ratio"] = statistics.geometric_mean(
            comparison.count_errors[1] / comparison.count_errors[0] for comparison in of_sum
        )
    figures["rows_ratio"] = statistics.geometric_mean(
        comparison.rows[1] / comparison.rows[0] for comparison in compared
    )
    figures["coverage_at_95"] = statistics.fmean(comparison.holds for comparison in compared)
    return figures


def _compared(
    spark: SparkSession, place: Workplace, summed: Summed, recordings: Path, name: str, sampling_rate: float
) -> list[Compared]:
    truths, moments = true_totals(summed, recordings)
    sizes = sizes_of(moments)
    if sizes is None:
        raise ValueError(f"{summed.name}: its values are all alike")
    sampling = SizedSampling(column=summed.column, sizes=sizes)
    sized = SizedRate(column=summed.column, threshold=sampling.threshold, code=sizes.base_code(sampling_rate))
    recording = recording_file(recordings, summed.recording)

    def answers(kind: str, sized: Mapping[str, SizedRate]) -> Windows:
        network_over = partial(_summed_network, summed, f"{kind}_{name}")
        return sampled_totals(spark, place, recording, network_over, FixedSampling(sampling_rate, sized))["asked"]

    alike, by_size = answers("alike", {}), answers("sized", {"asked": sized})
    spread = lifted_spread(sizes, AggregateKind.SUM, moments)
    compared = Compared(
        summed=summed.name,
        sampling_rate=sampling_rate,
        total_errors=(
            root_mean_square_error(alike, truths, "total"),
            root_mean_square_error(by_size, truths, "total"),
        ),
        count_errors=(
            root_mean_square_error(alike, truths, "count"),
            root_mean_square_error(by_size, truths, "count"),
        ),
        rows=(sum(answer.rows for answer in alike.values()), sum(answer.rows for answer in by_size.values())),
        expected_ratio=math.sqrt(spread / moments.relative_square),
        holds=share_that_holds(by_size, truths),
    )
    return [compared]


def _summed_network(summed: Summed, name: str, watched: Path) -> QueryNetwork:
    windows = summed_rows(summed, watched, name).window(f"{summed.window_seconds} seconds")
    return network(windows.agg(count="count(*)", total=f"sum({summed.column})").query("asked"))
