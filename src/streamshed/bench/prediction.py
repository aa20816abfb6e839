"""Benchmark `prediction`: dropped windows predicted, against samples of all of them, at equal load ([T06] §6)."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from functools import partial
from pathlib import Path

import numpy as np
import numpy.typing as npt
import pyarrow.parquet as pq
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure

from streamshed.answering.prediction import predict
from streamshed.bench.contract import BenchOptions, BenchResult
from streamshed.bench.recordings import recording_file, recordings_folder
from streamshed.dashboard.png import write_png
from streamshed.network.window import WindowSpecification
from streamshed.planning.window_drop.gap_coin import GapCoin
from streamshed.planning.window_drop.retention import needed_share, unneeded_times

RECORDED = {"fares": "total_amount", "packets": "size"}
"""What is summed of which recording."""

TICKS = 4_000
"""A recording is cut into so many; windows are whole numbers of them."""

BATCHES = (1, 2, 5, 10, 20)
SLIDES = (1, 2, 5, 10, 20, 50, 100)
SIZE, LARGE = 10, 100
"""Windows of the runs over B, and over the slide, in ticks."""

DROP_SHARE = 0.5
_WARM = 0.1
"""The first tenth of the windows tells what predictions are worth, and is not counted."""

_DAY = 86_400_000_000
_LEAST_FULL = 0.1
"""Windows that hold less than this share of what is usual are not judged."""

_COLORS = {"sample": "#c0392b", "linear": "#e08a1e", "local": "#2f6db3"}

Numbers = npt.NDArray[np.float64]


@dataclass(frozen=True, slots=True, kw_only=True)
class Compared:
    """Mean relative errors at equal load, of counts and of sums.

    Args:
        recording: Which.
        batch: B.
        size: ω, ticks.
        slide: δ.
        load: The share of the rows that both work on.
        count_errors: By method: "sample", or a method of predicting what is dropped; what is delivered has none.
        sum_errors: Likewise.
        error_ratio: How far off predictions of `local` are ÷ how far off they are said to be.
    """

    recording: str
    batch: int
    size: int
    slide: int
    load: float
    count_errors: Mapping[str, float]
    sum_errors: Mapping[str, float]
    error_ratio: float


@dataclass(frozen=True, slots=True)
class Recorded:
    """Rows by tick.

    Attributes:
        ticks: Of each row.
        values: Of each row.
    """

    ticks: npt.NDArray[np.int64]
    values: Numbers

    def windows(self, size: int, slide: int, weights: Numbers | None = None) -> tuple[Numbers, Numbers]:
        """Return counts and sums of all whole windows."""
        weighing = np.ones(len(self.ticks)) if weights is None else weights
        ends = np.arange(size, TICKS + 1, slide)
        found = []
        for per_row in (weighing, weighing * self.values):
            total = np.concatenate(([0.0], np.cumsum(np.bincount(self.ticks, per_row, minlength=TICKS))))
            found.append(total[ends] - total[ends - size])
        return found[0], found[1]


def run(options: BenchOptions) -> BenchResult:
    """Compare.

    Raises:
        MissingRecordingsError: `options.trace` names no folder with the recordings.
    """
    folder = recordings_folder(options, RECORDED)
    shapes = [(batch, SIZE, SIZE) for batch in BATCHES] + [(10, LARGE, slide) for slide in SLIDES]
    if options.quick:
        shapes = shapes[::3]
    found = []
    for number, (name, column) in enumerate(RECORDED.items()):
        recorded = read_recorded(recording_file(folder, name), column)
        for place, (batch, size, slide) in enumerate(shapes):
            options.progress(f"{name}, B = {batch}, slide {slide}", (number + place / len(shapes)) / len(RECORDED))
            found.append(compared(name, recorded, batch=batch, size=size, slide=slide, seed=options.seed))
    return BenchResult(
        figures=figures_of(found),
        details={
            "ticks": TICKS,
            "compared": [asdict(one) for one in found],
            "left_out": ["two of three shapes"] if options.quick else [],
        },
        picture=partial(draw_prediction, found=found),
    )


def read_recorded(file: Path, column: str) -> Recorded:
    """Read the fullest day of a recording, or all of it where it is shorter, as rows of ticks."""
    table = pq.read_table(file, columns=["ts", column])
    instants = table.column("ts").cast("int64").to_numpy()
    values = np.nan_to_num(table.column(column).cast("float64").to_numpy())
    order = np.argsort(instants, kind="stable")
    instants, values = instants[order], np.maximum(values[order], 0.0)
    rows = np.searchsorted(instants, instants + _DAY) - np.arange(len(instants))
    first = int(np.argmax(rows))
    instants, values = (each[first : first + int(rows[first])] for each in (instants, values))
    length = (int(instants[-1]) - int(instants[0])) // TICKS + 1
    return Recorded((instants - instants[0]) // length, values)


def compared(name: str, recorded: Recorded, *, batch: int, size: int, slide: int, seed: int) -> Compared:
    """Compare predictions with samples for one shape of windows."""
    window = WindowSpecification(size, slide)
    counts, sums = recorded.windows(size, slide)
    windows = np.arange(len(counts))
    coin = GapCoin(1, batch, window, batch * slide)
    _, dropped = coin.through(len(windows) - 1, drop_share=min(DROP_SHARE, batch / (batch + 1)))
    missing = np.array(dropped, np.int64)
    load = max(needed_share([unneeded_times([window], dropped)], 0, TICKS - 1), 0.01)
    nature = np.random.default_rng(seed)
    weights = (nature.random(len(recorded.ticks)) < load) / load
    sampled = recorded.windows(size, slide, weights)
    known = np.setdiff1d(windows, missing)
    errors: list[dict[str, float]] = []
    ratio = float("nan")
    counted = windows >= _WARM * len(windows)
    for truth, sample in zip((counts, sums), sampled, strict=True):
        worth = counted & (truth > _LEAST_FULL * np.median(truth))
        of = {"sample": _error(sample, truth, worth)}
        for method in ("linear", "local"):
            told = predict(known, truth[known], missing, method=method)
            filled = truth.copy()
            filled[missing] = np.where(np.isnan(told.values), 0.0, told.values)
            of[method] = _error(filled, truth, worth)
            if method == "local":
                off, said = (filled - truth)[missing], told.errors
                usable = np.isfinite(said) & counted[missing]
                ratio = float(np.sqrt(np.mean(off[usable] ** 2) / np.mean(said[usable] ** 2)))
        errors.append(of)
    return Compared(
        recording=name,
        batch=batch,
        size=size,
        slide=slide,
        load=load,
        count_errors=errors[0],
        sum_errors=errors[1],
        error_ratio=ratio,
    )


def figures_of(found: list[Compared]) -> dict[str, float]:
    """Condense what was found: errors of sums at one size and B = 5, and in how many cases who is nearest."""
    figures: dict[str, float] = {}
    for one in found:
        if one.size == SIZE and one.batch == BATCHES[len(BATCHES) // 2]:
            figures |= {f"{one.recording}_{method}_error": error for method, error in one.sum_errors.items()}
    cases = [(one, errors) for one in found for errors in (one.count_errors, one.sum_errors)]
    figures |= {
        f"{method}_nearest": float(sum(min(errors, key=lambda of: errors[of]) == method for _, errors in cases))
        for method in _COLORS
    }
    figures["local_over_linear_fares"] = float(
        np.mean([one.sum_errors["local"] / one.sum_errors["linear"] for one in found if one.recording == "fares"])
    )
    ratios = [one.error_ratio for one in found if np.isfinite(one.error_ratio)]
    return {**figures, "cases": float(len(cases)), "median_error_ratio": float(np.median(ratios))}


def draw_prediction(path: Path, *, found: list[Compared]) -> None:
    """Draw the errors of sums over B, and over the slide.

    Args:
        path: The file.
        found: What was compared.

    Raises:
        SinkUnavailableError: The file cannot be written.
    """
    names = list(dict.fromkeys(one.recording for one in found))
    figure = Figure(figsize=(11.0, 3.6 * len(names)), layout="constrained")
    FigureCanvasAgg(figure)
    figure.suptitle("Dropped windows predicted, and all windows sampled, at equal load", fontweight="bold")
    for row, name in zip(figure.subplots(len(names), 2, squeeze=False), names, strict=True):
        by_batch = [one for one in found if one.recording == name and one.size == SIZE]
        by_slide = [one for one in found if one.recording == name and one.size == LARGE]
        for axes, cases, of, label in ((row[0], by_batch, "batch", "B"), (row[1], by_slide, "slide", "slide, ticks")):
            for method, color in _COLORS.items():
                places = [getattr(one, of) for one in cases]
                axes.plot(places, [one.sum_errors[method] for one in cases], "o-", color=color, label=method)
            axes.set_xscale("log")
            axes.set_xlabel(label)
            axes.set_ylabel(f"relative error of sums, {name}")
            axes.set_ylim(bottom=0)
            axes.legend(fontsize=8, frameon=False)
    write_png(figure, path)


def _error(estimate: Numbers, truth: Numbers, worth: npt.NDArray[np.bool_]) -> float:
    return float(np.mean(np.abs(estimate - truth)[worth] / truth[worth]))
