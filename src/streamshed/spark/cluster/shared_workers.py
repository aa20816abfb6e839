"""One pool of workers for the time domains of an application: the most that any of them wants."""

from __future__ import annotations

import threading

from streamshed.control.elastic_loop import WorkerPool
from streamshed.elasticity.workers import Workers


class SharedWorkers:
    """What one of several control loops has of a pool.

    Each loop takes an even share of the workers' time for its own, so that the largest number wanted gives all of them
    as much as they want. A loop that wants no change wants what there is: what it carries its load on is not released
    because another has become idle. One that wants fewer than another goes on wanting them, until they can be released.

    Args:
        pool: The pool.
        wants: What each loop wants, by name; shared by all of them.
        name: Whose this is.

    Example:
        >>> from streamshed.simulator.cluster import ClusterSettings, VirtualCluster
        >>> pool, wants = VirtualCluster(ClusterSettings(running=2, most=8, start_seconds=0.0)), {}
        >>> arrivals, departures = (SharedWorkers(pool, wants, name) for name in ("arrivals", "departures"))
        >>> arrivals.want(6, 0.0)
        >>> departures.want(4, 0.0)
        >>> pool.workers(0.0).running
        6
    """

    _lock = threading.Lock()

    def __init__(self, pool: WorkerPool, wants: dict[str, int], name: str) -> None:
        self._pool, self._wants, self._name = pool, wants, name

    @property
    def wanted(self) -> int:
        """What all of them want."""
        return self._pool.wanted

    @property
    def changes(self) -> int:
        """Those of the pool."""
        return self._pool.changes

    @property
    def skew(self) -> float:
        """That of the pool."""
        return self._pool.skew

    def workers(self, now_seconds: float) -> Workers:
        """Tell what all of them have."""
        return self._pool.workers(now_seconds)

    def want(self, workers: int, now_seconds: float) -> None:
        """Say how many are wanted; asked for are the most that any wants, where that changes anything."""
        with self._lock:
            self._wants[self._name] = workers
            most = max(self._wants.values())
            if most != self._pool.wanted:
                self._pool.want(most, now_seconds)
