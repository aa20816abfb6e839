"""Has plans ready before they are asked for, and takes in how a micro-batch went as soon as Spark reports it."""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial

_log = logging.getLogger(__name__)

_LOOK_EVERY_SECONDS = 0.01
_PATIENCE_SECONDS = 2.0
_TRIGGERS_EARLY_SECONDS = 0.02


@dataclass(frozen=True, kw_only=True)
class Questions:
    """What can be asked of a time domain.

    Attributes:
        record_last: Takes in the micro-batch that was reported last; returns which that is.
        is_written: Whether Spark has written down what a micro-batch will read; None: that is dear to ask.
        plan: Plans a micro-batch, unless it has been planned.
    """

    record_last: Callable[[], int]
    is_written: Callable[[int], bool] | None
    plan: Callable[[int], object]


class PlanningAhead:
    """Does the control loop's work of a time domain while Spark is busy elsewhere.

    Spark reports a micro-batch shortly after its answers are written, while it looks for new input; then the report is
    taken in. Spark writes down what the next micro-batch will read a tenth of a second before the first task of it asks
    for the plan: it optimizes its own plan meanwhile, and the micro-batch is planned at that time, too.

    Nothing of Spark's tells of either in time, so it is looked for. (A listener is told of reports, but PySpark turns
    each into Python by hundreds of calls, among them searches of all jars: 0.15 s of a core per micro-batch, measured.)
    What comes too late here is done when the plan is asked for; what fails here is raised then.

    Args:
        questions: What to ask.
        trigger_interval_seconds: How often a micro-batch should start: at multiples of it since the epoch, or at once
            where the one before took longer.
        clock: Seconds since the epoch.
    """

    def __init__(
        self, questions: Questions, trigger_interval_seconds: float, *, clock: Callable[[], float] = time.time
    ) -> None:
        self._questions = questions
        self._interval = trigger_interval_seconds
        self._clock = clock
        self._changed = threading.Condition()
        self._latest = -1
        self._is_closed = False

    def ended(self, micro_batch_id: int) -> None:
        """Follow what comes after the answers of a micro-batch are written; returns at once."""
        with self._changed:
            self._latest = micro_batch_id
            self._changed.notify_all()
        threading.Thread(target=self._follow, args=(micro_batch_id,), name="streamshed-ahead", daemon=True).start()

    def close(self) -> None:
        """Follow nothing any longer."""
        with self._changed:
            self._is_closed = True
            self._changed.notify_all()

    def _follow(self, micro_batch_id: int) -> None:
        try:
            if self._seen(micro_batch_id, lambda: self._questions.record_last() >= micro_batch_id):
                self._plan(micro_batch_id, self._questions.is_written)
        except Exception:  # noqa: BLE001 - whatever it is, whoever asks for the plan has it raised where it is seen
            _log.debug("what comes after micro-batch %s could not be followed", micro_batch_id, exc_info=True)

    def _plan(self, micro_batch_id: int, is_written: Callable[[int], bool] | None) -> None:
        """Plan the next micro-batch as soon as it comes: at once, or with the next trigger."""
        if is_written is None:
            return
        comes = partial(is_written, micro_batch_id + 1)
        if self._seen(micro_batch_id, comes) or (
            self._is_triggered(micro_batch_id) and self._seen(micro_batch_id, comes)
        ):
            self._questions.plan(micro_batch_id + 1)

    def _is_triggered(self, micro_batch_id: int) -> bool:
        """Wait for the next trigger, about; whether it came, and nothing else."""
        left = self._interval - self._clock() % self._interval
        return not self._is_over(micro_batch_id, left - _TRIGGERS_EARLY_SECONDS)

    def _seen(self, micro_batch_id: int, happened: Callable[[], bool]) -> bool:
        """Look until something happens that should do so soon."""
        for _ in range(round(_PATIENCE_SECONDS / _LOOK_EVERY_SECONDS)):
            if happened():
                return True
            if self._is_over(micro_batch_id, _LOOK_EVERY_SECONDS):
                return False
        return False

    def _is_over(self, micro_batch_id: int, seconds: float) -> bool:
        """Wait; whether a later micro-batch is through by then, or nothing is followed any longer."""
        with self._changed:
            return self._changed.wait_for(lambda: self._is_closed or self._latest > micro_batch_id, seconds)
