"""Benchmark `coverage`: how often the bounds of sampled answers hold, on recorded streams."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from functools import partial
from itertools import product
from pathlib import Path
from typing import TYPE_CHECKING

from streamshed_bench.contract import BenchOptions, BenchResult
from streamshed_bench.inputs.recordings import recordings_folder
from streamshed_bench.runs.fixed_sampling import FixedSampling
from streamshed_bench.runs.pictures import draw_coverage
from streamshed_bench.runs.recorded_run import run_recording
from streamshed_bench.runs.workplace import Workplace, bench_session, workplace
from streamshed_bench.samples.coverage_data import RECORDINGS, Place, Recording, asked_of, true_answers
from streamshed_bench.samples.coverage_figures import CONFIDENCES, Judged, by_cell, figures_of, shares_of

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

SAMPLING_RATES = (0.5, 0.2, 0.1, 0.05, 0.02, 0.01)
_QUICK_SAMPLING_RATES = (0.2, 0.02)


@dataclass(frozen=True, slots=True, kw_only=True)
class Bounds:
    """What a sampled answer says of how far off it may be.

    Args:
        lower: Lower bound; None: there is none.
        upper: Upper bound, likewise.
        is_low: Whether the answer is flagged.
    """

    lower: float | None
    upper: float | None
    is_low: bool


def run(options: BenchOptions) -> BenchResult:
    """Measure coverage; `options.trace` is the folder of the recordings.

    Raises:
        JavaUnavailableError: There is no Java, or it is too old.
        MissingRecordingsError: No folder is named, or a recording is missing there.
    """
    recordings = recordings_folder(options, {recording.name for recording in RECORDINGS})
    sampling_rates = _QUICK_SAMPLING_RATES if options.quick else SAMPLING_RATES
    judged: list[Judged] = []
    with workplace() as place, bench_session("coverage") as spark:
        cases = list(product(RECORDINGS, sampling_rates, CONFIDENCES))
        truths = {recording.name: true_answers(recording, recordings) for recording in RECORDINGS}
        for number, (recording, sampling_rate, confidence) in enumerate(cases):
            options.progress(f"{recording.name} at {sampling_rate:g}", number / len(cases))
            stream = f"{recording.name}_{options.seed}_{number}"
            answers = _answers(spark, place, recording, recordings, stream, sampling_rate, confidence)
            judged += judged_answers(recording, sampling_rate, confidence, answers, truths[recording.name])
    return BenchResult(
        figures=figures_of(judged),
        details={
            "by_cell": by_cell(judged),
            "left_out": [f"sampling rate {one:g}" for one in SAMPLING_RATES if one not in sampling_rates],
        },
        picture=partial(draw_coverage, shares=shares_of(judged)),
    )


def _answers(
    spark: SparkSession,
    place: Workplace,
    recording: Recording,
    recordings: Path,
    stream: str,
    sampling_rate: float,
    confidence: float,
) -> dict[Place, Bounds]:
    """Bounds of every answer that was sampled and closed."""
    bounds: dict[Place, Bounds] = {}

    def take(frame: DataFrame, _: int) -> None:
        rows = frame.where("kind = 'answer' AND NOT exact").selectExpr(
            "aggregate",
            "coalesce(get(key, 0), '') AS group",
            "unix_seconds(window_start) AS start",
            "lower",
            "upper",
            "low",
        )
        for row in rows.collect():
            bounds[row.aggregate, row.group, row.start] = Bounds(lower=row.lower, upper=row.upper, is_low=row.low)

    run_recording(
        lambda watched: asked_of(recording, watched, stream),
        spark,
        place,
        recording.file(recordings),
        take,
        sampling=FixedSampling(sampling_rate),
        confidence=confidence,
    )
    return bounds


def judged_answers(
    recording: Recording,
    sampling_rate: float,
    confidence: float,
    answers: Mapping[Place, Bounds],
    truths: Mapping[Place, float],
) -> list[Judged]:
    """Judge the sampled answers of one run.

    Args:
        recording: Of which stream.
        sampling_rate: At which rate its rows were kept.
        confidence: Of the bounds.
        answers: Bounds of the answers; without bounds are also those of windows that truly have no value, and these
            are left out.
        truths: The true answers.
    """
    judged = []
    for place, bounds in answers.items():
        lower, upper = (math.nan if bound is None else bound for bound in (bounds.lower, bounds.upper))
        is_bounded = lower <= upper
        if not is_bounded and place not in truths:
            continue
        truth = truths[place]
        judged.append(
            Judged(
                recording=recording.name,
                aggregate=place[0],
                sampling_rate=sampling_rate,
                confidence=confidence,
                is_low=bounds.is_low,
                is_bounded=is_bounded,
                holds=lower - 1e-9 * abs(truth) <= truth <= upper + 1e-9 * abs(truth),
                half_width=(upper - lower) / 2 / abs(truth) if truth else math.nan,
                overlap=recording.size_seconds / recording.slide_seconds,
            )
        )
    return judged
