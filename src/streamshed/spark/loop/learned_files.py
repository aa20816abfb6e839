"""What a run has learned, in files beside the checkpoint: read at a start, written now and then, and in the end."""

from __future__ import annotations

import logging
import time
from collections.abc import Callable

from streamshed.control.loop import ControlLoop
from streamshed.control.settings import ControlSettings
from streamshed.control.shared_time import OwnTime
from streamshed.errors import DamagedFileError
from streamshed.network.model.network import QueryNetwork
from streamshed.spark.checkpoint.storage import Storage
from streamshed.statistics.network_statistics import NetworkStatistics

_log = logging.getLogger(__name__)

LOOP_FILE, JOINS_FILE = "control.json", "joins.json"

PERIOD_SECONDS = 30.0
"""A run that is killed has lost what it learned since; writing takes some hundredths of a second."""


class LearnedFiles:
    """Keeps what was learned for the next process, also where this one has no end of its own.

    Args:
        folder: Of the time domain.
        clock: Seconds, of a clock that never goes back.
    """

    def __init__(self, folder: Storage, clock: Callable[[], float]) -> None:
        self._folder, self._clock = folder, clock
        self._texts: dict[str, Callable[[], str]] = {}
        self._written_at: float | None = None

    def read(self, name: str) -> str | None:
        """Return what a file says; None: it is not there, or damaged, and all is learned anew."""
        try:
            return self._folder.read_sealed(name)
        except DamagedFileError as error:
            _log.warning("what had been learned is lost: %s", error)
            return None

    def add(self, name: str, text: Callable[[], str]) -> None:
        """Keep a file.

        Args:
            name: Of the file.
            text: Returns what it is to say now.
        """
        self._texts[name] = text

    def write(self) -> None:
        """Write all files."""
        self._written_at = self._clock()
        for name, text in self._texts.items():
            self._folder.write_sealed(name, text())

    def write_if_due(self) -> None:
        """Write all files for the first time, or where that was a while ago."""
        if self._written_at is None or self._clock() - self._written_at >= PERIOD_SECONDS:
            self.write()


def statistics_text(statistics: Callable[[], NetworkStatistics]) -> str:
    """Return statistics for those who look at a run; empty where they cannot be told, which is no reason to stop it."""
    try:
        return statistics().to_json()
    except ValueError as error:
        _log.warning("what is known of the network is not written down: %s", error)
        return ""


def restored_loop(
    files: LearnedFiles, network: QueryNetwork, settings: ControlSettings, own_time: OwnTime
) -> ControlLoop:
    """Return the control loop as the last process left it, or a new one, and keep what it learns from now on.

    Args:
        files: Of the time domain.
        network: What runs on its streams.
        settings: Of the loop.
        own_time: The time domain's part of the time.
    """
    text, loop = files.read(LOOP_FILE), None
    if text is not None:
        try:
            loop = ControlLoop.from_json(text, network=network, settings=settings, clock=time.time, time=own_time)
        except ValueError as error:
            _log.warning("the control loop starts anew, what it had learned cannot be read: %s", error)
    loop = loop or ControlLoop(network, settings, time.time, own_time)
    files.add(LOOP_FILE, loop.to_json)
    return loop
