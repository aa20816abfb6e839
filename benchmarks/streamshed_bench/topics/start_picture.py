"""The picture of the benchmark `start`: delay and kept rows after a start, and answers of a short trigger."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure
from matplotlib.ticker import LogFormatter, PercentFormatter

from streamshed.dashboard.png import BLUE, GRAY, ORANGE, write_png
from streamshed_bench.topics.start_figures import StartedMicroBatch

_COLORS = (BLUE, ORANGE)


def draw_start(
    path: Path,
    *,
    courses: Mapping[str, Sequence[StartedMicroBatch]],
    answer_seconds: Sequence[float],
    goal_seconds: float,
) -> None:
    """Draw delay and kept share over time, and the distribution of how late answers are.

    Args:
        path: The file.
        courses: Micro-batches after a start, by source.
        answer_seconds: With a short trigger, from the last row of a window to an answer.
        goal_seconds: The latency goal after a start.

    Raises:
        SinkUnavailableError: The file cannot be written.
    """
    figure = Figure(figsize=(12.0, 4.2), layout="constrained")
    FigureCanvasAgg(figure)
    figure.suptitle("Starting with a minute of backlog, and a trigger of half a second", fontweight="bold")
    delays, shares, answers = figure.subplots(1, 3)
    for (source, course), color in zip(courses.items(), _COLORS, strict=False):
        ends = [one.ended_seconds for one in course]
        delays.plot(ends, [one.arrival_delay_seconds for one in course], "o-", color=color, markersize=3, label=source)
        shares.plot(ends, [one.work_share for one in course], "o-", color=color, markersize=3, label=source)
    delays.axhline(goal_seconds, color=GRAY, linewidth=0.8, linestyle="--")
    delays.set_yscale("log")
    delays.yaxis.set_major_formatter(LogFormatter())
    delays.yaxis.set_minor_formatter(LogFormatter(minor_thresholds=(2, 1)))
    delays.set_ylabel("seconds from a row's arrival to its answers")
    shares.set_ylabel("rows kept")
    shares.set_ylim(bottom=0)
    shares.yaxis.set_major_formatter(PercentFormatter(1.0))
    for axes in (delays, shares):
        axes.set_xlabel("seconds after start")
        axes.legend(fontsize=8, frameon=False)
    ordered = sorted(answer_seconds)
    answers.plot(ordered, [(number + 1) / len(ordered) for number in range(len(ordered))], color=BLUE)
    answers.yaxis.set_major_formatter(PercentFormatter(1.0))
    answers.set_xlabel("seconds from a window's last row to its answer")
    answers.set_ylabel("answers")
    write_png(figure, path)
