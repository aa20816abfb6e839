"""The benchmarks' pictures, as PNG, drawn without a window system."""

from __future__ import annotations

import itertools
from collections.abc import Mapping, Sequence
from pathlib import Path
from statistics import fmean

from matplotlib.axes import Axes
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure
from matplotlib.ticker import EngFormatter

from streamshed.dashboard.png import BLUE, COLORS, GRAY, GREEN, ORANGE, VERMILION, write_png
from streamshed_bench.runs.burst_course import BurstCourse, Course

_DELAY_COLORS = (BLUE, VERMILION, GRAY)


def draw_burst(path: Path, course: BurstCourse) -> None:
    """Draw delay, sampling rate and load over the time of a burst.

    Args:
        path: The file.
        course: What happened.

    Raises:
        SinkUnavailableError: The file cannot be written.
    """
    figure = titled_figure((10.0, 8.0), "A burst of packets as JSON text")
    delay, rate_axes, load = figure.subplots(3, 1, sharex=True, height_ratios=[1.6, 0.8, 0.8])
    for color, (name, points) in zip(itertools.cycle(_DELAY_COLORS), course.delays.items(), strict=False):
        _steps(delay, points, color=color, label=name)
    delay.set_yscale("log")
    delay.set_ylabel("delay of answers, seconds")
    delay.legend(loc="upper left", fontsize=8, frameon=False)
    _steps(rate_axes, course.sampling_rate, color=GREEN, label="sampling rate")
    rate_axes.set_ylim(0, 1.05)
    rate_axes.set_ylabel("sampling rate")
    _steps(load, course.load, color=ORANGE, label="load")
    load.axhline(1.0, color=GRAY, linewidth=1, linestyle="--")
    load.set_ylim(bottom=0)
    load.set_ylabel("load factor")
    load.set_xlabel("seconds")
    for axes in (delay, rate_axes, load):
        axes.axvspan(*course.burst_seconds, color=ORANGE, alpha=0.08, linewidth=0)
    write_png(figure, path)


def draw_goodput(path: Path, *, courses: Mapping[str, Mapping[str, Mapping[float, float]]]) -> None:
    """Draw useful rows, delay and errors over the load.

    Args:
        path: The file.
        courses: Of `goodput`, `delay` ÷ goal, `error` of counts and that of the `oracle`, by network, over the load.

    Raises:
        SinkUnavailableError: The file cannot be written.
    """
    figure = titled_figure((12.0, 4.2), "Work that reaches an answer, as the load rises")
    goodput, delay, error = figure.subplots(1, 3)
    for color, name in zip((BLUE, ORANGE, GREEN, VERMILION), courses["goodput"], strict=False):
        for axes, panel in ((goodput, "goodput"), (delay, "delay"), (error, "error")):
            course = courses[panel][name]
            axes.plot(list(course), list(course.values()), "o-", color=color, markersize=4, label=name)
        course = courses["oracle"][name]
        error.plot(list(course), list(course.values()), "--", color=color, label=f"{name}, by an oracle")
    for axes in (goodput, delay):
        axes.axhline(1.0, color=GRAY, linewidth=1, linestyle="--")
        axes.set_ylim(bottom=0)
    goodput.set_ylabel("useful rows per second ÷ those at load 1")
    delay.set_ylabel("95th percentile of delay ÷ goal")
    error.set_ylabel("mean relative error of counts")
    error.set_yscale("log")
    for axes in (goodput, delay, error):
        axes.set_xscale("log")
        axes.set_xlabel("load ÷ what is sustained")
        axes.set_xticks(sorted({load for course in courses["goodput"].values() for load in course}))
        axes.xaxis.set_major_formatter("{x:g}")
        axes.minorticks_off()
        axes.grid(visible=True, alpha=0.2)
    error.legend(fontsize=8, frameon=False)
    goodput.legend(fontsize=8, frameon=False)
    write_png(figure, path)


def draw_kafka(
    path: Path,
    *,
    speeds: Mapping[str, float],
    delays: Mapping[int, float],
    recoveries: Mapping[str, tuple[float, float]],
    goal_seconds: float,
) -> None:
    """Draw how fast a topic is read, how late its rows are answered, and how soon again after crashes.

    Args:
        path: The file.
        speeds: Rows per second by contestant.
        delays: 95th percentile by load, seconds.
        recoveries: By what was gone, seconds to the first answers and to those within the goal.
        goal_seconds: The latency goal.

    Raises:
        SinkUnavailableError: The file cannot be written.
    """
    figure = titled_figure((12.0, 3.6), "A topic of a real broker on the same cores")
    contestants, by_load, recovered = figure.subplots(1, 3)
    contestants.barh(list(speeds), list(speeds.values()), color=BLUE)
    contestants.invert_yaxis()
    contestants.set_xlabel("rows per second")
    contestants.xaxis.set_major_formatter(EngFormatter())
    by_load.bar([f"{load}×" for load in delays], list(delays.values()), color=BLUE)
    by_load.set_ylabel("95th percentile of delay, seconds")
    for number, (label, color) in enumerate((("first answers", BLUE), ("within the goal", ORANGE))):
        places = [place + 0.4 * number for place in range(len(recoveries))]
        recovered.bar(places, [both[number] for both in recoveries.values()], width=0.4, color=color, label=label)
    recovered.set_xticks([place + 0.2 for place in range(len(recoveries))], list(recoveries))
    recovered.set_ylabel("seconds")
    recovered.legend(fontsize=8, frameon=False)
    by_load.axhline(goal_seconds, color=GRAY, linewidth=1, linestyle="--")
    write_png(figure, path)


