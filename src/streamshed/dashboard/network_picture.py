"""A network drawn with its samplers: from streams at the left to queries at the right."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path

from matplotlib.axes import Axes
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.colors import to_rgba
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.patches import Patch
from matplotlib.text import Text

from streamshed.dashboard.png import GRAY, SKY, VERMILION, write_png
from streamshed.network.words.wording import count_text, share_text
from streamshed.planning.explain.explained_steps import Step
from streamshed.planning.explain.explanation import Explanation
from streamshed.planning.explain.outlook import Outlook

_LONGEST_LABEL = 44
_ROW_INCHES, _COLUMN_INCHES = 0.42, 2.4
_LEGEND = (
    Line2D([], [], marker="D", linestyle="", color=VERMILION, label="a sampler, and the share that it keeps"),
    Patch(facecolor=SKY, alpha=0.4, edgecolor="black", label="a step or query, and the share of its rows"),
)
_GUESSED = Patch(facecolor="white", edgecolor="black", linestyle="--", label="its costs are guesses")


def write_network_picture(explanation: Explanation, path: Path, *, costs_are_guessed: bool = False) -> None:
    """Draw an explanation as a PNG.

    Args:
        explanation: The plan.
        path: The file.
        costs_are_guessed: Whether it rests on guesses, where nothing was measured: they are drawn as guesses.

    Raises:
        SinkUnavailableError: The file cannot be written.
    """
    write_png(draw_network(explanation, costs_are_guessed=costs_are_guessed), path)


def draw_network(explanation: Explanation, *, costs_are_guessed: bool = False) -> Figure:
    """Draw an explanation, without a window system.

    A box is a stream, an operator or a query's own work, the paler the fewer of its rows it gets; a diamond on the
    edge into it is a sampler with its rate. A box whose costs are guesses has a dashed edge.
    """
    steps = explanation.steps
    columns = 1 + max(step.depth for step in steps)
    figure = Figure(figsize=(2.5 + _COLUMN_INCHES * columns, 1.6 + _ROW_INCHES * len(steps)), layout="constrained")
    FigureCanvasAgg(figure)
    load = f"policy {explanation.policy}, {count_text(explanation.rows_per_second)} rows/s"
    basis = "; costs are guesses" if costs_are_guessed else ""
    figure.suptitle(f"{_message(explanation)}\n{load}{basis}", fontsize=11, fontweight="bold")
    axes = figure.subplots()
    axes.set_axis_off()
    axes.set_xlim(-0.75, columns + 0.75)
    axes.set_ylim(len(steps) - 0.4, -0.6)
    for child, parent in _edges(steps):
        _draw_edge(axes, steps[child], child, parent)
    outlooks = {outlook.query: outlook for outlook in explanation.outlooks}
    for row, step in enumerate(steps):
        box = _draw_box(axes, step, row, is_guessed=costs_are_guessed and not step.is_measured)
        if step.address is None and step.name in outlooks:
            _write_beside(axes, box, _error(outlooks[step.name]))
    legend = [*_LEGEND, _GUESSED] if costs_are_guessed else _LEGEND
    figure.legend(handles=legend, loc="outside lower center", ncols=len(legend), fontsize=9, frameon=False)
    return figure


def _message(explanation: Explanation) -> str:
    """What comes of the load, in a line."""
    outlooks = explanation.outlooks
    load = f"At {explanation.load_factor:.3g}× the load that fits,"
    sampled = [outlook for outlook in outlooks if outlook.effective_sampling_rate < 1]
    missing = [outlook for outlook in outlooks if (outlook.kept_share if outlook.kept_share is not None else 1.0) < 1]
    if not sampled and not missing:
        return f"{load} every answer is exact"
    errors = [outlook.expected_error for outlook in sampled if not outlook.is_joined_in_part]
    parts = []
    if sampled:
        off = f", off by up to {share_text(max(errors))}" if errors else ""
        are = "is" if len(sampled) == 1 else "are"
        parts.append(f"{len(sampled)} of {len(outlooks)} queries {are} answered in part{off}")
    if missing:
        leave = "leaves" if len(missing) == 1 else "leave"
        parts.append(f"{len(missing)} of {len(outlooks)} {leave} out windows")
    return f"{load} {'; '.join(parts)}"


def _error(outlook: Outlook) -> str:
    """What a query's answers are like."""
    if outlook.kept_share is not None and outlook.kept_share < 1:
        is_shut_down = outlook.kept_share <= 0
        return "shut down" if is_shut_down else f"exact, {share_text(outlook.kept_share)} of windows"
    if outlook.is_joined_in_part:
        return "error unknown"
    return "exact" if outlook.effective_sampling_rate >= 1 else f"± {share_text(outlook.expected_error)}"


def _write_beside(axes: Axes, box: Text, text: str) -> None:
    axes.annotate(
        text,
        (1, 0.5),
        xycoords=box,
        xytext=(10, 0),
        textcoords="offset points",
        va="center",
        fontsize=9,
        color=GRAY,
    )


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
    axes.plot([left, left, right], [parent_row + 0.3, row, row], color=GRAY, linewidth=1, zorder=1)
    if step.sampling_rate is not None:
        _draw_sampler(axes, (left + right) / 2 + 0.1, row, step.sampling_rate)


def _draw_sampler(axes: Axes, x: float, y: float, sampling_rate: float) -> None:
    axes.plot([x], [y], marker="D", markersize=7, color=VERMILION, zorder=3)
    axes.text(x, y - 0.28, f"{sampling_rate:.3g}", ha="center", va="bottom", fontsize=9, color=VERMILION)


def _draw_box(axes: Axes, step: Step, row: int, *, is_guessed: bool) -> Text:
    label = step.name if len(step.name) <= _LONGEST_LABEL else f"{step.name[: _LONGEST_LABEL - 1]}…"
    if step.depth == 0 and step.sampling_rate is not None:
        _draw_sampler(axes, -0.62, row, step.sampling_rate)
    return axes.text(
        step.depth - 0.45,
        row,
        f"{label}  ({step.effective_sampling_rate:.3g})",
        va="center",
        fontsize=9,
        fontweight="bold" if step.address is None else "normal",
        bbox={
            "boxstyle": "round,pad=0.35",
            "facecolor": to_rgba(SKY, 0.1 + 0.4 * step.effective_sampling_rate),
            "edgecolor": "black",
            "linestyle": "--" if is_guessed else "-",
        },
        zorder=2,
    )
