"""The picture of the benchmark `simulate`: workers and shed rows over time, by load and controller."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure
from matplotlib.ticker import PercentFormatter

from streamshed.dashboard.png import BLUE, GREEN, ORANGE, PURPLE, VERMILION, write_png
from streamshed.simulator.course import Course

COLORS = {
    "predictive": BLUE,
    "thresholds": ORANGE,
    "thresholds_on_offered": PURPLE,
    "shedding_only": VERMILION,
    "scaling_only": GREEN,
}


def draw_simulations(path: Path, *, courses: Mapping[tuple[str, str], Course]) -> None:
    """Draw a column for each load: workers, rows shed, delay.

    Args:
        path: The file.
        courses: By load and controller.

    Raises:
        SinkUnavailableError: The file cannot be written.
    """
    loads = list(dict.fromkeys(load for load, _ in courses))
    figure = Figure(figsize=(5.0 * len(loads), 8.0), layout="constrained")
    FigureCanvasAgg(figure)
    figure.suptitle("Controllers of workers, in virtual time", fontweight="bold")
    grid = figure.subplots(3, len(loads), squeeze=False)
    for (load, way), course in courses.items():
        column = grid[:, loads.index(load)]
        hours = [moment.started_at_seconds / 3600 for moment in course.moments]
        for axes, name in zip(column, ("running", "shed_share", "latency_seconds"), strict=True):
            values = [getattr(moment, name) for moment in course.moments]
            axes.plot(hours, values, color=COLORS[way], linewidth=1, label=way.replace("_", " "))
    for place, load in enumerate(loads):
        workers, shed, delay = grid[:, place]
        workers.set_title(load.replace("_", " "))
        workers.set_ylabel("workers")
        shed.set_ylabel("rows shed")
        shed.yaxis.set_major_formatter(PercentFormatter(1.0))
        delay.set_ylabel("delay, seconds")
        delay.set_yscale("log")
        delay.set_xlabel("hours")
    grid[0, 0].legend(fontsize=8, frameon=False)
    write_png(figure, path)
