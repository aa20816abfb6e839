"""The picture of the benchmark `windows`: what is delivered over the load; what is dropped where ([T06] §4)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

from matplotlib.axes import Axes
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure

from streamshed.dashboard.png import BLUE, COLORS, GRAY, ORANGE, write_png
from streamshed_bench.windows.drop_places import EXCESS, EXCESSES, DropPlaces
from streamshed_bench.windows.drop_runs import DropRun


def draw_windows(path: Path, *, real: Mapping[tuple[str, float], tuple[float, float]], places: DropPlaces) -> None:
    """Draw what was delivered of recordings, and what can be where windows are dropped at different places.

    Args:
        path: The file.
        real: By recording and load, the share delivered, and the largest there could be.
        places: Runs of [T06] Figures 10 to 13, if there are any.

    Raises:
        SinkUnavailableError: The file cannot be written.
    """
    has_places = bool(places.nested)
    figure = Figure(figsize=(16.5, 8.4) if has_places else (5.5, 4.2), layout="constrained")
    FigureCanvasAgg(figure)
    figure.suptitle("Windows delivered, each exact, and windows dropped", fontweight="bold")
    axes = figure.subplots(2, 3, squeeze=False).ravel() if has_places else [figure.subplots()]
    _draw_real(axes[0], real)
    if has_places:
        _draw_places(axes[1], places.nested, "nested windows (Figure 10)")
        _draw_places(axes[2], places.forked, "a fork (Figure 11)")
        tumbling = sorted(size for size, slide in places.shapes if size == slide)
        by_one = sorted(size for size, slide in places.shapes if slide == 1)
        _draw_shapes(axes[3], places, [(size, size) for size in tumbling], tumbling, "tumbling", BLUE)
        _draw_shapes(axes[3], places, [(size, 1) for size in by_one], by_one, "sliding by 1", ORANGE)
        axes[3].set_xlabel("window size, rows (Figure 12)")
        largest = max(tumbling)
        slides = sorted(slide for size, slide in places.shapes if size == largest)
        _draw_shapes(axes[4], places, [(largest, slide) for slide in slides], slides, "measured", BLUE)
        axes[4].set_xlabel(f"slide, rows; size {largest} (Figure 13)")
        axes[5].set_axis_off()
    write_png(figure, path)


def _draw_real(axes: Axes, real: Mapping[tuple[str, float], tuple[float, float]]) -> None:
    for color, name in zip(COLORS, dict.fromkeys(name for name, _ in real), strict=False):
        points = sorted((load, *shares) for (of, load), shares in real.items() if of == name)
        axes.plot([load for load, *_ in points], [share for _, share, _ in points], "o-", color=color, label=name)
    ideal = sorted({(load, best) for (_, load), (_, best) in real.items()})
    axes.plot(*zip(*ideal, strict=True), "--", color=GRAY, label="the most there can be")
    axes.set_xlabel("load factor")
    axes.set_ylabel("share of windows delivered")
    axes.set_ylim(0, 1.05)
    axes.legend(fontsize=8, frameon=False)


def _draw_places(axes: Axes, by_place: Mapping[str, DropRun], title: str) -> None:
    for color, (name, drop_run) in zip(COLORS, by_place.items(), strict=False):
        shares = [drop_run.curve.delivered(excess) for excess in EXCESSES]
        axes.plot(EXCESSES, shares, "o-", color=color, label=name.replace("_", " "))
    axes.plot(EXCESSES, [1 / (1 + excess) for excess in EXCESSES], "--", color=GRAY, label="ideal")
    axes.set_xlabel(f"excess rate x: {title}")
    axes.set_ylabel("share of windows delivered")
    axes.set_ylim(0, 1.05)
    axes.legend(fontsize=8, frameon=False)


def _draw_shapes(
    axes: Axes, places: DropPlaces, shapes: Sequence[tuple[int, int]], along: Sequence[int], label: str, color: str
) -> None:
    axes.plot(along, [places.needed_drop(*shape) for shape in shapes], "o-", color=color, label=label)
    modeled = [places.predicted_drop(*shape) for shape in shapes]
    axes.plot(along, modeled, "--", color=color, label=f"{label}, model")
    axes.set_ylabel(f"share of windows to drop at x = {EXCESS}")
    axes.set_ylim(0, 1)
    axes.legend(fontsize=8, frameon=False)
