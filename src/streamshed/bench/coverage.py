"""Benchmark `coverage`: how often the bounds of sampled answers hold, on recorded streams."""

from __future__ import annotations

import statistics
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from streamshed.bench.contract import BenchOptions, BenchResult
from streamshed.bench.coverage_data import RECORDINGS, Place, Recording, asked_of, true_answers
from streamshed.bench.errors import MissingRecordingsError
from streamshed.bench.pictures import draw_coverage
from streamshed.bench.workplace import Workplace, bench_session, workplace

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

SAMPLING_RATES = (0.5, 0.2, 0.1, 0.05, 0.02, 0.01)
_QUICK_RATES = (0.2, 0.02)
CONFIDENCES = (0.95, 0.99)
_DEFAULT_FOLDER = Path("../shared/data")


@dataclass(frozen=True, slots=True, kw_only=True)
class Judged:
    """A sampled answer beside the true one.

    Args:
        recording: Of which stream.
        aggregate: Which aggregate.
        sampling_rate: At which rate its rows were kept.
        confidence: Of its bounds.
        is_low: Whether it is flagged.
        holds: Whether the truth is within its bounds.
        half_width: Half the width of its bounds, by the truth; NaN where the truth is 0.
    """

    recording: str
    aggregate: str
    sampling_rate: float
    confidence: float
    is_low: bool
    holds: bool
    half_width: float


def run(options: BenchOptions) -> BenchResult:
    """Measure coverage; `options.trace` is the folder of the recordings.

    Raises:
        JavaUnavailableError: There is no Java, or it is too old.
        MissingRecordingsError: A recording is missing.
    """
    data = _DEFAULT_FOLDER if options.trace is None else Path(options.trace)
    missing = [str(recording.file(data)) for recording in RECORDINGS if not recording.file(data).exists()]
    if missing:
        raise MissingRecordingsError(
            f"the recordings {', '.join(missing)} are missing: name the folder that holds them by --trace"
        )
    rates = _QUICK_RATES if options.quick else SAMPLING_RATES
    judged: list[Judged] = []
    with workplace() as place, bench_session("coverage") as spark:
        cases = [(one, rate, confidence) for one in RECORDINGS for rate in rates for confidence in CONFIDENCES]
        truths = {recording.name: true_answers(recording, data) for recording in RECORDINGS}
        for number, (recording, rate, confidence) in enumerate(cases):
            options.progress(f"{recording.name} at {rate:g}", number / len(cases))
            stream = f"{recording.name}_{options.seed}_{number}"
            answers = _answers(spark, place, recording, data, stream, rate, confidence)
            judged += _judged(recording, rate, confidence, answers, truths[recording.name])
    return BenchResult(
        figures=figures_of(judged),
        details={
            "by_case": _by_case(judged),
            "left_out": [f"sampling rate {rate:g}" for rate in SAMPLING_RATES if rate not in rates],
        },
        picture=partial(draw_coverage, shares=_shares(judged)),
    )


def figures_of(judged: Sequence[Judged]) -> dict[str, float]:
    """Condense what was measured into the benchmark's figures."""
    first = CONFIDENCES[0]
    of_first = [one for one in judged if one.confidence == first]
    return {
        **{f"coverage_at_{round(100 * c)}": _coverage(judged, c) for c in CONFIDENCES},
        "answers": float(len(of_first)),
        "low_share": statistics.fmean(one.is_low for one in of_first),
        "low_coverage_at_95": statistics.fmean(one.holds for one in of_first if one.is_low),
        "median_half_width": statistics.median(one.half_width for one in of_first if not one.is_low),
    }


def _coverage(judged: Sequence[Judged], confidence: float) -> float:
    return statistics.fmean(one.holds for one in judged if one.confidence == confidence and not one.is_low)


def _answers(
    spark: SparkSession,
    place: Workplace,
    recording: Recording,
    data: Path,
    stream: str,
    sampling_rate: float,
    confidence: float,
) -> dict[Place, tuple[float, float, bool]]:
    """Bounds, and whether they are flagged, of every answer that was sampled and closed."""
    from streamshed.spark import each_micro_batch
    from streamshed.spark.fixed_plan import start_fixed

    watched = place.new("recording")
    watched.mkdir()
    (watched / "rows.parquet").symlink_to(recording.file(data).resolve())
    found: dict[Place, tuple[float, float, bool]] = {}

    def take(frame: DataFrame, _: int) -> None:
        rows = frame.where("kind = 'answer' AND NOT exact AND lower IS NOT NULL").selectExpr(
            "aggregate",
            "coalesce(get(key, 0), '') AS group",
            "unix_seconds(window_start) AS start",
            "lower",
            "upper",
            "low",
        )
        for row in rows.collect():
            found[row.aggregate, row.group, row.start] = (row.lower, row.upper, row.low)

    query = start_fixed(
        asked_of(recording, watched, stream),
        spark,
        checkpoint=str(place.new("checkpoint")),
        sink=each_micro_batch(take),
        sampling_rate=sampling_rate,
        confidence=confidence,
    )
    try:
        query.processAllAvailable()
    finally:
        query.stop()
    return found


def _judged(
    recording: Recording,
    sampling_rate: float,
    confidence: float,
    answers: Mapping[Place, tuple[float, float, bool]],
    truths: Mapping[Place, float],
) -> list[Judged]:
    judged = []
    for place, (lower, upper, is_low) in answers.items():
        truth = truths[place]
        judged.append(
            Judged(
                recording=recording.name,
                aggregate=place[0],
                sampling_rate=sampling_rate,
                confidence=confidence,
                is_low=is_low,
                holds=lower - 1e-9 * abs(truth) <= truth <= upper + 1e-9 * abs(truth),
                half_width=(upper - lower) / 2 / abs(truth) if truth else float("nan"),
            )
        )
    return judged


def _shares(judged: Sequence[Judged]) -> dict[tuple[str, float], float]:
    """Coverage at the first confidence, by recording and sampling rate."""
    cases: dict[tuple[str, float], list[bool]] = {}
    for one in judged:
        if one.confidence == CONFIDENCES[0] and not one.is_low:
            cases.setdefault((one.recording, one.sampling_rate), []).append(one.holds)
    return {case: statistics.fmean(holds) for case, holds in cases.items()}


def _by_case(judged: Sequence[Judged]) -> list[dict[str, object]]:
    cases: dict[tuple[str, str, float, float], list[Judged]] = {}
    for one in judged:
        cases.setdefault((one.recording, one.aggregate, one.sampling_rate, one.confidence), []).append(one)
    return [
        {
            "recording": recording,
            "aggregate": aggregate,
            "sampling_rate": sampling_rate,
            "confidence": confidence,
            "answers": len(of_case),
            "low": sum(one.is_low for one in of_case),
            "hold": sum(one.holds for one in of_case if not one.is_low),
            "low_hold": sum(one.holds for one in of_case if one.is_low),
        }
        for (recording, aggregate, sampling_rate, confidence), of_case in cases.items()
    ]
