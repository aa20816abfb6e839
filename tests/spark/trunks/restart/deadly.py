"""A function that stops in the middle of a task, once."""

from __future__ import annotations

import threading
from pathlib import Path

import pandas as pd

from tests.spark.trunks.watched_function import watched


class DeadlyFunction:
    """Returns what it is given, until a row comes with which it tells so and waits to be killed.

    Started again, it goes on.

    Args:
        log: Where it writes what it was handed.
        killed: The file that has it killed.
        lethal: The row.
    """

    def __init__(self, log: Path, killed: Path, lethal: int) -> None:
        self._log = log
        self._killed = killed
        self._lethal = lethal

    def __call__(self, ids: pd.Series) -> pd.Series:
        if (ids == self._lethal).any() and not self._killed.exists():
            self._killed.touch()
            threading.Event().wait()
        return watched(self._log)(ids)
