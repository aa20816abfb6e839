"""A run as one picture: offered rows, sampling rate, time and delay, error, one above the other."""

from pathlib import Path
from typing import Literal

from matplotlib.axes import Axes
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure
from matplotlib.ticker import FuncFormatter

from streamshed.dashboard.png import BLUE, GRAY, GREEN, ORANGE, PURPLE, SKY, VERMILION, write_png
from streamshed.dashboard.timeline import Course, Timeline
from streamshed.network.words.wording import count_text, share_text

_QUERY_COLORS = (BLUE, ORANGE, GREEN, VERMILION, PURPLE, SKY)
"""Of the queries that are furthest off; all others are gray."""

_SIZE_INCHES = (8.5, 8.5)
"""Shown 830 pixels wide, as on the page of a repository, letters of 10 points are 13 pixels high."""


def write_picture(timeline: Timeline, path: Path, *, title: str) -> None:
    """Draw a run as a PNG.

    Args:
        timeline: The run.
        path: The file.
        title: What the picture says above.

    Raises:
        SinkUnavailableError: The file cannot be written.
    """
    write_png(draw(timeline, title=title), path)


def draw(timeline: Timeline, *, title: str) -> Figure:
    """Draw a run, without a window system."""
    figure = Figure(figsize=_SIZE_INCHES, layout="constrained")
    FigureCanvasAgg(figure)
    figure.suptitle(title, fontsize=12, fontweight="bold")
    rows, sampling_rates, seconds, error = figure.subplots(4, 1, sharex=True, height_ratios=[1.1, 0.8, 1.1, 1.2])
    _draw_rows(rows, timeline)
    _draw_kept(sampling_rates, timeline)
    _draw_seconds(seconds, timeline)
    _draw_errors(error, timeline)
    for axes in (rows, sampling_rates, seconds, error):
        _mark_spans(axes, timeline)
        axes.grid(alpha=0.25)
        axes.spines[["top", "right"]].set_visible(False)
    for span in timeline.spans:
        middle = (span.begin_seconds + span.end_seconds) / 2
        rows.annotate(
            span.label,
            (middle, 1.0),
            xycoords=("data", "axes fraction"),
            ha="center",
            va="bottom",
            color=GRAY,
        )
    error.set_xlim(left=0)
    error.set_xlabel("seconds since the start")
    return figure


def _draw_rows(axes: Axes, timeline: Timeline) -> None:
    # The rows of a micro-batch came before it started.
    _steps(axes, timeline.offered, color=GRAY, label="offered", where="pre")
    _steps(axes, timeline.admitted, color=BLUE, label="used", where="pre")
    axes.set_ylabel("rows per second")
    axes.yaxis.set_major_formatter(FuncFormatter(lambda value, _: count_text(value)))
    axes.set_ylim(bottom=0)
    _legend(axes)


def _draw_kept(axes: Axes, timeline: Timeline) -> None:
    _steps(axes, timeline.sampling_rates, color=GREEN, label="sampling rate")
    # Not the share of rows that are used: rows that one query is not sampled from may be used by others.
    axes.set_ylabel("sampling rate,\nleast of a query")
    axes.yaxis.set_major_formatter(FuncFormatter(lambda value, _: share_text(value)))
    axes.set_ylim(0, 1.08)


def _draw_seconds(axes: Axes, timeline: Timeline) -> None:
    _steps(axes, timeline.processing, color=BLUE, label="processing a micro-batch")
    _steps(axes, timeline.delay, color=ORANGE, label="delay from arrival to answer")
    interval = timeline.trigger_interval_seconds
    axes.axhline(interval, color=VERMILION, linewidth=1, linestyle="--", label=f"trigger interval, {interval:g} s")
    axes.set_ylabel("seconds")
    axes.set_ylim(bottom=0)
    _legend(axes)


def _draw_errors(axes: Axes, timeline: Timeline) -> None:
    furthest_off_first = sorted(timeline.errors.items(), key=lambda item: -max(_columns(item[1])[1], default=0.0))
    colored, others = furthest_off_first[: len(_QUERY_COLORS)], furthest_off_first[len(_QUERY_COLORS) :]
    for color, (query, course) in zip(_QUERY_COLORS, colored, strict=False):
        axes.plot(*_columns(course), marker="o", markersize=3, linewidth=1, color=color, label=query)
    label = others[0][0] if len(others) == 1 else f"{len(others)} that are less far off"
    for index, (_, course) in enumerate(others):
        axes.plot(*_columns(course), linewidth=1, color=GRAY, zorder=1, label=None if index else label)
    axes.set_ylabel(timeline.error_name)
    axes.yaxis.set_major_formatter(FuncFormatter(lambda value, _: share_text(value)))
    axes.set_ylim(bottom=0)
    if timeline.errors:
        _legend(axes)


def _steps(axes: Axes, course: Course, *, color: str, label: str, where: Literal["pre", "post"] = "post") -> None:
    """Draw a course in steps; what came before a micro-batch with its area."""
    times, values = _columns(course)
    axes.step(times, values, where=where, color=color, linewidth=1.4, label=label)
    if where == "pre":
        axes.fill_between(times, values, step=where, color=color, alpha=0.2, linewidth=0)


def _columns(course: Course) -> tuple[list[float], list[float]]:
    return [time for time, _ in course], [value for _, value in course]


def _mark_spans(axes: Axes, timeline: Timeline) -> None:
    for span in timeline.spans:
        axes.axvspan(span.begin_seconds, span.end_seconds, color=ORANGE, alpha=0.08, linewidth=0)


def _legend(axes: Axes) -> None:
    axes.legend(loc="upper left", bbox_to_anchor=(1.0, 1.0), fontsize=10, frameon=False)
