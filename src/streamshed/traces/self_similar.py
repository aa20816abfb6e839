"""Self-similar load: many sources that are on and off for heavy-tailed times, added up."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from streamshed.traces.errors import InvalidTraceError

_WARM_UP_CYCLES = 100


@dataclass(frozen=True, slots=True, kw_only=True)
class OnOffSources:
    """Sources that send at a constant rate while they are on, and are silent while they are off.

    On and off times are Pareto with tail exponent α. For 1 < α < 2 the sum of many is self-similar with
    Hurst parameter H = (3 − α) / 2 at times longer than the mean on time [Willinger, Taqqu, Sherman,
    Wilson, "Self-similarity through high-variability", 1997].

    Args:
        sources: How many; fewer are burstier.
        mean_on_seconds: Mean on time.
        mean_off_seconds: Mean off time.
        tail: α, above 1 and at most 2.

    Raises:
        InvalidTraceError: A value is outside its range.
    """

    sources: int = 24
    mean_on_seconds: float = 0.5
    mean_off_seconds: float = 1.5
    tail: float = 1.4

    def __post_init__(self) -> None:
        if self.sources < 1:
            raise InvalidTraceError(f"at least 1 on/off source is needed, got {self.sources}")
        if not (self.mean_on_seconds > 0 and self.mean_off_seconds > 0):
            raise InvalidTraceError(
                f"mean on and off times must be above 0 seconds, got {self.mean_on_seconds} and {self.mean_off_seconds}"
            )
        if not 1 < self.tail <= 2:
            raise InvalidTraceError(f"the tail exponent must be above 1 and at most 2, got {self.tail}")


def load_of_sources(
    sources: OnOffSources, intervals: int, *, interval_seconds: float, generator: np.random.Generator
) -> NDArray[np.float64]:
    """Draw how the load of all sources together changes over time.

    Args:
        sources: Their number and their on and off times.
        intervals: How many intervals, at least 1.
        interval_seconds: Length of each.
        generator: Source of randomness.

    Returns:
        Load in each interval, relative to the mean: shape (intervals,), mean 1.

    Example:
        >>> load = load_of_sources(
        ...     OnOffSources(), 1000, interval_seconds=0.1, generator=np.random.default_rng(0)
        ... )
        >>> round(float(load.mean()), 9), bool(load.max() > 1.5)
        (1.0, True)
    """
    span = intervals * interval_seconds
    times = [_on_times(sources, span, generator) for _ in range(sources.sources)]
    begins = np.sort(np.concatenate([begin for begin, _ in times]))
    ends = np.sort(np.concatenate([end for _, end in times]))
    edges = np.linspace(0.0, span, intervals + 1)
    on_time = np.diff(_elapsed(begins, edges) - _elapsed(ends, edges))
    mean = on_time.mean()
    load: NDArray[np.float64] = np.maximum(on_time, 0.0) / mean if mean > 0 else np.ones(intervals)
    return load


def _on_times(
    sources: OnOffSources, span: float, generator: np.random.Generator
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """When one source turns on and off until the span has passed, its first cycles before time 0."""
    cycle = sources.mean_on_seconds + sources.mean_off_seconds
    begin = -_WARM_UP_CYCLES * cycle * (1 + generator.random())
    begins, ends = [], []
    while begin < span:
        cycles = _WARM_UP_CYCLES + int((span - begin) / cycle)
        on = _pareto(sources.mean_on_seconds, cycles, tail=sources.tail, generator=generator)
        off = _pareto(sources.mean_off_seconds, cycles, tail=sources.tail, generator=generator)
        starts = begin + np.concatenate(([0.0], np.cumsum(on + off)))
        begins.append(starts[:-1])
        ends.append(starts[:-1] + on)
        begin = starts[-1]
    return np.concatenate(begins), np.concatenate(ends)


def _pareto(mean: float, count: int, *, tail: float, generator: np.random.Generator) -> NDArray[np.float64]:
    smallest = mean * (tail - 1) / tail
    times: NDArray[np.float64] = smallest * (1 + generator.pareto(tail, count))
    return times


def _elapsed(moments: NDArray[np.float64], edges: NDArray[np.float64]) -> NDArray[np.float64]:
    """Σ max(0, t − m) over the sorted moments m, for each edge t."""
    passed = np.searchsorted(moments, edges)
    sums = np.concatenate(([0.0], np.cumsum(moments)))
    elapsed: NDArray[np.float64] = passed * edges - sums[passed]
    return elapsed
