"""Benchmark `prediction`: dropped windows predicted, against samples of all of them, at equal load ([T06] §6)."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from functools import partial
from pathlib import Path

import numpy as np
import numpy.typing as npt
import pyarrow.parquet as pq
from matplotlib.axes import Axes
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure

from streamshed.answering.predict.prediction import predict_groups
from streamshed.dashboard.png import BLUE, ORANGE, VERMILION, write_png
from streamshed.network.terms.window import WindowSpecification
from streamshed.planning.window_drop.track.retention import needed_share, unneeded_times
from streamshed.planning.window_drop.windows.gap_coin import GapCoin
from streamshed_bench.contract import BenchOptions, BenchResult
from streamshed_bench.inputs.recordings import recording_file, recordings_folder

RECORDED = {"fares": "total_amount", "packets": "size"}
"""What is summed of which recording."""

COARSE = {"fares": 60_000_000}
"""A recording whose times are whole minutes is not cut within them, microseconds: windows of other lengths would hold
now one minute more, now one less, which no one can predict, and no one would ask for."""

TICKS = 4_000
"""A recording is cut into so many; windows are whole numbers of them."""

BATCHES = (1, 2, 5, 10, 20)
SLIDES = (1, 2, 5, 10, 20, 50, 100)
SIZE, LARGE = 10, 100
"""Windows of the runs over B, and over the slide, in ticks."""

DROP_SHARE = 0.5
SHORT = 2
"""Windows of the runs over the share that is dropped, in ticks."""

DROP_SHARES = (0.5, 0.8, 0.9, 0.95)
LOOSE = 20
"""B of the runs over the share that is dropped: it leaves room for most of them."""

_WARM = 0.1
"""The first tenth of the windows tells what predictions are worth, and is not counted."""

_DAY = 86_400_000_000
_LEAST_FULL = 0.1
"""Windows that hold less than this share of what is usual are not judged."""

_COLORS = {"sample": VERMILION, "linear": ORANGE, "local": BLUE}

Numbers = npt.NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class Shape:
    """Windows and what is dropped of them.

    Args:
        gap_windows: B.
        size: ω, ticks.
        slide: δ.
        drop_share: The share to drop.
    """

    gap_windows: int
    size: int
    slide: int
    drop_share: float = DROP_SHARE


_SHAPES = (
    *(Shape(gap_windows, SIZE, SIZE) for gap_windows in BATCHES),
    *(Shape(10, LARGE, slide) for slide in SLIDES),
    *(Shape(LOOSE, SHORT, SHORT, share) for share in DROP_SHARES),
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Compared:
    """Mean relative errors at equal load, of counts and of sums.

    Args:
        recording: Which.
        gap_windows: B.
        size: ω, ticks.
        slide: δ.
        drop_share: The share of the windows that are dropped, where B allows it.
        load: The share of the rows that both work on.
        count_errors: By method: "sample", or a method of predicting what is dropped; what is delivered has none.
        sum_errors: Likewise.
        error_ratio: How far off predictions of `local` are ÷ how far off they are said to be.
    """

    recording: str
    gap_windows: int
    size: int
    slide: int
    drop_share: float
    load: float
    count_errors: Mapping[str, float]
    sum_errors: Mapping[str, float]
    error_ratio: float

    def to_document(self) -> dict[str, object]:
        """Return what JSON can hold; B is called `batch` there."""
        document = asdict(self)
        return {"batch": document.pop("gap_windows"), **document}


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
        totals = []
        for per_row in (weighing, weighing * self.values):
            total = np.concatenate(([0.0], np.cumsum(np.bincount(self.ticks, per_row, minlength=TICKS))))
            totals.append(total[ends] - total[ends - size])
        return totals[0], totals[1]


def run(options: BenchOptions) -> BenchResult:
    """Compare.

    Raises:
        MissingRecordingsError: `options.trace` names no folder with the recordings.
    """
    folder = recordings_folder(options, RECORDED)
    shapes = _SHAPES[::3] if options.quick else _SHAPES
    comparisons = []
    for number, (name, column) in enumerate(RECORDED.items()):
        recorded = read_recorded(recording_file(folder, name), column, coarse=COARSE.get(name, 1))
        for place, shape in enumerate(shapes):
            step = f"{name}, B = {shape.gap_windows}, slide {shape.slide}, {shape.drop_share:.0%} dropped"
            options.progress(step, (number + place / len(shapes)) / len(RECORDED))
            comparisons.append(compared(name, recorded, shape, seed=options.seed))
    return BenchResult(
        figures=figures_of(comparisons),
        details={
            "ticks": TICKS,
            "compared": [comparison.to_document() for comparison in comparisons],
            "left_out": ["two of three shapes"] if options.quick else [],
        },
        picture=partial(draw_prediction, comparisons=comparisons),
    )


def read_recorded(file: Path, column: str, *, coarse: int = 1) -> Recorded:
    """Read the fullest part of a recording, as rows of ticks: a day, or all where it is shorter.

    Args:
        file: The recording.
        column: What is summed.
        coarse: Ticks are whole multiples of so many microseconds; the part is longer than a day by as much as that
            takes.
    """
    table = pq.read_table(file, columns=["ts", column])
    instants = table.column("ts").cast("int64").to_numpy()
    values = np.nan_to_num(table.column(column).cast("float64").to_numpy())
    order = np.argsort(instants, kind="stable")
    instants, values = instants[order], np.maximum(values[order], 0.0)
    part = min(_DAY, int(instants[-1]) - int(instants[0]) + 1)
    tick = -(-part // (TICKS * coarse)) * coarse
    begin = instants // coarse * coarse
    rows = np.searchsorted(instants, begin + TICKS * tick) - np.searchsorted(instants, begin)
    start = int(begin[int(np.argmax(rows))])
    is_within = (instants >= start) & (instants < start + TICKS * tick)
    return Recorded((instants[is_within] - start) // tick, values[is_within])


def compared(name: str, recorded: Recorded, shape: Shape, *, seed: int) -> Compared:
    """Compare predictions with samples for one shape of windows."""
    gap_windows, size, slide = shape.gap_windows, shape.size, shape.slide
    window = WindowSpecification(size, slide)
    counts, sums = recorded.windows(size, slide)
    windows = np.arange(len(counts))
    coin = GapCoin(1, gap_windows, window, gap_windows * slide)
    _, dropped = coin.through(len(windows) - 1, drop_share=min(shape.drop_share, gap_windows / (gap_windows + 1)))
    missing = np.array(dropped, np.int64)
    load = max(needed_share([unneeded_times([window], dropped)], 0, TICKS - 1), 0.01)
    nature = np.random.default_rng(seed)
    weights = (nature.random(len(recorded.ticks)) < load) / load
    sampled = recorded.windows(size, slide, weights)
    answered = np.setdiff1d(windows, missing)
    errors: list[dict[str, float]] = []
    ratio = float("nan")
    counted = windows >= _WARM * len(windows)
    for truth, sample in zip((counts, sums), sampled, strict=True):
        worth = counted & (truth > _LEAST_FULL * np.median(truth))
        of = {"sample": _error(sample, truth, worth)}
        for method in ("linear", "local"):
            prediction = predict_groups(answered, truth[answered][np.newaxis], missing, method=method)
            filled = truth.copy()
            filled[missing] = np.where(np.isnan(prediction.values[0]), 0.0, prediction.values[0])
            of[method] = _error(filled, truth, worth)
            if method == "local":
                off, said = (filled - truth)[missing], prediction.errors[0]
                usable = np.isfinite(said) & counted[missing]
                ratio = float(np.sqrt(np.mean(off[usable] ** 2) / np.mean(said[usable] ** 2)))
        errors.append(of)
    return Compared(
        recording=name,
        gap_windows=gap_windows,
        size=size,
        slide=slide,
        drop_share=shape.drop_share,
        load=load,
        count_errors=errors[0],
        sum_errors=errors[1],
        error_ratio=ratio,
    )


def figures_of(comparisons: list[Compared]) -> dict[str, float]:
    """Condense what was found: errors at B = 5, and where most is dropped; and in how many cases who is nearest."""
    figures: dict[str, float] = {}
    for comparison in comparisons:
        if comparison.size == SIZE and comparison.gap_windows == BATCHES[len(BATCHES) // 2]:
            figures |= {
                f"{comparison.recording}_{method}_error": error for method, error in comparison.sum_errors.items()
            }
    cases = [
        (comparison, errors)
        for comparison in comparisons
        for errors in (comparison.count_errors, comparison.sum_errors)
    ]
    for comparison in (
        comparison
        for comparison in comparisons
        if comparison.size == SHORT and comparison.drop_share == DROP_SHARES[-1]
    ):
        figures |= {
            f"{comparison.recording}_{method}_count_error_deep": error
            for method, error in comparison.count_errors.items()
        }
    figures |= {
        f"{method}_nearest": float(sum(min(errors, key=lambda of: errors[of]) == method for _, errors in cases))
        for method in _COLORS
    }
    figures["local_over_linear_fares"] = float(
        np.mean(
            [
                comparison.sum_errors["local"] / comparison.sum_errors["linear"]
                for comparison in comparisons
                if comparison.recording == "fares"
            ]
        )
    )
    ratios = [comparison.error_ratio for comparison in comparisons if np.isfinite(comparison.error_ratio)]
    return {**figures, "cases": float(len(cases)), "median_error_ratio": float(np.median(ratios))}


def draw_prediction(path: Path, *, comparisons: list[Compared]) -> None:
    """Draw the errors of sums over B, and over the slide, and those of counts over the share that is dropped.

    Args:
        path: The file.
        comparisons: What was compared.

    Raises:
        SinkUnavailableError: The file cannot be written.
    """
    names = list(dict.fromkeys(comparison.recording for comparison in comparisons))
    figure = Figure(figsize=(15.0, 3.6 * len(names)), layout="constrained")
    FigureCanvasAgg(figure)
    figure.suptitle("Dropped windows predicted, and all windows sampled, at equal load", fontweight="bold")
    for row, name in zip(figure.subplots(len(names), 3, squeeze=False), names, strict=True):
        by_batch = [
            comparison for comparison in comparisons if comparison.recording == name and comparison.size == SIZE
        ]
        by_slide = [
            comparison for comparison in comparisons if comparison.recording == name and comparison.size == LARGE
        ]
        by_share = [
            comparison for comparison in comparisons if comparison.recording == name and comparison.size == SHORT
        ]
        for axes, cases, of, label in (
            (row[0], by_batch, "gap_windows", "B"),
            (row[1], by_slide, "slide", "slide, ticks"),
        ):
            _draw(
                axes,
                [(getattr(comparison, of), comparison.sum_errors) for comparison in cases],
                label,
                f"relative error of sums, {name}",
            )
            axes.set_xscale("log")
        of_counts = [(comparison.drop_share, comparison.count_errors) for comparison in by_share]
        _draw(row[2], of_counts, f"share dropped, B = {LOOSE}", f"relative error of counts, {name}")
    write_png(figure, path)


def _draw(axes: Axes, errors: list[tuple[float, Mapping[str, float]]], over: str, label: str) -> None:
    for method, color in _COLORS.items():
        places = [place for place, _ in errors]
        axes.plot(places, [by_method[method] for _, by_method in errors], "o-", color=color, label=method)
    axes.set_xlabel(over)
    axes.set_ylabel(label)
    axes.set_ylim(bottom=0)
    axes.legend(fontsize=8, frameon=False)


def _error(estimate: Numbers, truth: Numbers, worth: npt.NDArray[np.bool_]) -> float:
    return float(np.mean(np.abs(estimate - truth)[worth] / truth[worth]))
