"""A simulation as one picture: load, workers, utilization, shedding, delay, one above the other."""

from __future__ import annotations

from pathlib import Path

import numpy as np
from matplotlib.axes import Axes
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure
from matplotlib.ticker import EngFormatter, PercentFormatter

from streamshed.dashboard.png import write_png
from streamshed.elasticity.thresholds import Thresholds
from streamshed.simulator.course import Course

_BLUE, _ORANGE, _GREEN, _RED, _GRAY = "#2f6db3", "#e08a1e", "#3f9b5f", "#c0392b", "#777777"
_SIZE_INCHES = (10.0, 9.0)


def write_simulation_picture(course: Course, thresholds: Thresholds, path: Path, *, title: str) -> None:
    """Draw a simulation as a PNG.

    Args:
        course: What happened.
        thresholds: Drawn beside utilization.
        path: The file.
        title: What the picture says above.

    Raises:
        SinkUnavailableError: The file cannot be written.
    """
    figure = Figure(figsize=_SIZE_INCHES, layout="constrained")
    FigureCanvasAgg(figure)
    figure.suptitle(title, fontsize=10, fontweight="bold")
    load, workers, utilization, shed, delay = figure.subplots(5, 1, sharex=True)
    moments = course.moments
    hours = np.array([moment.started_at_seconds for moment in moments]) / 3600
    gathered = np.concatenate([course.lengths[:1], course.lengths[:-1]])
    rows = np.array([moment.offered_rows for moment in moments]) / np.maximum(gathered, 1e-9)
    load.plot(hours, rows, color=_BLUE, linewidth=1)
    load.yaxis.set_major_formatter(EngFormatter())
    workers.step(hours, [moment.running for moment in moments], color=_GREEN, where="post", label="running")
    workers.step(hours, [moment.wanted for moment in moments], color=_GRAY, where="post", linewidth=0.8, label="wanted")
    for color, name in ((_ORANGE, "offered"), (_BLUE, "admitted")):
        values = [getattr(moment, f"{name}_utilization") for moment in moments]
        utilization.plot(hours, values, color=color, linewidth=1, label=name)
    for value in thresholds.values:
        utilization.axhline(value, color=_GRAY, linewidth=0.7, linestyle="--")
    shed.plot(hours, [moment.shed_share for moment in moments], color=_RED, linewidth=1, label="rows shed")
    shed.plot(hours, [moment.worst_error for moment in moments], color=_ORANGE, linewidth=1, label="worst error")
    shed.yaxis.set_major_formatter(PercentFormatter(1.0))
    delay.plot(hours, [moment.latency_seconds for moment in moments], color=_BLUE, linewidth=1)
    delay.axhline(course.latency_goal_seconds, color=_GRAY, linewidth=0.8, linestyle="--")
    delay.set_xlabel("hours")
    words = ("rows per second", "workers", "utilization τ", "share", "delay, seconds")
    for axes, word in zip((load, workers, utilization, shed, delay), words, strict=True):
        _finish(axes, word)
    write_png(figure, path)


def _finish(axes: Axes, word: str) -> None:
    axes.set_ylabel(word)
    axes.set_ylim(bottom=0)
    axes.grid(alpha=0.25)
    axes.spines[["top", "right"]].set_visible(False)
    if axes.get_legend_handles_labels()[0]:
        axes.legend(fontsize=8, frameon=False, loc="upper left")
