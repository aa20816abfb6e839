"""What the page shows of micro-batches: the figures of each, all of the latest, and in one sentence how it is."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Mapping
from typing import Any

from streamshed.page.journal_tail import KEPT_ROWS, Row

FIGURES = (
    "clock",
    "micro_batch_id",
    "started_at_seconds",
    "reason",
    "explanation",
    "offered_rows",
    "admitted_rows",
    "work_share",
    "sampling_rate",
    "budget_seconds",
    "unshed_seconds",
    "unsheddable_seconds",
    "expected_seconds",
    "processing_seconds",
    "trigger_interval_seconds",
    "delay_seconds",
    "backlog_rows",
    "answers",
    "exact_answers",
    "gaps",
    "late_pairs",
    "unreadable_rows",
    "mean_relative_error",
    "state_bytes",
    "workers_running",
    "workers_wanted",
    "skew",
)
"""The columns of the journal that are kept of every micro-batch; of the latest all are."""

_PRESENT_SECONDS = 60.0


class RecentMicroBatches:
    """The latest micro-batches of each clock, of bounded number.

    Attributes:
        latency_goal_seconds: Within what time of their rows answers should come; None: that is not known, and taken to
            be two trigger intervals, one to wait for and one to be worked on in.
    """

    def __init__(self) -> None:
        self.latency_goal_seconds: float | None = None
        self._figures: dict[str, deque[Mapping[str, Any]]] = {}
        self._latest: dict[str, Row] = {}

    def add(self, rows: Iterable[Row]) -> list[Mapping[str, Any]]:
        """Take in rows of journals, oldest first; returns their figures."""
        added: list[Mapping[str, Any]] = []
        for row in rows:
            figures = {name: row.get(name) for name in FIGURES}
            self._figures.setdefault(row["clock"], deque(maxlen=KEPT_ROWS)).append(figures)
            self._latest[row["clock"]] = row
            added.append(figures)
        return added

    def rows_per_second(self) -> float:
        """Return how many rows came in the last minute, of all clocks together; 0 where none has a micro-batch."""
        return sum(map(_rows_per_second, self._figures.values()))

    def shown(self) -> dict[str, Any]:
        """Return all that is known: figures by clock, the latest rows, and a sentence about each clock."""
        return {"figures": {clock: list(figures) for clock, figures in self._figures.items()}, **self.now()}

    def now(self) -> dict[str, Any]:
        """Return the latest rows, and a sentence about each clock."""
        headlines = {clock: headline(row, self.latency_goal_seconds) for clock, row in self._latest.items()}
        return {"latest": self._latest, "headlines": headlines, "latency_goal_seconds": self.latency_goal_seconds}


def _rows_per_second(figures: Iterable[Mapping[str, Any]]) -> float:
    moments = list(figures)
    since = moments[-1]["started_at_seconds"] - _PRESENT_SECONDS
    present = [moment for moment in moments if moment["started_at_seconds"] > since]
    seconds = sum(max(moment["trigger_interval_seconds"], moment["processing_seconds"]) for moment in present)
    rows_per_second: float = sum(moment["offered_rows"] for moment in present) / seconds
    return rows_per_second


def headline(row: Row, latency_goal_seconds: float | None = None) -> dict[str, str]:
    """Say in one sentence whether answers come in time, how much load there is, and what is shed.

    Args:
        row: The latest row of a journal.
        latency_goal_seconds: Within what time answers should come; None: two trigger intervals.

    Returns:
        `state`: "good", "shedding" or "late"; `sentence`.

    Example:
        >>> row = {"delay_seconds": 3.1, "trigger_interval_seconds": 2.0, "unshed_seconds": 1.2, "budget_seconds": 1.6}
        >>> print(headline(row)["sentence"])
        In time: answers come 3.1 s after their rows, and the goal is 4 s. The load is 0.75 of what fits.
    """
    delay = row["delay_seconds"]
    dropping = sum(share < 1 for share in (row.get("kept_shares") or {}).values())
    goal = 2 * row["trigger_interval_seconds"] if latency_goal_seconds is None else latency_goal_seconds
    is_late = delay > goal
    timely = f"answers come {delay:.3g} s after their rows, {'but' if is_late else 'and'} the goal is {goal:g} s."
    budget = row.get("budget_seconds") or 0.0
    load = row.get("unshed_seconds", 0.0) / budget if budget > 0 else 0.0
    loaded = f"The load is {load:.2g} {'times' if load >= 1 else 'of'} what fits"
    work_share = row.get("work_share", 1.0)
    shed = [f"{100 * work_share:.3g} % of the work is done"] if work_share < 1 else []
    if dropping:
        shed.append(f"windows of {dropping} quer{'y' if dropping == 1 else 'ies'} are dropped")
    sentence = f"{'Late' if is_late else 'In time'}: {timely} {loaded}{': ' if shed else ''}{', and '.join(shed)}."
    return {"state": "late" if is_late else "shedding" if row.get("shedding") else "good", "sentence": sentence}
