"""Workers in virtual time: they start late, straggle, die, and share work out in partitions."""

from __future__ import annotations

import heapq
import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from streamshed.elasticity.balance import Balance, StageWork
from streamshed.elasticity.errors import InvalidElasticityError
from streamshed.elasticity.workers import Workers


@dataclass(frozen=True, slots=True, kw_only=True)
class ClusterSettings:
    """What is true of a cluster.

    Args:
        running: Workers to begin with, at least 1.
        most: How many there are in all, those of the pool included.
        partitions: In how many pieces work comes, at least 1; None: every worker has the same share of it.
        partition_skew: The k-th largest partition has work in proportion to k^(−skew); 0: all are alike.
        is_divisible: Whether partitions can be cut finer, as files of many rows can and the keys of state cannot.
        start_seconds: From asking for a worker until it carries load.
        start_work_seconds: How much longer the micro-batch takes that is under way when workers start, because they do
            on cores that it needs; 0 on machines of their own.
        move_seconds: How much longer the first micro-batch takes whose workers are not those of the one before: state
            is loaded anew.
        straggler_share: The share of workers that straggle in a micro-batch, on average.
        straggler_factor: How many times slower these are, at least 1.
        failures_per_worker_day: How often a worker dies.
        seed: Of stragglers and failures.

    Raises:
        InvalidElasticityError: A value is out of range.
    """

    running: int
    most: int
    partitions: int | None = None
    partition_skew: float = 0.0
    is_divisible: bool = False
    start_seconds: float = 30.0
    start_work_seconds: float = 0.0
    move_seconds: float = 0.0
    straggler_share: float = 0.0
    straggler_factor: float = 2.0
    failures_per_worker_day: float = 0.0
    seed: int = 0

    def __post_init__(self) -> None:
        if not 1 <= self.running <= self.most:
            raise InvalidElasticityError(
                f"cluster: from 1 to {self.most} workers can run, got {self.running}"
                + (" (a pool of zero: is nothing to run on meant?)" if self.most < 1 else "")
            )
        if self.partitions is not None and self.partitions < 1:
            raise InvalidElasticityError(f"cluster: work comes in at least one partition, got {self.partitions}")
        if not 0 <= self.straggler_share <= 1:
            raise InvalidElasticityError(f"cluster: straggler_share must be in [0, 1], got {self.straggler_share}")
        self._check("straggler_factor", 1.0)
        for name in (
            "partition_skew",
            "start_seconds",
            "start_work_seconds",
            "move_seconds",
            "failures_per_worker_day",
        ):
            self._check(name, 0.0)

    def _check(self, name: str, least: float) -> None:
        value = getattr(self, name)
        if not (math.isfinite(value) and value >= least):
            raise InvalidElasticityError(f"cluster: {name} must be finite and at least {least:g}, got {value}")


_DAY = 86_400.0


