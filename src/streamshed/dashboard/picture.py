"""A run as one picture: offered rows, sampling rate, time and delay, error, one above the other."""

from pathlib import Path

import matplotlib as mpl
from matplotlib.axes import Axes
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure
from matplotlib.ticker import FuncFormatter, PercentFormatter

from streamshed.dashboard.png import write_png
from streamshed.dashboard.timeline import Course, Timeline
from streamshed.network.words.wording import count_text

_BLUE, _ORANGE, _GREEN, _RED, _GRAY = "#2f6db3", "#e08a1e", "#3f9b5f", "#c0392b", "#777777"
_QUERY_COLORS = mpl.colormaps["tab10"].colors  # type: ignore[attr-defined]
_SIZE_INCHES = (10.0, 9.0)


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
    figure.suptitle(title, fontsize=11, fontweight="bold")
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
            color=_GRAY,
        )
    error.set_xlabel("seconds since the start")
    return figure


def _draw_rows(axes: Axes, timeline: Timeline) -> None:
    _steps(axes, timeline.offered, color=_GRAY, label="offered", filled=True)
    _steps(axes, timeline.admitted, color=_BLUE, label="used", filled=True)
    axes.set_ylabel("rows per second")
    axes.yaxis.set_major_formatter(FuncFormatter(lambda value, _: count_text(value)))
    axes.set_ylim(bottom=0)
    _legend(axes)


def _draw_kept(axes: Axes, timeline: Timeline) -> None:
    _steps(axes, timeline.sampling_rates, color=_GREEN, label="sampling rate", filled=False)
    axes.set_ylabel("sampling rate")
    axes.yaxis.set_major_formatter(PercentFormatter(xmax=1.0, decimals=0))
    axes.set_ylim(0, 1.08)


def _draw_seconds(axes: Axes, timeline: Timeline) -> None:
    _steps(axes, timeline.processing, color=_BLUE, label="processing a micro-batch", filled=False)
    _steps(axes, timeline.delay, color=_ORANGE, label="delay from arrival to answer", filled=False)
    interval = timeline.trigger_interval_seconds
    axes.axhline(interval, color=_RED, linewidth=1, linestyle="--", label=f"trigger interval, {interval:g} s")
    axes.set_ylabel("seconds")
    axes.set_ylim(bottom=0)
    _legend(axes)


def _draw_errors(axes: Axes, timeline: Timeline) -> None:
    for index, (query, course) in enumerate(sorted(timeline.errors.items())):
        times, values = _columns(course)
        color = _QUERY_COLORS[index % len(_QUERY_COLORS)]
        axes.plot(times, values, marker="o", markersize=3, linewidth=1, color=color, label=query)
    axes.set_ylabel(timeline.error_name)
    axes.yaxis.set_major_formatter(PercentFormatter(xmax=1.0))
    axes.set_ylim(bottom=0)
    if timeline.errors:
        _legend(axes)


def _steps(axes: Axes, course: Course, *, color: str, label: str, filled: bool) -> None:
    times, values = _columns(course)
    axes.step(times, values, where="post", color=color, linewidth=1.4, label=label)
    if filled:
        axes.fill_between(times, values, step="post", color=color, alpha=0.2, linewidth=0)


def _columns(course: Course) -> tuple[list[float], list[float]]:
    return [time for time, _ in course], [value for _, value in course]


def _mark_spans(axes: Axes, timeline: Timeline) -> None:
    for span in timeline.spans:
        axes.axvspan(span.begin_seconds, span.end_seconds, color=_ORANGE, alpha=0.08, linewidth=0)


def _legend(axes: Axes) -> None:
    axes.legend(loc="upper left", bbox_to_anchor=(1.0, 1.0), fontsize=8, frameon=False)