def draw_accuracy(path: Path, *, errors: Mapping[tuple[str, float], Sequence[float]]) -> None:
    """Draw each policy's mean error over the load, and over time under a load in the middle: [B04] Figures 4 and 5.

    Args:
        path: The file.
        errors: By policy and load factor, second by second.

    Raises:
        SinkUnavailableError: The file cannot be written.
    """
    figure = titled_figure((11.0, 4.5), "Error under load: the largest of seven queries in each second")
    by_load, over_time = figure.subplots(1, 2)
    policies = dict.fromkeys(policy for policy, _ in errors)
    middle = _in_the_middle(errors, list(policies))
    for color, policy in zip((VERMILION, ORANGE, BLUE), policies, strict=False):
        points = sorted((load, fmean(found)) for (of, load), found in errors.items() if of == policy)
        by_load.plot([load for load, _ in points], [error for _, error in points], "o-", color=color, label=policy)
        over_time.plot(errors[policy, middle], color=color, label=policy)
    by_load.set_xlabel("load factor")
    by_load.set_ylabel("relative error, mean over the seconds")
    over_time.set_xlabel("seconds")
    over_time.set_ylabel(f"relative error at load {middle:g}")
    for axes in (by_load, over_time):
        axes.set_ylim(bottom=0)
        axes.legend(fontsize=8, frameon=False)
    write_png(figure, path)


