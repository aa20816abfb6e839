"""The picture of the benchmark `nexmark`."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from matplotlib.axes import Axes
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure
from matplotlib.ticker import EngFormatter

from streamshed.dashboard.png import BLUE, GRAY, ORANGE, write_png

_SPEED = "_rows_per_second_per_core"


def draw_nexmark(path: Path, *, figures: Mapping[str, float | None]) -> None:
    """Draw rows per second and core beside plain Spark's, and useful rows, delay and error over the load.

    Args:
        path: The file.
        figures: Those of the benchmark; of what is None nothing is drawn.

    Raises:
        SinkUnavailableError: The file cannot be written.
    """
    figure = Figure(figsize=(13.0, 4.2), layout="constrained")
    FigureCanvasAgg(figure)
    figure.suptitle("Queries of Nexmark, and its windows under load", fontweight="bold")
    speeds, useful, delay, error = figure.subplots(1, 4, width_ratios=[2.2, 1, 1, 1])
    _draw_speeds(speeds, figures)
    _draw_course(useful, figures, "useful_rows_per_second_per_core", "useful rows per second and core")
    useful.yaxis.set_major_formatter(EngFormatter())
    _draw_course(delay, figures, "delay_ratio", "95th percentile of delay ÷ goal")
    delay.axhline(1.0, color=GRAY, linewidth=1, linestyle="--")
    _draw_course(error, figures, "error", "mean relative error of counts")
    write_png(figure, path)


def _draw_speeds(axes: Axes, figures: Mapping[str, float | None]) -> None:
    queries = [
        name.removesuffix(_SPEED)
        for name, value in figures.items()
        if name.startswith("q") and name.endswith(_SPEED) and value is not None
    ]
    for number, (end, label, color) in enumerate((("", "ours", BLUE), ("_native", "plain Spark", ORANGE))):
        places = [place + 0.4 * number for place in range(len(queries))]
        values = [figures[f"{name}{_SPEED}{end}"] or 0.0 for name in queries]
        axes.bar(places, values, width=0.4, color=color, label=label)
    axes.set_xticks([place + 0.2 for place in range(len(queries))], queries, fontsize=8)
    axes.set_yscale("log")
    axes.set_ylabel("rows per second and core")
    axes.yaxis.set_major_formatter(EngFormatter())
    axes.legend(fontsize=8, frameon=False)


def _draw_course(axes: Axes, figures: Mapping[str, float | None], name: str, label: str) -> None:
    start = f"{name}_at_"
    course = {
        float(figure.removeprefix(start)): value
        for figure, value in figures.items()
        if figure.startswith(start) and value is not None
    }
    axes.plot(list(course), list(course.values()), "o-", color=BLUE, markersize=4)
    axes.set_ylim(bottom=0)
    axes.set_xlabel("load ÷ what is sustained")
    axes.set_ylabel(label)
