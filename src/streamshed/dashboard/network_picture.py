"""A network drawn with its samplers: from streams at the left to queries at the right."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path

import matplotlib as mpl
from matplotlib.axes import Axes
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.colors import Colormap
from matplotlib.figure import Figure

from streamshed.dashboard.png import write_png
from streamshed.network.words.wording import count_text, share_text
from streamshed.planning.explain.explained_steps import Step
from streamshed.planning.explain.explanation import Explanation

_LONGEST_LABEL = 44
_ROW_INCHES, _COLUMN_INCHES = 0.42, 3.1
_RED = "#c0392b"


def write_network_picture(explanation: Explanation, path: Path) -> None:
    """Draw an explanation as a PNG.

    Args:
        explanation: The plan.
        path: The file.

    Raises:
        SinkUnavailableError: The file cannot be written.
    """
    write_png(draw_network(explanation), path)


def draw_network(explanation: Explanation) -> Figure:
    """Draw an explanation, without a window system.

    A box is a stream, an operator or a query's own work, the paler the fewer of its rows it gets; a diamond on the
    edge into it is a sampler with its rate.
    """
    steps = explanation.steps
    columns = 1 + max(step.depth for step in steps)
    figure = Figure(figsize=(1.5 + _COLUMN_INCHES * columns, 1.2 + _ROW_INCHES * len(steps)), layout="constrained")
    FigureCanvasAgg(figure)
    figure.suptitle(
        f"{explanation.policy} at {explanation.load_factor:.3g} times the load that is sustained"
        f" ({count_text(explanation.rows_per_second)} rows/s)",
        fontsize=11,
        fontweight="bold",
    )
    axes = figure.subplots()
    axes.set_axis_off()
    axes.set_xlim(-0.75, columns + 0.35)
    axes.set_ylim(len(steps) - 0.4, -0.6)
    for child, parent in _edges(steps):
        _draw_edge(axes, steps[child], child, parent)
    errors = {outlook.query: outlook.expected_error for outlook in explanation.outlooks}
    kept_shares = {
        outlook.query: outlook.kept_share for outlook in explanation.outlooks if outlook.kept_share is not None
    }
    colors = mpl.colormaps["Blues"]
    for row, step in enumerate(steps):
        _draw_box(axes, step, row, colors)
        if step.address is None and step.name in errors:
            error = "exact" if step.effective_sampling_rate >= 1 else f"± {share_text(errors[step.name])}"
            if kept_shares.get(step.name, 1.0) < 1:
                error = (
                    f"exact, {share_text(kept_shares[step.name])} of windows"
                    if kept_shares[step.name] > 0
                    else "shut down"
                )
            axes.text(step.depth + 0.55, row, error, va="center", fontsize=8, color="#555555")
    return figure


def _edges(steps: Sequence[Step]) -> Iterator[tuple[int, int]]:
    """The place of each node that has a parent, and the parent's."""
    path: list[int] = []
    for row, step in enumerate(steps):
        del path[step.depth :]
        if path:
            yield row, path[-1]
        path.append(row)


def _draw_edge(axes: Axes, step: Step, row: int, parent_row: int) -> None:
    left, right = step.depth - 1.35, step.depth - 0.48
    axes.plot([left, left, right], [parent_row + 0.3, row, row], color="#999999", linewidth=1, zorder=1)
    if step.sampling_rate is not None:
        _draw_sampler(axes, (left + right) / 2 + 0.1, row, step.sampling_rate)


def _draw_sampler(axes: Axes, x: float, y: float, sampling_rate: float) -> None:
    axes.plot([x], [y], marker="D", markersize=7, color=_RED, zorder=3)
    axes.text(x, y - 0.28, f"{sampling_rate:.3g}", ha="center", va="bottom", fontsize=8, color=_RED)


def _draw_box(axes: Axes, step: Step, row: int, colors: Colormap) -> None:
    label = step.name if len(step.name) <= _LONGEST_LABEL else f"{step.name[: _LONGEST_LABEL - 1]}…"
    axes.text(
        step.depth - 0.45,
        row,
        f"{label}  ({step.effective_sampling_rate:.3g})",
        va="center",
        fontsize=8,
        fontweight="bold" if step.address is None else "normal",
        bbox={"boxstyle": "round,pad=0.35", "facecolor": colors(0.08 + 0.4 * step.effective_sampling_rate)},
        zorder=2,
    )
    if step.depth == 0 and step.sampling_rate is not None:
        _draw_sampler(axes, -0.62, row, step.sampling_rate)
