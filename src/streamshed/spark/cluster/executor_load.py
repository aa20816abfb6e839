"""How evenly executors were busy, from the time that their tasks took."""

from __future__ import annotations

from collections.abc import Collection, Sequence

from streamshed.spark.cluster.executors import Executor

_TELLING_SECONDS = 0.5
"""So much task time at least is needed for a comparison."""


class ExecutorLoad:
    """Compares executors over one period after another.

    Args:
        period_seconds: How long one lasts at least.

    Example:
        >>> load = ExecutorLoad(period_seconds=10.0)
        >>> load.observed([Executor("0", task_seconds=1.0), Executor("1", task_seconds=1.0)], 0.0)
        >>> load.observed([Executor("0", task_seconds=10.0), Executor("1", task_seconds=4.0)], 10.0)
        >>> load.skew
        1.5
    """

    def __init__(self, period_seconds: float) -> None:
        self._period_seconds = period_seconds
        self._since_seconds: float | None = None
        self._before: dict[str, float] = {}
        self._leaving: set[str] = set()
        self._skew = 1.0

    @property
    def skew(self) -> float:
        """The busiest executor's task time ÷ the mean of all that ran throughout the period."""
        return self._skew

    def leave(self, executor_ids: Collection[str]) -> None:
        """Compare some no longer: those that were released get no tasks, as long as they are still there."""
        self._leaving |= set(executor_ids)

    def observed(self, executors: Sequence[Executor], now_seconds: float) -> None:
        """Take in what executors have done by now."""
        if self._since_seconds is not None and now_seconds - self._since_seconds < self._period_seconds:
            return
        self._leaving &= {executor.executor_id for executor in executors}
        staying = [executor for executor in executors if executor.executor_id not in self._leaving]
        now = {executor.executor_id: executor.task_seconds for executor in staying}
        seconds = [max(0.0, now[one] - self._before[one]) for one in now.keys() & self._before.keys()]
        total = sum(seconds)
        if total >= _TELLING_SECONDS:
            self._skew = max(1.0, max(seconds) * len(seconds) / total)
        elif len(seconds) <= 1:
            self._skew = 1.0
        self._since_seconds, self._before = now_seconds, now
