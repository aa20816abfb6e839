"""The picture of the benchmark `joins`, laid out like the paper's figures ([G05] Figures 3 to 9)."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path

from matplotlib.axes import Axes
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure

from streamshed.dashboard.png import BLUE, COLORS, GRAY, GREEN, ORANGE, PURPLE, VERMILION, write_png
from streamshed_bench.joins.join_cases import ONE_SIDED, TWO_SIDED, JoinCase
from streamshed_bench.joins.join_runs import SECOND, JoinRun
from streamshed_bench.joins.joins_by_clock import RATE_SCALE, TimedRuns
from streamshed_bench.joins.joins_figures import STEADY_SECONDS, Runs
from streamshed_bench.joins.joins_indexed import INDEXED, UNINDEXED, IndexedRuns
from streamshed_bench.joins.joins_recorded import RecordedRuns

_COLORS = {
    "full": GRAY,
    "random_drop": VERMILION,
    "rate_adaptation": ORANGE,
    "time_correlation": GREEN,
    "direction": PURPLE,
    "greedy": BLUE,
}
_WHOLE_COURSE = slice(None)


def draw_joins(
    path: Path,
    *,
    runs: Runs,
    timed: TimedRuns | None = None,
    indexed: IndexedRuns | None = None,
    recorded: Mapping[str, RecordedRuns],
) -> None:
    """Draw results over time, by skew, by window and by basic window, and of recorded streams.

    Args:
        path: The file.
        runs: What was run at a fixed number of comparisons.
        timed: What was run by the clock.
        indexed: Windows of 200 s.
        recorded: What was run of recorded streams.

    Raises:
        SinkUnavailableError: The file cannot be written.
    """
    figure = Figure(figsize=(16.5, 12.6), layout="constrained")
    FigureCanvasAgg(figure)
    figure.suptitle("Windowed joins: at a fixed number of comparisons, by the clock, recorded", fontweight="bold")
    axes = figure.subplots(3, 4).ravel()
    _draw_course(axes[0], runs, ONE_SIDED, "τ = 0, a window on one side (Figure 4)")
    _draw_fractions(axes[1], runs.by_case[JoinCase(policy="direction")])
    _draw_course(axes[2], runs, JoinCase(policy="greedy"), "τ = 5/8 ρ (Figure 7)")
    _draw_course(axes[3], runs, JoinCase(policy="greedy", shifts=TWO_SIDED), "partners on both sides")
    _draw_course(axes[4], runs, JoinCase(policy="greedy", threshold=0), "equality, τ = 5/8 ρ")
    _draw_by_skew_and_window(axes[5], runs, ONE_SIDED)
    _draw_by_skew(axes[6], runs, JoinCase(policy="greedy", threshold=4))
    _draw_basic_windows(axes[7], runs)
    _draw_timed(axes[8], timed)
    _draw_indexed(axes[9], indexed)
    _draw_shares(axes[10], recorded)
    _draw_profiles(axes[11], recorded)
    write_png(figure, path)


def _draw_course(axes: Axes, runs: Runs, case: JoinCase, title: str) -> None:
    for policy, color in _COLORS.items():
        run = runs.by_case.get(replace(case, policy=policy))
        if run is not None:
            axes.plot(run.results, color=color, label=policy.replace("_", " "), linewidth=1.2)
    _finish(axes, f"seconds: {title}")


def _draw_fractions(axes: Axes, run: JoinRun) -> None:
    for color, name, place in ((ORANGE, "r1", 0), (BLUE, "r2", 1)):
        axes.plot([pair[place] for pair in run.fractions], color=color, label=name)
    _finish(axes, "seconds: direction, τ = 5/8 ρ (Figure 6)")
    axes.set_ylabel("share of the window compared")


def _draw_by_skew_and_window(axes: Axes, runs: Runs, case: JoinCase) -> None:
    lengths = sorted({run_case.window_seconds for run_case in runs.by_case if run_case.is_one_sided})
    for seconds, marker in zip(lengths, "osv", strict=False):
        for policy in ("random_drop", "rate_adaptation"):
            drawn_case = replace(case, policy=policy, window_seconds=seconds)
            label = f"{policy.replace('_', ' ')}, {seconds} s"
            _line_by_skew(axes, runs, drawn_case, label=label, color=_COLORS[policy], marker=marker)
    _finish(axes, "κ (Figure 5)")


def _draw_by_skew(axes: Axes, runs: Runs, case: JoinCase) -> None:
    for policy, color in _COLORS.items():
        _line_by_skew(axes, runs, replace(case, policy=policy), label=policy.replace("_", " "), color=color, marker="o")
    _finish(axes, "κ, θ = 4 (Figure 8)")


def _line_by_skew(axes: Axes, runs: Runs, case: JoinCase, *, label: str, color: str, marker: str) -> None:
    points = sorted(
        (run_case.skew, runs.results(run_case, _WHOLE_COURSE))
        for run_case in runs.by_case
        if replace(run_case, skew=case.skew) == case
    )
    if points:
        axes.plot(*zip(*points, strict=True), color=color, marker=marker, markersize=4, label=label)


def _draw_basic_windows(axes: Axes, runs: Runs) -> None:
    for price, color in zip(runs.chosen, (GREEN, BLUE), strict=False):
        points = sorted(runs.by_basic_window(price).items())
        axes.plot(*zip(*points, strict=True), "o-", color=color, label=f"a read costs {price:g} comparisons")
        run = runs.chosen[price]
        chosen = run.windows.basic_microseconds / SECOND, run.results_per_second(STEADY_SECONDS)
        axes.plot(*chosen, "*", color=color, markersize=14, label="chosen")
    axes.set_xscale("log")
    _finish(axes, "seconds of a basic window (Figure 9)")


def _draw_timed(axes: Axes, timed: TimedRuns | None) -> None:
    for case, run in timed.by_case.items() if timed else ():
        if not case.is_one_sided:
            axes.plot(run.results, color=_COLORS[case.policy], label=case.policy.replace("_", " "), linewidth=1.2)
    _finish(axes, f"seconds: by the clock, rates × {RATE_SCALE}, τ = 5/8 ρ")


def _draw_indexed(axes: Axes, indexed: IndexedRuns | None) -> None:
    for kernel, color in ((INDEXED, BLUE), (UNINDEXED, GREEN)):
        if indexed:
            axes.plot(*zip(*indexed.results(kernel).items(), strict=True), "o-", color=color, label=kernel)
    axes.set_xscale("log")
    _finish(axes, "seconds of a basic window, windows of 200 s, by the clock (Figure 9)")


def _draw_shares(axes: Axes, recorded: Mapping[str, RecordedRuns]) -> None:
    policies = [policy for policy in _COLORS if policy != "full"]
    for number, policy in enumerate(policies):
        places = [place + (number - 2) * 0.16 for place in range(len(recorded))]
        shares = [of.share(policy) for of in recorded.values()]
        axes.bar(places, shares, 0.16, color=_COLORS[policy], label=policy.replace("_", " "))
    axes.set_xticks(range(len(recorded)), [name.replace("_", "\n") for name in recorded], fontsize=7)
    _finish(axes, "recorded streams at five times the load")
    axes.set_ylabel("share of the full join delivered")


def _draw_profiles(axes: Axes, recorded: Mapping[str, RecordedRuns]) -> None:
    for color, (name, of) in zip(COLORS, recorded.items(), strict=False):
        lags, yields = zip(*of.profile, strict=True)
        widest, most = max(map(abs, lags)), max(*yields, 1e-12)
        shares = [results / most for results in yields]
        axes.plot([lag / widest for lag in lags], shares, color=color, label=name.replace("_", " "))
    _finish(axes, "lag ÷ window, right row − left row")
    axes.set_ylabel("results per comparison ÷ the most")


def _finish(axes: Axes, text: str) -> None:
    axes.set_xlabel(text)
    axes.set_ylabel("results per second")
    axes.set_ylim(bottom=0)
    if axes.get_legend_handles_labels()[0]:
        axes.legend(fontsize=7, frameon=False)
