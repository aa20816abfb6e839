"""The pictures of the benchmarks `throughput` and `overhead`, as PNG."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

from matplotlib.axes import Axes
from matplotlib.ticker import EngFormatter

from streamshed.dashboard.png import BLUE, COLORS, GRAY, GREEN, write_png
from streamshed_bench.runs.pictures import titled_figure
from streamshed_bench.runs.ratios import median_interval


def draw_throughput(
    path: Path, *, bars: Mapping[str, float], by_queries: Mapping[int, float], by_keys: Mapping[int, float]
) -> None:
    """Draw rows per second of the contestants, and how ours fall with queries and groups.

    Args:
        path: The file.
        bars: Rows per second by contestant.
        by_queries: Ours by the number of queries.
        by_keys: Ours by the number of groups.

    Raises:
        SinkUnavailableError: The file cannot be written.
    """
    figure = titled_figure((12.0, 4.2), "Throughput on one machine")
    contestants, queries, keys = figure.subplots(1, 3)
    _draw_contestants(contestants, bars)
    _draw_growth(queries, by_queries, "queries in one network")
    _draw_growth(keys, by_keys, "groups of one query")
    write_png(figure, path)


def draw_text_throughput(path: Path, *, bars: Mapping[str, float], cpu: Mapping[str, float]) -> None:
    """Draw rows per second of the contestants over lines of JSON, and the CPU of the demo's queries.

    Args:
        path: The file.
        bars: Rows per second by contestant.
        cpu: Microseconds per row of a demo's micro-batch, by who used them; may be empty.

    Raises:
        SinkUnavailableError: The file cannot be written.
    """
    figure = titled_figure((9.0, 3.6), "Throughput over JSON text on one machine")
    contestants, demo = figure.subplots(1, 2)
    _draw_contestants(contestants, bars)
    demo.barh(list(cpu), list(cpu.values()), color=GREEN)
    demo.invert_yaxis()
    demo.set_xlabel("CPU per row of the demo's nine queries, microseconds")
    write_png(figure, path)


def draw_overhead(path: Path, *, ratios: Mapping[int, Sequence[float]]) -> None:
    """Draw the ratio of each pair, their median and its confidence interval.

    Args:
        path: The file.
        ratios: Rows per second with samplers and plan table ÷ without, pair by pair, by rows of a micro-batch.

    Raises:
        SinkUnavailableError: The file cannot be written.
    """
    figure = titled_figure((8.0, 4.0), "Samplers and plan table compiled in, nothing shed")
    axes = figure.subplots()
    axes.axhline(1.0, color=GRAY, linewidth=1, linestyle="--")
    for color, (rows, of_pairs) in zip(COLORS, ratios.items(), strict=False):
        interval = median_interval(of_pairs)
        label = f"{rows / 1e6:g} M rows: median {interval.median:.3f}, 95 %: {interval.low:.3f} to {interval.high:.3f}"
        axes.plot(range(1, len(of_pairs) + 1), of_pairs, "o", color=color, markersize=4, label=label)
        axes.axhline(interval.median, color=color, linewidth=1.4)
        axes.axhspan(interval.low, interval.high, color=color, alpha=0.15, linewidth=0)
    axes.set_xlabel("pair")
    axes.set_ylabel("rows per second, with ÷ without")
    axes.legend(fontsize=8, frameon=False)
    write_png(figure, path)


def _draw_contestants(axes: Axes, bars: Mapping[str, float]) -> None:
    axes.barh(list(bars), list(bars.values()), color=BLUE)
    axes.invert_yaxis()
    axes.set_xscale("log")
    axes.set_xlabel("rows per second")
    axes.xaxis.set_major_formatter(EngFormatter())
    for place, value in enumerate(bars.values()):
        axes.text(value, place, f" {value / 1e6:.2f} M", va="center", fontsize=8)
    axes.set_xlim(right=max(bars.values()) * 4)


def _draw_growth(axes: Axes, speeds: Mapping[int, float], name: str) -> None:
    axes.plot(list(speeds), list(speeds.values()), "o-", color=GREEN, markersize=4)
    axes.set_xscale("log")
    axes.set_yscale("log")
    axes.set_xlabel(name)
    axes.set_ylabel("rows per second")
    axes.yaxis.set_major_formatter(EngFormatter())
    axes.grid(visible=True, which="both", alpha=0.2)