class VirtualCluster:
    """A cluster in virtual time: a pool of workers for a control loop, and how long its micro-batches take.

    A micro-batch ends when the busiest worker is done; a worker that comes meanwhile takes what nobody has begun yet.
    Uneven partitions are cut, if they can be. A worker that dies is replaced from the pool at once, which is no
    rescale; the replacement starts like any other.

    Args:
        settings: What is true of it.

    Example:
        >>> cluster = VirtualCluster(ClusterSettings(running=2, most=8, partitions=8, start_seconds=30.0))
        >>> cluster.want(4, 0.0)
        >>> [cluster.workers(now).running for now in (0.0, 29.0, 30.0)]
        [2, 2, 4]
        >>> cluster.seconds(fixed_seconds=0.5, shared_seconds=8.0)
        2.5
    """

    def __init__(self, settings: ClusterSettings) -> None:
        self._settings = settings
        self._running = settings.running
        self._leaving = 0
        self._starting: list[tuple[float, int]] = []
        self._nature = np.random.default_rng(settings.seed)
        self._now_seconds = 0.0
        self._has_moved, self._has_begun_to_start = False, False
        self._changes = 0
        self._shares: dict[int, NDArray[np.float64]] = {}
        self._skew = 1.0
        self._balance = Balance()
        self._failures = 0

    @property
    def skew(self) -> float:
        """The busiest worker's time in the last micro-batch ÷ the mean of all workers'."""
        return self._skew

    @property
    def wanted(self) -> int:
        """How many run, are about to, and do not leave: nobody waits in vain."""
        return self._running - self._leaving + sum(count for _, count in self._starting)

    @property
    def changes(self) -> int:
        """How often others were found to run than before."""
        return self._changes

    @property
    def balance(self) -> Balance:
        """How evenly work is spread, by what the latest micro-batches told."""
        return self._balance

    @property
    def failures(self) -> int:
        """How many workers have died."""
        return self._failures

    def workers(self, now_seconds: float) -> Workers:
        """Let time pass, and tell what there is then."""
        self._fail(max(0.0, now_seconds - self._now_seconds), now_seconds)
        if now_seconds > self._now_seconds:
            self._leave()
        self._now_seconds = max(now_seconds, self._now_seconds)
        ready = sum(count for at, count in self._starting if at <= now_seconds)
        if ready:
            self._starting = [known for known in self._starting if known[0] > now_seconds]
            self._running += ready
            self._move()
        starting = sum(count for _, count in self._starting)
        staying = self._running - self._leaving
        return Workers(running=staying, starting=starting, free=max(0, self._settings.most - staying - starting))

    def want(self, workers: int, now_seconds: float) -> None:
        """Ask for so many workers in all.

        Of those that are too many, the ones that start are no longer waited for; others leave when the micro-batch is
        done that has them.
        """
        there = self.workers(now_seconds)
        missing = min(workers - there.committed, there.free)
        if missing > 0:
            self._start(missing, now_seconds)
        elif missing < 0:
            self._release(-missing)

    def seconds(self, *, fixed_seconds: float, shared_seconds: float) -> float:
        """Return how long a micro-batch takes on the workers that run.

        Args:
            fixed_seconds: What of it takes as long on any number of workers.
            shared_seconds: What the rest takes on one worker.
        """
        by_worker = self._worker_shares() * shared_seconds
        if self._settings.straggler_share > 0:
            straggles = self._nature.random(len(by_worker)) < self._settings.straggler_share
            by_worker = np.where(straggles, by_worker * self._settings.straggler_factor, by_worker)
        busiest, mean = float(by_worker.max()), float(by_worker.mean())
        self._skew = max(1.0, busiest / mean) if mean > 0 else 1.0
        ends = self._helped(busiest, shared_seconds)
        self._observe_balance(shared_seconds)
        moving = self._settings.move_seconds if self._has_moved else 0.0
        starting = self._settings.start_work_seconds if self._has_begun_to_start else 0.0
        self._has_moved, self._has_begun_to_start = False, False
        return fixed_seconds + ends + moving + starting

    def _helped(self, busiest_seconds: float, shared_seconds: float) -> float:
        """When the work is done, with the help of workers that come before the busiest one is done."""
        coming = [
            at - self._now_seconds
            for at, count in self._starting
            if at - self._now_seconds < busiest_seconds
            for _ in range(count)
        ]
        if not coming:
            return busiest_seconds
        begins = np.concatenate((np.zeros(self._running), np.sort(np.array(coming))))
        pieces = self._pieces()
        ends = shared_out(begins, shared_seconds) if pieces is None else ended(begins, pieces * shared_seconds)
        return min(busiest_seconds, ends)

    def _worker_shares(self) -> NDArray[np.float64]:
        """Which share of the work each worker has."""
        workers = self._running
        if workers not in self._shares:
            self._shares = {workers: dealt(workers, self._pieces())}
        return self._shares[workers]

    def _pieces(self) -> NDArray[np.float64] | None:
        """The share of the work in each piece, the largest first; None: it can be shared out in any way."""
        settings = self._settings
        if settings.partitions is None:
            return None
        pieces = piece_shares(settings.partitions, settings.partition_skew)
        if not (settings.is_divisible and self._balance.is_cut):
            return pieces
        # As Spark cuts: none larger than if all were of one size.
        parts = np.maximum(1, np.ceil(pieces * self._balance.pieces_per_slot * self._running)).astype(int)
        return np.sort(np.repeat(pieces / parts, parts))[::-1]

    def _observe_balance(self, shared_seconds: float) -> None:
        pieces = self._pieces()
        if pieces is None:
            return
        was_cut = self._balance.is_cut
        stage = StageWork(
            tasks=len(pieces),
            seconds=shared_seconds,
            longest_seconds=float(pieces[0]) * shared_seconds,
            is_input=self._settings.is_divisible,
        )
        self._balance = self._balance.observed([stage], slots=self._running)
        if self._balance.is_cut != was_cut:
            self._shares = {}

    def _release(self, count: int) -> None:
        while count and self._starting:
            at, starting = self._starting.pop()
            if starting > count:
                self._starting.append((at, starting - count))
            count -= min(starting, count)
        self._leaving += min(count, self._running - self._leaving - 1)

    def _leave(self) -> None:
        if self._leaving > 0:
            self._move()
        self._running -= self._leaving
        self._leaving = 0

    def _fail(self, elapsed_seconds: float, now_seconds: float) -> None:
        expected_failures = self._settings.failures_per_worker_day * self._running * elapsed_seconds / _DAY
        if expected_failures <= 0:
            return
        dead = min(int(self._nature.poisson(expected_failures)), self._running - self._leaving - 1)
        if dead:
            self._running -= dead
            self._failures += dead
            self._move()
            self._start(dead, now_seconds)

    def _move(self) -> None:
        self._has_moved = True
        self._changes += 1

    def _start(self, count: int, now_seconds: float) -> None:
        self._starting.append((now_seconds + self._settings.start_seconds, count))
        self._has_begun_to_start = True


