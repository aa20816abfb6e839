"""The picture of the benchmark `blocks`."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure

from streamshed.dashboard.png import BLUE, GRAY, ORANGE, write_png

_WAYS = {
    "chosen": (BLUE, "-", "as many blocks as the plan chooses"),
    "all": (GRAY, "--", "all blocks"),
    "worked_on": (ORANGE, ":", "as many as can be worked on as a whole"),
}


def draw_blocks(path: Path, *, drawn: Sequence[tuple[int, float, Mapping[str, float]]]) -> None:
    """Draw errors over the load, for each number of rows that a block has.

    Args:
        path: The file.
        drawn: Rows of a block, load, and errors by way.

    Raises:
        SinkUnavailableError: The file cannot be written.
    """
    sizes = list(dict.fromkeys(rows for rows, _, _ in drawn))
    figure = Figure(figsize=(10.0, 4.2), layout="constrained")
    FigureCanvasAgg(figure)
    figure.suptitle("Errors of totals by the blocks that are read", fontweight="bold")
    for axes, size in zip(figure.subplots(1, len(sizes), squeeze=False)[0], sizes, strict=True):
        of_size = [(load, errors) for rows, load, errors in drawn if rows == size]
        for way, (color, style, label) in _WAYS.items():
            there = [(load, errors[way]) for load, errors in of_size if way in errors]
            axes.plot(*zip(*there, strict=True), color=color, linestyle=style, marker="o", label=label)
        axes.set_title(f"{size} rows a block")
        axes.set_xlabel("load ÷ what can be read and worked on")
        axes.set_ylabel("root mean square of relative errors")
        axes.set_yscale("log")
        axes.legend(fontsize="small")
    write_png(figure, path)
