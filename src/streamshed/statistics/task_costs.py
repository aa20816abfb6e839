"""What a row costs in the tasks that read it themselves: their clocks tell reading and work apart."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import NamedTuple

from streamshed.statistics.fading import faded
from streamshed.statistics.micro_batch import MicroBatchOutcome
from streamshed.statistics.speedup import UNREAD_COST, reading_cost, scattered_cost
from streamshed.statistics.task_report import TaskReport

_LEFT = 0.8
"""What is left of a measurement's weight one micro-batch later: five micro-batches count."""

DEAREST_SCATTERED = 4.0
"""To read a share is taken to cost at most so many times what is believed."""

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
        earlier: By stream, as `LoadModel` counts rows: work_seconds and work_rows; read_seconds and read_rows of
            micro-batches that read all rows; scattered_seconds, scattered_costs and unread_rows of those that left some
            unread: these costs are the believed ones, see `scattered_cost`, as rows that are read where all are.
        reports: What the tasks of the micro-batch told.
        outcome: What came of it.
        parallel_tasks: How many of them ran at a time.
    """
    newest = {
        name: {
            **_of_reading(outcome, name, report.read_seconds / parallel_tasks),
            "work_seconds": report.work_seconds / parallel_tasks,
            "work_rows": outcome.costed_offered_rows[name] * outcome.share_done(name),
        }
        for name, report in reports.items()
        if report.read_seconds > 0 and outcome.costed_offered_rows.get(name, 0) > 0
    }
    unclear = {name for name in newest if reports[name].left_rows > MOST_LEFT * outcome.admitted_rows.get(name, 0)}
    after = {**earlier, **{name: _after(earlier.get(name, {}), added) for name, added in newest.items()}}
    return {name: sums for name, sums in after.items() if name not in unclear}


def _of_reading(outcome: MicroBatchOutcome, stream: str, seconds: float) -> _Sums:
    rows, share = outcome.costed_offered_rows[stream], outcome.read_shares.get(stream, 1.0)
    if share < 1:
        unread_rows, believed = (1.0 - share) * rows, reading_cost(share, scattered_cost(outcome.bundle_width(stream)))
        of_scattered = believed * rows - UNREAD_COST * unread_rows
        return {"scattered_seconds": seconds, "scattered_costs": of_scattered, "unread_rows": unread_rows}
    return {"read_seconds": seconds, "read_rows": rows}


def _after(earlier: _Sums, newest: _Sums) -> _Sums:
    """Only what is measured again fades: in a long burst nothing is told of micro-batches that read all rows."""
    return {**earlier, **faded({name: earlier.get(name, 0.0) for name in newest}, newest, _LEFT)}


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
        name: TaskCost(_read_seconds_per_row(parts), parts["work_seconds"] / parts["work_rows"])
        for name, parts in sums.items()
        if min(parts.values()) > 0 and parts.keys() & {"read_rows", "scattered_costs"}
    }


def scattered_factors(sums: Mapping[str, _Sums]) -> dict[str, float]:
    """Return, by stream, how many times as long as believed it takes to read a share of its rows.

    Args:
        sums: What tasks have told, see `with_task_seconds`.

    Example:
        A million rows were read in 0.5 s; of as many, of which a tenth was read, in 0.1635 s: a row cost three times as
        much as where all are read, which was believed to be six times.

        >>> told = {"read_seconds": 0.5, "read_rows": 1e6,
        ...         "scattered_seconds": 0.1635, "scattered_costs": 6e5, "unread_rows": 9e5}
        >>> {name: round(factor, 6) for name, factor in scattered_factors({"packets": told}).items()}
        {'packets': 0.5}
    """
    of_both = {name: parts for name, parts in sums.items() if {"read_rows", "scattered_costs"} <= parts.keys()}
    return {name: _scattered_factor(parts) for name, parts in of_both.items()}


def _scattered_factor(parts: _Sums) -> float:
    """As far as it is told apart from what passing over blocks takes."""
    rows_of_seconds = parts["scattered_seconds"] / _read_seconds_per_row(parts)
    factor = (rows_of_seconds - UNREAD_COST * parts["unread_rows"]) / parts["scattered_costs"]
    return min(max(factor, 0.0), DEAREST_SCATTERED)


def _read_seconds_per_row(parts: _Sums) -> float:
    """Where no micro-batch has read all of its rows, scattered rows cost what is believed."""
    if "read_rows" in parts:
        return parts["read_seconds"] / parts["read_rows"]
    return parts["scattered_seconds"] / (parts["scattered_costs"] + UNREAD_COST * parts["unread_rows"])
