"""What a row costs in the tasks that read it themselves: their clocks tell reading and work apart."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import NamedTuple

from streamshed.statistics.fading import faded
from streamshed.statistics.micro_batch import MicroBatchOutcome
from streamshed.statistics.task_report import TaskReport

_LEFT = 0.8
"""What is left of a measurement's weight one micro-batch later: five micro-batches count."""

MOST_LEFT = 0.05
"""Where tasks leave a larger share of the rows to Spark, they do not tell what rows cost."""

_Sums = Mapping[str, float]


class TaskCost(NamedTuple):
    """Seconds of a micro-batch, whose tasks run side by side.

    Attributes:
        read_seconds_per_row: Per row that is read.
        work_seconds_per_row: Per row all of whose work is done.
    """

    read_seconds_per_row: float
    work_seconds_per_row: float

    def times(self, factor: float) -> TaskCost:
        """Return it on workers that take so many times as long."""
        return TaskCost(factor * self.read_seconds_per_row, factor * self.work_seconds_per_row)


TaskCosts = Mapping[str, TaskCost]
"""By stream; none of a stream that Spark reads."""

NOT_TIMED: TaskCosts = MappingProxyType({})
"""No task was timed."""


def with_task_seconds(
    earlier: Mapping[str, _Sums], reports: Mapping[str, TaskReport], outcome: MicroBatchOutcome, parallel_tasks: int
) -> Mapping[str, _Sums]:
    """Return what tasks have told of streams after another micro-batch.

    What Spark does with rows that are left to it no task knows: of streams with many of these nothing is told.

    Args:
        earlier: By stream, read_seconds, read_rows, work_seconds and work_rows: as `LoadModel` counts rows.
        reports: What the tasks of the micro-batch told.
        outcome: What came of it.
        parallel_tasks: How many of them ran at a time.
    """
    newest = {
        name: {
            "read_seconds": report.read_seconds / parallel_tasks,
            "read_rows": outcome.costed_rows[name],
            "work_seconds": report.work_seconds / parallel_tasks,
            "work_rows": outcome.costed_rows[name] * outcome.costed_shares.get(name, 1.0),
        }
        for name, report in reports.items()
        if report.read_seconds > 0 and outcome.costed_rows.get(name, 0) > 0
    }
    unclear = {name for name in newest if reports[name].left_rows > MOST_LEFT * outcome.admitted_rows.get(name, 0)}
    after = {**earlier, **{name: faded(earlier.get(name, {}), added, _LEFT) for name, added in newest.items()}}
    return {name: sums for name, sums in after.items() if name not in unclear}


def at_factor(sums: Mapping[str, _Sums], factor: float) -> Mapping[str, _Sums]:
    """Return what tasks would have told on workers that take so many times as long.

    Example:
        >>> at_factor({"packets": {"read_seconds": 1.0, "read_rows": 8.0}}, 0.5)
        {'packets': {'read_seconds': 0.5, 'read_rows': 8.0}}
    """
    return {
        name: {part: value * (factor if part.endswith("_seconds") else 1.0) for part, value in parts.items()}
        for name, parts in sums.items()
    }


def task_costs(sums: Mapping[str, _Sums]) -> TaskCosts:
    """Return what a row of each stream costs of which tasks have read and taken some.

    Args:
        sums: What they have told, see `with_task_seconds`.

    Example:
        A million rows were read in 0.6 s by two tasks; they worked on a tenth of them for 0.2 s.

        >>> outcome = MicroBatchOutcome(
        ...     micro_batch_id=7, offered_rows={"packets": 1_000_000}, admitted_rows={"packets": 100_000.0},
        ...     sampling_rates={"packets": 0.1}, processing_seconds=1.5, trigger_interval_seconds=2.0,
        ...     started_at_seconds=14.0)
        >>> report = TaskReport(read_seconds=0.6, work_seconds=0.2)
        >>> task_costs(with_task_seconds({}, {"packets": report}, outcome, parallel_tasks=2))["packets"]
        TaskCost(read_seconds_per_row=3e-07, work_seconds_per_row=1e-06)
    """
    return {
        name: TaskCost(parts["read_seconds"] / parts["read_rows"], parts["work_seconds"] / parts["work_rows"])
        for name, parts in sums.items()
        if min(parts.values()) > 0
    }
