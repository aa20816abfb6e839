"""Figures as PNG files, and the colors in them."""

from pathlib import Path

from matplotlib.figure import Figure

from streamshed.errors import SinkUnavailableError

COLORS = (
    "#0072b2",
    "#e69f00",
    "#009e73",
    "#d55e00",
    "#cc79a7",
    "#56b4e9",
    "#777777",
)
BLUE, ORANGE, GREEN, VERMILION, PURPLE, SKY, GRAY = COLORS
"""All colors of pictures, those of benchmarks, too.

People who are color-blind tell them apart (M. Okabe and K. Ito, Color Universal Design).
"""

_DOTS_PER_INCH = 110


def write_png(figure: Figure, path: Path) -> None:
    """Write a figure.

    Raises:
        SinkUnavailableError: The file cannot be written.
    """
    try:
        figure.savefig(path, dpi=_DOTS_PER_INCH, format="png")
    except OSError as error:
        raise SinkUnavailableError(f"picture {path}: cannot be written: {error}") from error
