"""Children, one after the other: each is started, and all but the last are killed."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from enum import StrEnum

import numpy as np

from tests.spark.harness import PATIENCE_SECONDS
from tests.spark.kill_loop.ledger import Ledger
from tests.spark.kill_loop.places import Places

SOONEST_SECONDS, LATEST_SECONDS = 3.0, 20.0
"""After its start a child is killed so soon, and so late."""

LATER, EARLIER = 1.5, 0.8
"""By these factors the latest moment changes when nothing was done by then, and when something was: on a slow machine
nothing would ever be done else."""


class Phase(StrEnum):
    """Where a child was when it was killed."""

    STARTING = "before the first micro-batch"
    PLANNING = "in a micro-batch, not planned yet"
    WORKING = "in a micro-batch, planned, not written"
    COMMITTING = "in a micro-batch, written, not committed"
    BETWEEN = "between micro-batches"


class EndedItselfError(Exception):
    """A child stopped before it was killed."""


@dataclass
class Attempts:
    """Starts and kills children.

    Attributes:
        places: Where all is.
        ledgers: Of each clock; they read what there is after each. Phases are those of the first.
        chance: Says when they are killed.
        phases: How often they were killed where.
        repeated: The micro-batches that children were killed in, which others ran again.
        count: How many were killed.
    """

    places: Places
    ledgers: Sequence[Ledger]
    chance: np.random.Generator
    phases: Counter[Phase] = field(default_factory=Counter)
    repeated: set[int] = field(default_factory=set)
    count: int = 0
    _latest_seconds: float = LATEST_SECONDS

    def kill_one(self) -> tuple[float, Phase]:
        """Start a child and kill it, with all its processes; returns after how many seconds, and in which phase."""
        seconds = float(self.chance.uniform(SOONEST_SECONDS, self._latest_seconds))
        done_before = self.ledgers[0].last_done()
        with self._child() as process, suppress(subprocess.TimeoutExpired):
            process.wait(seconds)
            raise EndedItselfError(self._last_words())
        self._read()
        factor = LATER if self.ledgers[0].last_done() == done_before else EARLIER
        self._latest_seconds = max(LATEST_SECONDS, self._latest_seconds * factor)
        phase = self._phase(done_before, has_started=self.places.started(self.count).exists())
        self.phases[phase] += 1
        self.count += 1
        return seconds, phase

    def drain(self, end_feed: Callable[[], None]) -> None:
        """Start the last child, and wait until it has drained.

        Args:
            end_feed: Returns when all has come that is to come; the child runs meanwhile.
        """
        with self._child() as process:
            end_feed()
            self.places.all_fed.touch()
            code = process.wait(2 * PATIENCE_SECONDS)
        if code:
            raise EndedItselfError(self._last_words())
        self._read()

    @contextmanager
    def _child(self) -> Iterator[subprocess.Popen[bytes]]:
        """Start a child; in the end it is killed, with all its processes."""
        command = [sys.executable, "-m", "tests.spark.kill_loop.program", str(self.places.path), str(self.count)]
        with self.places.log.open("a") as log:
            process = subprocess.Popen(command, stdout=log, stderr=log, start_new_session=True)
        try:
            yield process
        finally:
            with suppress(ProcessLookupError):
                os.killpg(process.pid, signal.SIGKILL)
            process.wait()

    def _read(self) -> None:
        for ledger in self.ledgers:
            ledger.read()

    def _phase(self, done_before: int | None, *, has_started: bool) -> Phase:
        begun, done = self.ledgers[0].last_begun(), self.ledgers[0].last_done()
        if begun is None or not has_started:
            return Phase.STARTING
        if begun == done:
            return Phase.STARTING if done == done_before else Phase.BETWEEN
        self.repeated.add(begun)
        if begun not in self.ledgers[0].plans:
            return Phase.PLANNING
        folder = self.places.answers / f"query_id={self.ledgers[0].query_id}" / f"micro_batch_id={begun}"
        return Phase.COMMITTING if (folder / "_SUCCESS").exists() else Phase.WORKING

    def _last_words(self) -> str:
        return self.places.log.read_text()[-6000:]
