"""A control loop to which micro-batches take as long as they would on a machine of a given speed; the rest is real.

What overloads a real machine, and by how much, differs from one to the next and from run to run. So the loop is told
another time than the one that Spark measured, by a clock of its own, in which micro-batches start with their triggers.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import pytest

from streamshed.control.decision import Decision, Upcoming
from streamshed.control.journal import JournalEntry
from streamshed.control.loop import ControlLoop, HeldUp, nothing_held_up
from streamshed.statistics.measured import Measured
from streamshed.statistics.micro_batch import MicroBatchOutcome
from streamshed.statistics.task_report import TaskReport


@dataclass(frozen=True)
class Machine:
    """How fast it is.

    Attributes:
        fixed_seconds: What a micro-batch takes without any row.
        seconds_per_row: What all the work on a row takes; nothing that is not done takes any time.
    """

    fixed_seconds: float
    seconds_per_row: float

    def seconds(self, outcome: MicroBatchOutcome) -> float:
        """How long a micro-batch takes."""
        rows = sum(count * outcome.share_done(stream) for stream, count in outcome.offered_rows.items())
        return self.fixed_seconds + self.seconds_per_row * rows


def run_on(patch: pytest.MonkeyPatch, machine: Machine) -> None:
    """Let runs started from now on seem to run on a machine.

    Args:
        patch: What undoes it.
        machine: The machine.
    """
    patch.setattr("streamshed.spark.loop.learned_files.ControlLoop", loop_on(machine))


def loop_on(machine: Machine) -> type[ControlLoop]:
    """A control loop that seems to run on a machine."""

    class TimedLoop(ControlLoop):
        def plan(self, upcoming: Upcoming, held_up_seconds: HeldUp = nothing_held_up) -> Decision:
            started = upcoming.micro_batch_id * self._settings.trigger_interval_seconds
            return super().plan(replace(upcoming, now_seconds=started), held_up_seconds)

        def record(self, outcome: MicroBatchOutcome, measured: Measured | None = None) -> JournalEntry:
            started = outcome.micro_batch_id * self._settings.trigger_interval_seconds
            timed = replace(
                outcome, started_at_seconds=started, processing_seconds=machine.seconds(outcome), is_cold=False
            )
            return super().record(timed, None if measured is None else _without_clocks(measured))

    return TimedLoop


def _without_clocks(measured: Measured) -> Measured:
    """What was measured, but for what the tasks of the real machine took."""
    reports = {name: TaskReport(report.spread) for name, report in measured.task_reports.items()}
    return replace(measured, task_reports=reports)
