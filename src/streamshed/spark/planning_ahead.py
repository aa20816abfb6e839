"""Has plans ready before they are asked for, and takes in how a micro-batch went as soon as Spark reports it."""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable

_log = logging.getLogger(__name__)

_REPORTED_WITHIN_SECONDS = 2.0
_LOOK_EVERY_SECONDS = 0.02


class PlanningAhead:
    """Does the control loop's work of a time domain while Spark is busy elsewhere.

    Spark calls `foreachBatch` when it has written down what a micro-batch will read, and only then optimizes its plan,
    writes its code and runs it. Meanwhile the micro-batch is planned, so that its tasks need not wait when they ask. It
    reports a micro-batch shortly after `foreachBatch` returned, while it looks for new input; a listener would be told
    then, but PySpark turns the event into Python with hundreds of calls, each failed lookup of a class among them a
    search of all jars: 0.15 s of a core per micro-batch, measured.

    All that is done here is done again where it failed or came too late: a plan is decided when it is asked for, and
    takes in what went before.

    Args:
        plan: Plans a micro-batch, unless it has been planned.
        record_last: Takes in the micro-batch that was reported last; returns which that is.
    """

    def __init__(self, plan: Callable[[int], object], record_last: Callable[[], int]) -> None:
        self._plan = plan
        self._record_last = record_last
        self._begun = threading.Condition()
        self._latest = -1

    def begins(self, micro_batch_id: int) -> None:
        """Have a micro-batch planned; returns at once."""
        with self._begun:
            self._latest = micro_batch_id
            self._begun.notify_all()
        self._start(self._planned, micro_batch_id)

    def ended(self, micro_batch_id: int) -> None:
        """Have it taken in how a micro-batch went, once Spark has reported it; returns at once."""
        self._start(self._recorded, micro_batch_id)

    def _start(self, work: Callable[[int], None], micro_batch_id: int) -> None:
        threading.Thread(target=work, args=(micro_batch_id,), name="streamshed-ahead", daemon=True).start()

    def _planned(self, micro_batch_id: int) -> None:
        try:
            self._plan(micro_batch_id)
        except Exception:  # noqa: BLE001 - whatever it is, whoever asks for the plan has it raised where it is seen
            _log.debug("micro-batch %s could not be planned ahead", micro_batch_id, exc_info=True)

    def _recorded(self, micro_batch_id: int) -> None:
        try:
            for _ in range(round(_REPORTED_WITHIN_SECONDS / _LOOK_EVERY_SECONDS)):
                if self._record_last() >= micro_batch_id:
                    return
                with self._begun:
                    if self._begun.wait_for(lambda: self._latest > micro_batch_id, _LOOK_EVERY_SECONDS):
                        return
        except Exception:  # noqa: BLE001 - whatever it is, the next plan asks again, and raises it where it is seen
            _log.exception("a finished micro-batch could not be taken in; it will be tried again")