def _in_the_middle(errors: Mapping[tuple[str, float], Sequence[float]], policies: Sequence[str]) -> float:
    """The load in the middle of those at which all policies were run."""
    loads = sorted({load for _, load in errors})
    compared = [load for load in loads if all((policy, load) in errors for policy in policies)]
    return compared[len(compared) // 2]


def draw_planning(path: Path, *, planned: Mapping[str, Mapping[int, float]], replanned: Mapping[int, float]) -> None:
    """Draw how long plans take over the number of queries.

    Args:
        path: The file.
        planned: Milliseconds by policy and number of queries.
        replanned: Milliseconds of a plan for another load.

    Raises:
        SinkUnavailableError: The file cannot be written.
    """
    figure = titled_figure((7.0, 4.5), "Planning: three operators per query")
    axes = figure.subplots()
    courses = {**planned, "for another load": replanned}
    for color, (name, by_queries) in zip(COLORS, courses.items(), strict=False):
        axes.plot(list(by_queries), list(by_queries.values()), "o-", color=color, markersize=4, label=name)
    axes.set_xscale("log")
    axes.set_yscale("log")
    axes.set_xlabel("queries")
    axes.set_ylabel("milliseconds")
    axes.grid(visible=True, which="both", alpha=0.2)
    axes.legend(fontsize=8, frameon=False)
    write_png(figure, path)


def draw_coverage(path: Path, *, shares: Mapping[tuple[str, float], float]) -> None:
    """Draw how often bounds hold that should hold 95 times of 100, over the sampling rate.

    Args:
        path: The file.
        shares: By recording and sampling rate.

    Raises:
        SinkUnavailableError: The file cannot be written.
    """
    figure, axes = _over_sampling_rates(shares, "How often the truth lies within 95 % bounds", level=0.95)
    axes.set_ylim(0.85, 1.0)
    axes.set_xlabel("sampling rate")
    axes.set_ylabel("share of answers that are not flagged low")
    write_png(figure, path)


def draw_error_ratios(path: Path, *, ratios: Mapping[tuple[str, float], float], title: str, against: str) -> None:
    """Draw the errors of one way to sample ÷ those of another, over the sampling rate.

    Args:
        path: The file.
        ratios: By what is summed and sampling rate.
        title: Of which way.
        against: The other way.

    Raises:
        SinkUnavailableError: The file cannot be written.
    """
    figure, axes = _over_sampling_rates(ratios, title, level=1.0)
    axes.set_ylim(0.0, None)
    axes.set_xlabel("sampling rate")
    axes.set_ylabel(f"÷ error {against}")
    write_png(figure, path)


def draw_latency(path: Path, *, parts: Mapping[str, Mapping[str, float]], times: Mapping[str, Sequence[float]]) -> None:
    """Draw where the time of a micro-batch goes, and how long each took.

    Args:
        path: The file.
        parts: Median seconds of each part, in order, by network.
        times: Seconds of all micro-batches, by network.

    Raises:
        SinkUnavailableError: The file cannot be written.
    """
    figure = titled_figure((9.0, 3.6), "A micro-batch of few rows")
    axes = figure.subplots()
    ends = dict.fromkeys(parts, 0.0)
    colors = itertools.cycle((GRAY, VERMILION, ORANGE, BLUE, GREEN))
    for part in next(iter(parts.values())):
        seconds = [parts[name][part] for name in parts]
        axes.barh(list(parts), seconds, left=list(ends.values()), color=next(colors), label=part.replace("_", " "))
        ends = {name: ends[name] + parts[name][part] for name in parts}
    for place, name in enumerate(parts):
        axes.plot(times[name], [place] * len(times[name]), "k|", markersize=12, alpha=0.3)
    axes.invert_yaxis()
    axes.set_xlim(left=0)
    axes.set_xlabel("seconds; a line for each micro-batch")
    axes.legend(fontsize=8, frameon=False, ncols=5, loc="upper center", bbox_to_anchor=(0.5, -0.18))
    write_png(figure, path)


def draw_changes(path: Path, *, pauses: Mapping[int, Sequence[float]], trigger_seconds: float) -> None:
    """Draw how long a run paused for each change of its queries.

    Args:
        path: The file.
        pauses: Seconds of each change, by number of queries.
        trigger_seconds: The trigger interval, which a pause should not exceed.

    Raises:
        SinkUnavailableError: The file cannot be written.
    """
    figure = titled_figure((7.0, 2.6), "A query comes, or goes, while others run")
    axes = figure.subplots()
    for place, query_count in enumerate(pauses):
        of_count = pauses[query_count]
        axes.plot(of_count, [place] * len(of_count), "|", color=BLUE, markersize=16, markeredgewidth=1.5)
    axes.axvline(trigger_seconds, color=VERMILION, linewidth=1, linestyle="--", label="trigger interval")
    axes.set_yticks(range(len(pauses)), [f"{query_count} queries" for query_count in pauses])
    axes.set_ylim(len(pauses) - 0.5, -0.5)
    axes.set_xlim(left=0)
    axes.set_xlabel("pause in seconds; a line for each change")
    axes.legend(fontsize=8, frameon=False)
    write_png(figure, path)


def draw_soak(path: Path, *, minutes: Sequence[float], amounts: Mapping[str, Sequence[float]]) -> None:
    """Draw what a run holds while it goes on.

    Args:
        path: The file.
        minutes: When it was looked at.
        amounts: What it held then, by name.

    Raises:
        SinkUnavailableError: The file cannot be written.
    """
    panels = {
        "memory, MB": ("java_heap_megabytes", "driver_megabytes", "workers_megabytes"),
        "threads, descriptors": ("threads", "descriptors"),
        "files of the checkpoint": ("state_files", "source_logs_files", "plans_files", "journal_files"),
        "MB on disk": ("source_logs_bytes", "journal_bytes", "set_aside_bytes", "state_bytes"),
    }
    figure = titled_figure((12.0, 6.4), "What a run holds while it goes on")
    for axes, (title, names) in zip(figure.subplots(2, 2).flat, panels.items(), strict=True):
        for name, color in zip(names, (BLUE, ORANGE, GREEN, GRAY), strict=False):
            scale = 1e-6 if name.endswith("_bytes") else 1.0
            label = name.removesuffix("_megabytes").removesuffix("_bytes").replace("_", " ")
            axes.plot(minutes, [scale * amount for amount in amounts[name]], color=color, linewidth=1.4, label=label)
        axes.set_ylim(bottom=0)
        axes.set_xlim(left=0)
        axes.set_ylabel(title)
        axes.set_xlabel("minutes")
        axes.legend(fontsize=8, frameon=False)
    write_png(figure, path)


def _over_sampling_rates(values: Mapping[tuple[str, float], float], title: str, *, level: float) -> tuple[Figure, Axes]:
    figure = titled_figure((7.0, 4.5), title)
    axes = figure.subplots()
    for color, name in zip(COLORS, dict.fromkeys(name for name, _ in values), strict=False):
        points = sorted((sampling_rate, value) for (of, sampling_rate), value in values.items() if of == name)
        axes.plot(*zip(*points, strict=True), "o-", color=color, markersize=4, label=name)
    axes.axhline(level, color=GRAY, linewidth=1, linestyle="--")
    axes.set_xscale("log")
    axes.legend(fontsize=8, frameon=False)
    return figure, axes


def _steps(axes: Axes, course: Course, *, color: str, label: str) -> None:
    times, values = [time for time, _ in course], [value for _, value in course]
    axes.step(times, values, where="post", color=color, linewidth=1.4, label=label)


def titled_figure(size_inches: tuple[float, float], title: str) -> Figure:
    """Make a figure with a title, in inches, that no window shows."""
    figure = Figure(figsize=size_inches, layout="constrained")
    FigureCanvasAgg(figure)
    figure.suptitle(title, fontsize=12, fontweight="bold")
    return figure
