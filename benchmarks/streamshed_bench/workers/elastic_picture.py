"""The picture of the benchmark `elastic`: what each controller did over time, under the same load."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure
from matplotlib.ticker import PercentFormatter

from streamshed.dashboard.png import GRAY, write_png
from streamshed.simulator.course import Course
from streamshed_bench.workers.elastic_sizes import GOAL_TRIGGERS, ElasticSizes
from streamshed_bench.workers.simulate_picture import COLORS

_PANELS = {
    "offered_utilization": "τ of the offered load",
    "running": "workers",
    "shed_share": "rows shed",
    "worst_error": "largest expected error",
    "latency_seconds": "delay, seconds",
}


def draw_elastic(path: Path, *, courses: Mapping[str, Course], sizes: ElasticSizes) -> None:
    """Draw utilization, workers, rows shed, error and delay over time.

    Args:
        path: The file.
        courses: By way of deciding.
        sizes: What was fed.

    Raises:
        SinkUnavailableError: The file cannot be written.
    """
    figure = Figure(figsize=(9.0, 12.0), layout="constrained")
    FigureCanvasAgg(figure)
    figure.suptitle("Controllers of workers on a standalone cluster: load 1, 3, 6, 1", fontweight="bold")
    panels = figure.subplots(len(_PANELS), 1, sharex=True)
    for axes, (name, label) in zip(panels, _PANELS.items(), strict=True):
        for way, course in courses.items():
            seconds = [moment.started_at_seconds for moment in course.moments]
            values = [getattr(moment, name) for moment in course.moments]
            axes.step(seconds, values, where="post", color=COLORS[way], linewidth=1.2, label=way.replace("_", " "))
        axes.set_ylabel(label)
        passed = 0.0
        for count in sizes.step_triggers[:-1]:
            passed += count * sizes.trigger_seconds
            axes.axvline(passed, color=GRAY, alpha=0.4, linewidth=0.8, zorder=0)
    for place in (2, 3):
        panels[place].yaxis.set_major_formatter(PercentFormatter(1.0))
    panels[-1].axhline(GOAL_TRIGGERS * sizes.trigger_seconds, color=GRAY, linewidth=0.8, linestyle="--")
    panels[-1].set_ylim(bottom=0)
    panels[-1].set_xlabel("seconds")
    panels[0].legend(fontsize=8, frameon=False, ncols=len(courses))
    write_png(figure, path)