def piece_shares(partitions: int, skew: float) -> NDArray[np.float64]:
    """Return the share of the work in each of some partitions, whose sum is 1.

    Args:
        partitions: How many there are, at least 1.
        skew: The k-th largest is in proportion to k^(−skew).

    Example:
        >>> piece_shares(2, 1.0).round(3).tolist()
        [0.667, 0.333]
    """
    pieces = np.arange(1, partitions + 1, dtype=np.float64) ** -skew
    shares: NDArray[np.float64] = pieces / pieces.sum()
    return shares


def dealt(workers: int, pieces: NDArray[np.float64] | None) -> NDArray[np.float64]:
    """Return each worker's share of the work: pieces go to whoever is done first, the largest first.

    Args:
        workers: How many there are, at least 1.
        pieces: Their shares of the work, the largest first; None: every worker has the same share.

    Example:
        >>> dealt(3, piece_shares(4, 0.0)).tolist()
        [0.5, 0.25, 0.25]
        >>> dealt(2, np.array([0.5, 0.25, 0.25])).tolist()
        [0.5, 0.5]
    """
    if pieces is None:
        return np.full(workers, 1 / workers)
    return _busy_until(np.zeros(workers), pieces)


def ended(begins: NDArray[np.float64], pieces: NDArray[np.float64]) -> float:
    """Return when all pieces of some work are done by workers that come one after the other.

    Args:
        begins: When each is there.
        pieces: How long each piece takes, the longest first.

    Example:
        Half of four seconds are done when a second worker comes; they share the rest.

        >>> ended(np.array([0.0, 2.0]), np.array([1.0, 1.0, 1.0, 1.0]))
        3.0
    """
    if not len(pieces):
        return 0.0
    until = _busy_until(begins, pieces)
    return float(until[until > begins].max(initial=0.0))


def shared_out(begins: NDArray[np.float64], seconds: float) -> float:
    """Return when work is done that can be shared out in any way, by workers that come one after the other.

    Args:
        begins: When each worker is there, ascending.
        seconds: How long the work takes one of them.

    Example:
        >>> shared_out(np.array([0.0, 2.0, 9.0]), 4.0)
        3.0
    """
    counts = np.arange(1, len(begins) + 1)
    ends = (seconds + np.cumsum(begins)) / counts
    # Only workers that come before the work is done share it.
    return float(ends.min())


def _busy_until(begins: NDArray[np.float64], pieces: NDArray[np.float64]) -> NDArray[np.float64]:
    """When each worker is done, if pieces go to whoever is free first."""
    done_at = begins.astype(np.float64)
    free = [(begun, worker) for worker, begun in enumerate(done_at.tolist())]
    heapq.heapify(free)
    for piece in pieces.tolist():
        free_at, worker = free[0]
        done_at[worker] = free_at + piece
        heapq.heapreplace(free, (free_at + piece, worker))
    return done_at
