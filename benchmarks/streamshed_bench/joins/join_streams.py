"""The paper's streams of sets: popularity that goes in cycles, one stream behind the other ([G05] §6)."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
import pyarrow as pa

from streamshed.joins.model.arrays import Floats, Ints

SECOND = 1_000_000
Course = Sequence[tuple[int, int]]
"""For how many seconds there are how many rows per second."""

PAPERS_COURSE: Course = ((60, 100), (15, 500), (30, 300), (45, 100))
"""Figure 3."""


@dataclass(frozen=True, kw_only=True)
class SetStreams:
    """Two streams of sets, or of single values.

    Items are numbered 0 to L − 1. At time T the most popular one is a = ⌊L·(T mod ρ)/ρ⌋, the next a + 1, and so on
    around; the right stream is as the left one was τ before. The item of rank k is drawn with a probability
    ∝ 1/(k + 1)^κ, those of one set without repeating.

    Args:
        skew: κ.
        items: L.
        mean_size: Mean number of items in a set; deviation 1, or 0 where sets are single values.
        cycle_seconds: ρ.
        shift_seconds: τ. Of several, each row follows one, drawn evenly.
        seed: Equal seeds, equal streams.
    """

    skew: float
    items: int = 100
    mean_size: int = 5
    cycle_seconds: float = 40.0
    shift_seconds: tuple[float, ...] = (0.0,)
    seed: int = 0

    def micro_batches(self, course: Course) -> Iterator[tuple[pa.Table, pa.Table]]:
        """Yield the rows of both sides second by second: `t` in microseconds, `s` the set (a single value: `k`)."""
        random = np.random.default_rng(self.seed)
        rates = [rows for seconds, rows in course for _ in range(seconds)]
        for second, rows in enumerate(rates):
            yield self._rows(random, second, rows, (0.0,)), self._rows(random, second, rows, self.shift_seconds)

    def most_popular(self, seconds: Floats) -> Ints:
        """Return a at some times.

        Example:
            >>> SetStreams(skew=0.8).most_popular(np.array([0.0, 20.0, 41.0])).tolist()
            [0, 50, 2]
        """
        return (self.items * (seconds % self.cycle_seconds) / self.cycle_seconds).astype(np.int64)

    def _rows(self, random: np.random.Generator, second: int, rows: int, shifts: tuple[float, ...]) -> pa.Table:
        times = np.sort(random.integers(second * SECOND, (second + 1) * SECOND, rows))
        behind = np.array(shifts)[random.integers(0, len(shifts), rows)]
        first = self.most_popular(times / SECOND - behind)
        chances = 1.0 / np.arange(1, self.items + 1) ** self.skew
        if self.mean_size == 1:
            ranks = random.choice(self.items, rows, p=chances / chances.sum())
            return pa.table({"t": times, "k": (ranks + first) % self.items})
        sizes = np.clip(np.rint(random.normal(self.mean_size, 1.0, rows)), 1, self.items).astype(np.int64)
        largest = int(sizes.max(initial=1))
        keys = random.exponential(size=(rows, self.items)) / chances
        drawn = np.argpartition(keys, largest - 1, axis=1)[:, :largest]
        drawn = np.take_along_axis(drawn, np.argsort(np.take_along_axis(keys, drawn, 1), axis=1), 1)
        is_in_set = np.arange(largest)[None, :] < sizes[:, None]
        values = ((drawn + first[:, None]) % self.items)[is_in_set]
        starts = pa.array(np.concatenate([[0], np.cumsum(sizes)]).astype(np.int32))
        return pa.table({"t": times, "s": pa.ListArray.from_arrays(starts, pa.array(values))})
