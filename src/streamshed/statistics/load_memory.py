"""Which measured micro-batches a load model remembers, and how much each still counts."""

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace

RECENT = 6
"""So many of the latest are remembered, whatever they are."""

CAPACITY = 24
"""So many are remembered in all."""

ALIKE = 0.2
"""Micro-batches whose rows and shares of work differ by less than this (in ln) tell the same."""

_LEAST_SHARE = 1e-3
"""Smaller shares of work tell the same as none: a join of which no pair was matched in time did none."""

FAST_FADING, SLOW_FADING, SLOW_SHARE = 0.7, 0.99, 0.2
"""Per micro-batch: costs drift, so most of the weight goes quickly; what other regimes told stays longer."""


@dataclass(frozen=True, slots=True)
class Observation:
    """One measured micro-batch.

    Args:
        rows: Offered rows, stream by stream.
        shares_done: Shares of the work on their rows that were done, stream by stream.
        log_seconds: ln of how long it took.
        age: How many micro-batches ago.
        speedup: How many times faster than one its workers were: so many times fewer rows are told than there were.
    """

    rows: tuple[float, ...]
    shares_done: tuple[float, ...]
    log_seconds: float
    age: int = 0
    speedup: float = 1.0

    @property
    def weight(self) -> float:
        """How much it counts, in (0, 1]."""
        return (1 - SLOW_SHARE) * FAST_FADING**self.age + SLOW_SHARE * SLOW_FADING**self.age


Memory = tuple[Observation, ...]
"""Observations, oldest first."""


def remembered(memory: Memory, newest: Observation) -> Memory:
    """Return the memory one micro-batch later.

    The latest few stay. Older ones stay only while nothing newer tells the same, so that the micro-batches of
    another regime (a load five times as high, other sampling rates) are not pushed out by many alike. Those without
    rows are no such regime: they are spared much that the first row of others costs.

    Example:
        >>> memory: Memory = ()
        >>> for rows in [100.0] * 5 + [900.0] * 50:
        ...     memory = remembered(memory, Observation((rows,), (1.0,), 0.0))
        >>> [(observation.rows[0], observation.age) for observation in memory]
        [(100.0, 50), (900.0, 5), (900.0, 4), (900.0, 3), (900.0, 2), (900.0, 1), (900.0, 0)]
    """
    observations = (*aged(memory), newest)
    recent = list(observations[-RECENT:])
    for older in reversed(observations[:-RECENT]):
        if any(older.rows) and not any(_alike(older, newer) for newer in recent):
            recent.insert(0, older)
    return tuple(recent[-CAPACITY:])


def aged(memory: Memory) -> Memory:
    """Return the memory after a micro-batch of which nothing is remembered."""
    return tuple(replace(observation, age=observation.age + 1) for observation in memory)


def releveled(memory: Memory, log_factor: float) -> Memory:
    """Return the memory as if all but the latest observation had cost exp(log_factor) times as much."""
    return (
        *(replace(older, log_seconds=older.log_seconds + log_factor) for older in memory[:-1]),
        *memory[-1:],
    )


def at_speedup(observation: Observation, speedup: float) -> Observation:
    """Return what was measured, on workers that were so many times faster than one, whatever was thought before.

    Example:
        >>> at_speedup(Observation((8.0,), (1.0,), 0.0, speedup=2.0), 8.0).rows
        (2.0,)
    """
    factor = speedup / observation.speedup
    return replace(observation, rows=tuple(rows / factor for rows in observation.rows), speedup=speedup)


def translated(memory: Memory, old: Sequence[str], new: Sequence[str]) -> Memory:
    """Return the memory for another list of streams, without observations that hold rows of removed streams.

    Example:
        >>> memory = (Observation((5.0, 0.0), (0.5, 1.0), 0.0), Observation((5.0, 7.0), (0.5, 1.0), 0.1))
        >>> [observation.rows for observation in translated(memory, ["a", "b"], ["a", "c"])]
        [(5.0, 0.0)]
    """
    gone = [place for place, stream in enumerate(old) if stream not in new]
    places = [old.index(stream) if stream in old else None for stream in new]
    return tuple(
        replace(
            observation,
            rows=tuple(0.0 if place is None else observation.rows[place] for place in places),
            shares_done=tuple(1.0 if place is None else observation.shares_done[place] for place in places),
        )
        for observation in memory
        if not any(observation.rows[place] for place in gone)
    )


def _alike(observation: Observation, other: Observation) -> bool:
    sides = zip(observation.rows, other.rows, observation.shares_done, other.shares_done, strict=True)
    return all(
        abs(math.log((1 + rows) / (1 + other_rows))) < ALIKE
        and abs(math.log(max(share, _LEAST_SHARE) / max(other_share, _LEAST_SHARE))) < ALIKE
        for rows, other_rows, share, other_share in sides
    )
