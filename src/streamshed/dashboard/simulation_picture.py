"""A simulation as one picture: load, workers, utilization, shedding, delay, one above the other."""

from __future__ import annotations

from pathlib import Path

import numpy as np
from matplotlib.axes import Axes
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure
from matplotlib.ticker import EngFormatter, FuncFormatter, MaxNLocator

from streamshed.dashboard.png import BLUE, GRAY, GREEN, ORANGE, VERMILION, write_png
from streamshed.elasticity.thresholds import Thresholds
from streamshed.network.words.wording import share_text
from streamshed.simulator.course import Course

_SIZE_INCHES = (10.0, 9.0)
_UNITS = (("hours", 3600.0), ("minutes", 60.0), ("seconds", 1.0))


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
    figure.suptitle(title, fontsize=11, fontweight="bold")
    load, workers, utilization, shed, delay = figure.subplots(5, 1, sharex=True)
    moments = course.moments
    unit, unit_seconds = _unit(course.end_seconds)
    times = np.array([moment.started_at_seconds for moment in moments]) / unit_seconds
    gathered = np.concatenate([course.lengths[:1], course.lengths[:-1]])
    rows = np.array([moment.offered_rows for moment in moments]) / np.maximum(gathered, 1e-9)
    load.plot(times, rows, color=BLUE, linewidth=1)
    load.yaxis.set_major_formatter(EngFormatter())
    workers.step(times, [moment.running for moment in moments], color=GREEN, where="post", label="running")
    workers.step(times, [moment.wanted for moment in moments], color=GRAY, where="post", linewidth=0.8, label="wanted")
    workers.yaxis.set_major_locator(MaxNLocator(integer=True))
    for color, name in ((ORANGE, "offered"), (BLUE, "admitted")):
        values = [getattr(moment, f"{name}_utilization") for moment in moments]
        utilization.plot(times, values, color=color, linewidth=1, label=name)
    for index, value in enumerate(thresholds.values):
        label = None if index else "thresholds τ0 to τ3"
        utilization.axhline(value, color=GRAY, linewidth=0.7, linestyle="--", label=label)
    shed.plot(times, [moment.shed_share for moment in moments], color=VERMILION, linewidth=1, label="rows shed")
    shed.plot(times, [moment.worst_error for moment in moments], color=ORANGE, linewidth=1, label="worst error")
    shed.yaxis.set_major_formatter(FuncFormatter(lambda value, _: share_text(value)))
    delay.plot(times, [moment.latency_seconds for moment in moments], color=BLUE, linewidth=1, label="delay")
    delay.axhline(course.latency_goal_seconds, color=GRAY, linewidth=0.8, linestyle="--", label="goal")
    delay.set_xlabel(unit)
    delay.set_xlim(0, course.end_seconds / unit_seconds)
    words = ("rows per second", "workers", "utilization τ", "share", "delay, seconds")
    for axes, word in zip((load, workers, utilization, shed, delay), words, strict=True):
        _finish(axes, word)
    write_png(figure, path)


def _unit(seconds: float) -> tuple[str, float]:
    """The unit in which so long a time is drawn, and how many seconds it has."""
    return next((unit for unit in _UNITS if seconds >= 2 * unit[1]), _UNITS[-1])


def _finish(axes: Axes, word: str) -> None:
    axes.set_ylabel(word)
    axes.set_ylim(bottom=0)
    axes.grid(alpha=0.25)
    axes.spines[["top", "right"]].set_visible(False)
    if axes.get_legend_handles_labels()[0]:
        axes.legend(loc="upper left", bbox_to_anchor=(1.0, 1.0), fontsize=9, frameon=False)
