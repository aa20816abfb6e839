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

from streamshed.answering.prediction import predict
from streamshed.bench.contract import BenchOptions, BenchResult
from streamshed.bench.recordings import recording_file, recordings_folder
from streamshed.dashboard.png import write_png
from streamshed.network.window import WindowSpecification
from streamshed.planning.window_drop.gap_coin import GapCoin
from streamshed.planning.window_drop.retention import needed_share, unneeded_times

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

_COLORS = {"sample": "#c0392b", "linear": "#e08a1e", "local": "#2f6db3"}

Numbers = npt.NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class Shape:
    """Windows and what is dropped of them.

    Args:
        batch: B.
        size: ω, ticks.
        slide: δ.
        drop_share: The share to drop.
    """

    batch: int
    size: int
    slide: int
    drop_share: float = DROP_SHARE


_SHAPES = (
    *(Shape(batch, SIZE, SIZE) for batch in BATCHES),
    *(Shape(10, LARGE, slide) for slide in SLIDES),
    *(Shape(LOOSE, SHORT, SHORT, share) for share in DROP_SHARES),
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Compared:
    """Mean relative errors at equal load, of counts and of sums.

    Args:
        recording: Which.
        batch: B.
        size: ω, ticks.
        slide: δ.
        drop_share: The share of the windows that are dropped, where B allows it.
        load: The share of the rows that both work on.
        count_errors: By method: "sample", or a method of predicting what is dropped; what is delivered has none.
        sum_errors: Likewise.
        error_ratio: How far off predictions of `local` are ÷ how far off they are said to be.
    """

    recording: str
    batch: int
    size: int
    slide: int
    drop_share: float
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
    shapes = _SHAPES[::3] if options.quick else _SHAPES
    found = []
    for number, (name, column) in enumerate(RECORDED.items()):
        recorded = read_recorded(recording_file(folder, name), column, coarse=COARSE.get(name, 1))
        for place, shape in enumerate(shapes):
            told = f"{name}, B = {shape.batch}, slide {shape.slide}, {shape.drop_share:.0%} dropped"
            options.progress(told, (number + place / len(shapes)) / len(RECORDED))
            found.append(compared(name, recorded, shape, seed=options.seed))
    return BenchResult(
        figures=figures_of(found),
        details={
            "ticks": TICKS,
            "compared": [asdict(one) for one in found],
            "left_out": ["two of three shapes"] if options.quick else [],
        },
        picture=partial(draw_prediction, found=found),
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
    batch, size, slide = shape.batch, shape.size, shape.slide
    window = WindowSpecification(size, slide)
    counts, sums = recorded.windows(size, slide)
    windows = np.arange(len(counts))
    coin = GapCoin(1, batch, window, batch * slide)
    _, dropped = coin.through(len(windows) - 1, drop_share=min(shape.drop_share, batch / (batch + 1)))
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
        drop_share=shape.drop_share,
        load=load,
        count_errors=errors[0],
        sum_errors=errors[1],
        error_ratio=ratio,
    )


def figures_of(found: list[Compared]) -> dict[str, float]:
    """Condense what was found: errors at B = 5, and where most is dropped; and in how many cases who is nearest."""
    figures: dict[str, float] = {}
    for one in found:
        if one.size == SIZE and one.batch == BATCHES[len(BATCHES) // 2]:
            figures |= {f"{one.recording}_{method}_error": error for method, error in one.sum_errors.items()}
    cases = [(one, errors) for one in found for errors in (one.count_errors, one.sum_errors)]
    for one in (one for one in found if one.size == SHORT and one.drop_share == DROP_SHARES[-1]):
        figures |= {f"{one.recording}_{method}_count_error_deep": error for method, error in one.count_errors.items()}
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
    """Draw the errors of sums over B, and over the slide, and those of counts over the share that is dropped.

    Args:
        path: The file.
        found: What was compared.

    Raises:
        SinkUnavailableError: The file cannot be written.
    """
    names = list(dict.fromkeys(one.recording for one in found))
    figure = Figure(figsize=(15.0, 3.6 * len(names)), layout="constrained")
    FigureCanvasAgg(figure)
    figure.suptitle("Dropped windows predicted, and all windows sampled, at equal load", fontweight="bold")
    for row, name in zip(figure.subplots(len(names), 3, squeeze=False), names, strict=True):
        by_batch = [one for one in found if one.recording == name and one.size == SIZE]
        by_slide = [one for one in found if one.recording == name and one.size == LARGE]
        by_share = [one for one in found if one.recording == name and one.size == SHORT]
        for axes, cases, of, label in ((row[0], by_batch, "batch", "B"), (row[1], by_slide, "slide", "slide, ticks")):
            _draw(axes, [(getattr(one, of), one.sum_errors) for one in cases], label, f"relative error of sums, {name}")
            axes.set_xscale("log")
        of_counts = [(one.drop_share, one.count_errors) for one in by_share]
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
