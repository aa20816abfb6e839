"""A function that writes down which rows it is handed."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pandas as pd


def watched(log: Path) -> Callable[[pd.Series], pd.Series]:
    """Make the function: it returns what it is handed.

    Args:
        log: The file in which it writes a line for each value.
    """

    def write_down(values: pd.Series) -> pd.Series:
        with log.open("ab", buffering=0) as lines:  # at once: others write there, too
            lines.write("".join(f"{value}\n" for value in values.dropna()).encode())
        return values

    return write_down


def rows_handed(log: Path) -> list[int]:
    """The values that the function was handed."""
    return [int(float(line)) for line in log.read_text().split()]
