"""Figures as PNG files."""

from pathlib import Path

from matplotlib.figure import Figure

from streamshed.errors import SinkUnavailableError

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
