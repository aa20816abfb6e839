"""The picture of the benchmark `windows`: what is delivered over the load; drop over size and slide ([T06] §4)."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path

from matplotlib.axes import Axes
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure

from streamshed.dashboard.png import write_png

_COLORS = ("#2f6db3", "#e08a1e", "#3f9b5f")
_GRAY = "#777777"


def draw_windows(
    path: Path,
    *,
    real: Mapping[tuple[str, float], tuple[float, float]],
    shapes: Mapping[tuple[int, int], float],
    model: Callable[[int, int], float],
) -> None:
    """Draw what was delivered of recordings, and what was dropped of windows of different shapes.

    Args:
        path: The file.
        real: By recording and load, the share delivered, and the largest there could be.
        shapes: By ω and δ in tenths of a second, the share dropped.
        model: Returns what the savings model says of a shape.

    Raises:
        SinkUnavailableError: The file cannot be written.
    """
    figure = Figure(figsize=(12.0 if shapes else 5.5, 4.2), layout="constrained")
    FigureCanvasAgg(figure)
    figure.suptitle("Windows delivered, each exact, and windows dropped", fontweight="bold")
    axes = figure.subplots(1, 3 if shapes else 1, squeeze=False)[0]
    _draw_real(axes[0], real)
    if shapes:
        tumbling = {size: share for (size, slide), share in shapes.items() if size == slide}
        _draw_shapes(axes[1], tumbling, {size: model(size, size) for size in tumbling}, "tumbling", _COLORS[0])
        axes[1].set_xlabel("window size, seconds (Figure 12)")
        largest = max(size for size, _ in shapes)
        by_slide = {slide: share for (size, slide), share in shapes.items() if size == largest}
        _draw_shapes(axes[2], by_slide, {slide: model(largest, slide) for slide in by_slide}, "measured", _COLORS[0])
        axes[2].set_xlabel(f"slide, seconds; size {largest / 10:g} s (Figure 13)")
        for each in axes[1:]:
            each.set_ylabel("share of windows dropped")
            each.set_ylim(0, 1)
            each.legend(fontsize=8, frameon=False)
    write_png(figure, path)


def _draw_real(axes: Axes, real: Mapping[tuple[str, float], tuple[float, float]]) -> None:
    for color, name in zip(_COLORS, dict.fromkeys(name for name, _ in real), strict=False):
        points = sorted((load, *shares) for (of, load), shares in real.items() if of == name)
        axes.plot([load for load, *_ in points], [share for _, share, _ in points], "o-", color=color, label=name)
    ideal = sorted({(load, best) for (_, load), (_, best) in real.items()})
    axes.plot(*zip(*ideal, strict=True), "--", color=_GRAY, label="the most there can be")
    axes.set_xlabel("load factor")
    axes.set_ylabel("share of windows delivered")
    axes.set_ylim(0, 1.05)
    axes.legend(fontsize=8, frameon=False)


def _draw_shapes(axes: Axes, measured: Mapping[int, float], model: Mapping[int, float], label: str, color: str) -> None:
    places = sorted(measured)
    axes.plot([one / 10 for one in places], [measured[one] for one in places], "o-", color=color, label=label)
    axes.plot([one / 10 for one in places], [model[one] for one in places], "--", color=color, label=f"{label}, model")
