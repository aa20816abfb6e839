"""Executors as a pool of workers: how many run, start and could be had; the dead are replaced and counted."""

from __future__ import annotations

import threading

from streamshed.elasticity.workers import Workers
from streamshed.spark.cluster.executor_load import ExecutorLoad
from streamshed.spark.cluster.executor_losses import ExecutorLosses
from streamshed.spark.cluster.executors import RELEASED, Executor, Executors
from streamshed.spark.cluster.loss_reasons import told_loss

LEAST_PATIENCE_SECONDS = 30.0
PATIENCE = 3.0
"""How many times longer than expected a worker may take to start before it is no longer counted on."""

LOOP_PATIENCES = 6.0
"""How many times as long losses are remembered, to tell a loop of them."""


class ExecutorPool:
    """A pool for the control loop, over the executors of an application.

    The number wanted stays with the cluster, which replaces those that die; that changes neither the number wanted nor
    is it a rescale. What does not come is no longer counted on after a while, so that load is shed instead; it is
    still wanted, and counts when it comes.

    Where those that are replaced are lost again and again, no replacement is counted on, but only executors that have
    lasted; and that others run than before is no news any more, so that what micro-batches take is learned again.

    Args:
        executors: Where they come from.
        most: How many there may be.
        start_seconds: From asking for one until it carries load, as expected.
        period_seconds: How long figures of executors are gathered before they are compared.
    """

    def __init__(self, executors: Executors, *, most: int, start_seconds: float, period_seconds: float) -> None:
        self._executors, self._most = executors, most
        self._patience_seconds = max(LEAST_PATIENCE_SECONDS, PATIENCE * start_seconds)
        self._load = ExecutorLoad(period_seconds)
        self._lock = threading.Lock()
        self._observed: tuple[Executor, ...] = ()
        self._leaving: set[str] = set()
        self._wanted: int | None = None
        self._waiting_since_seconds, self._most_observed = 0.0, 0
        self._losses = ExecutorLosses(LOOP_PATIENCES * self._patience_seconds)
        self._came_at_seconds: dict[str, float] = {}
        # Those that have ended as is known: before this one's time, or lost, or released.
        self._gone = set(executors.loss_reasons())
        self._last_loss = ""
        self._requested_at_seconds = 0.0
        self._is_request_heard, self._is_request_due = True, False
        self._replaced = 0
        self._changes = 0
        self._obstacle = executors.obstacle

    @property
    def skew(self) -> float:
        """How many times busier than all on average the busiest executor was of late, at least 1."""
        return self._load.skew

    @property
    def is_losing(self) -> bool:
        """Whether workers that are replaced are lost again and again, and so are not counted on."""
        return self._losses.is_loop(wanted=self.wanted)

    @property
    def most(self) -> int:
        """How many there may be."""
        return self._most

    @property
    def replaced(self) -> int:
        """How many executors were lost that nobody had released."""
        return self._replaced

    @property
    def changes(self) -> int:
        """How often others were found to run than before, as long as that is not the rule."""
        return self._changes

    @property
    def obstacle(self) -> str:
        """Why there are not as many workers as are wanted, as far as it lies with the cluster; empty: nothing does."""
        return self._obstacle

    @property
    def wanted(self) -> int:
        """How many are asked for in all; those that run, where nobody has asked yet."""
        return max(1, len(self._staying)) if self._wanted is None else self._wanted

    def workers(self, now_seconds: float) -> Workers:
        """Look which executors run, and return how many workers that makes."""
        with self._lock:
            executors = self._executors.running()
            if executors is None:
                self._obstacle = self._executors.obstacle or "Spark does not say which executors run"
                return Workers(running=max(1, self._carrying(now_seconds)))
            self._look(executors, now_seconds)
            return self._counted(now_seconds)

    def want(self, workers: int, now_seconds: float) -> None:
        """Ask for so many executors in all; those that are too many are released, idle ones first.

        Where Spark does not answer, it is asked as soon as it does: who wants them has paid their price.
        """
        with self._lock:
            self._wanted, self._is_request_due = workers, True
            if self._executors.obstacle:
                return
            self._release_surplus()
            self._wait_from(now_seconds)
            # After the release, which Spark takes for wanting so many fewer than before.
            self._request(now_seconds)

    @property
    def _staying(self) -> tuple[Executor, ...]:
        return tuple(executor for executor in self._observed if executor.executor_id not in self._leaving)

    def _look(self, executors: tuple[Executor, ...], now_seconds: float) -> None:
        before = {executor.executor_id for executor in self._observed}
        now = {executor.executor_id for executor in executors}
        lost = self._lost(before, now)
        self._losses = self._losses.observed(lost, now_seconds)
        if before and before != now and not self._losses.are_frequent:
            self._changes += 1
        was_whole = len(self._staying) >= self.wanted
        if lost:
            self._replaced += lost
            self._wanted = len(before) if self._wanted is None else self._wanted
        self._observed = executors
        self._leaving &= now
        self._came_at_seconds = {one: self._came_at_seconds.get(one, now_seconds) for one in now}
        # An executor that comes and goes is no sign of more to come.
        if self._is_request_due or (lost and was_whole) or len(self._staying) > self._most_observed:
            self._wait_from(now_seconds)
        self._load.observed(executors, now_seconds)
        is_missing = self._wanted is not None and len(self._staying) < self._wanted
        # A surplus may have come unasked, as before it was first decided how many are wanted.
        if (
            self._release_surplus()
            or self._is_request_due
            or lost
            or (is_missing and now_seconds - self._requested_at_seconds >= LEAST_PATIENCE_SECONDS)
        ):
            self._request(now_seconds)

    def _lost(self, before: set[str], now: set[str]) -> int:
        """How many were lost that nobody had released, those among them that came and went between two looks."""
        lost = before - now - self._leaving
        if not (lost or (self._losses.count and not self._last_loss)):
            return 0
        reasons = {one: why for one, why in self._executors.loss_reasons().items() if RELEASED not in why}
        unseen = (lost | (reasons.keys() - now)) - self._gone if lost else set()
        self._gone |= unseen
        self._last_loss = next(iter(reasons.values()), "")
        return len(unseen)

    def _wait_from(self, now_seconds: float) -> None:
        self._waiting_since_seconds, self._most_observed = now_seconds, len(self._staying)

    def _carrying(self, now_seconds: float) -> int:
        """How many carry load: in a loop of losses, those that have lasted for longer than it takes to be lost."""
        staying = self._staying
        if not self.is_losing:
            return len(staying)
        ages = [now_seconds - self._came_at_seconds.get(one.executor_id, now_seconds) for one in staying]
        return sum(age > self._patience_seconds for age in ages)

    def _request(self, now_seconds: float) -> None:
        self._requested_at_seconds, self._is_request_due = now_seconds, False
        self._is_request_heard = self._executors.request(self.wanted)

    def _counted(self, now_seconds: float) -> Workers:
        running = self._carrying(now_seconds)
        missing = max(0, self.wanted - len(self._staying))
        self._obstacle = self._executors.obstacle or self._losing() or self._missed(missing, now_seconds)
        if self._obstacle:
            return Workers(running=max(1, running))
        starting = missing if running else missing - 1
        return Workers(running=max(1, running), starting=starting, free=max(0, self._most - running - missing))

    def _losing(self) -> str:
        """That workers are lost as soon as they are replaced."""
        if not self.is_losing:
            return ""
        return (
            f"{self._losses.count} workers were lost within {self._losses.span_seconds:.0f} s and replaced,"
            f" the last one: {told_loss(self._last_loss)}; none that comes anew is counted on"
        )

    def _missed(self, missing: int, now_seconds: float) -> str:
        """Why workers that are missing are not counted on."""
        if not missing:
            return ""
        if not self._is_request_heard:
            return f"the cluster did not take the request for {self.wanted} workers (is its master gone?)"
        waited = now_seconds - self._waiting_since_seconds
        if waited <= self._patience_seconds:
            return ""
        return f"{missing} of {self.wanted} workers have not come for {waited:.0f} s (has the cluster no more?)"

    def _release_surplus(self) -> bool:
        """Release those that are too many: idle ones first, of these the youngest; whether there were any."""
        count = len(self._staying) - self.wanted
        if count <= 0:
            return False
        ordered = sorted(self._staying, key=lambda executor: (executor.active_tasks, -_age_order(executor)))
        surplus = {executor.executor_id for executor in ordered[:count]}
        if self._executors.release(surplus):
            self._load.leave(surplus)
            self._leaving |= surplus
            self._gone |= surplus
        return True


def _age_order(executor: Executor) -> int:
    return int(executor.executor_id) if executor.executor_id.isdigit() else 0
