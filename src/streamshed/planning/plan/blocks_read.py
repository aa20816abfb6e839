"""Which share of a stream's rows is read at all, in bundles of blocks: what costs the answers least."""

from __future__ import annotations

import math
from collections.abc import Container, Mapping
from dataclasses import dataclass, field
from types import MappingProxyType

from streamshed.network.terms.join_shedding import COHORTS
from streamshed.planning.plan.budget import Budget
from streamshed.statistics.design_effects import BELIEVED
from streamshed.statistics.forecast import Statistics
from streamshed.statistics.speedup import UNREAD_COST

MOST_READING = 0.9
"""Of the time that there is for rows, reading takes no more: what it takes is not known better."""
WORTH_LEAVING = 1.5
"""Blocks are left unread where the variance is so many times as large otherwise, at least."""
WIDEST = 16
"""No more neighboring blocks are read together: as many rows as are read from a file at once."""
LEAST_BUNDLES = 4 * COHORTS
"""Blocks are read together only where so many bundles are read, at least: each window has some of them."""


@dataclass(frozen=True, slots=True)
class BlocksRead:
    """What is read of streams of which not all is.

    Attributes:
        shares: By stream, which share of its rows.
        widths: By stream, how many neighboring blocks are read together, or not at all.
    """

    shares: Mapping[str, float] = field(default_factory=dict)
    widths: Mapping[str, int] = field(default_factory=dict)


def blocks_read(
    blocks: Mapping[str, int],
    protected: Container[str],
    statistics: Statistics,
    budget: Budget,
    design_effects: Mapping[str, float] = MappingProxyType({}),
) -> BlocksRead:
    """Return per stream which share of its rows is to be read, and in which bundles; of one that is left out, all is.

    Rows are drawn in two stages: of all blocks the share f, of their rows P. With D the design effect, the variance of
    totals goes with (1/f − 1)·D + (1/f)·(1/P − 1). With R what reading everything takes, s·R what it takes where blocks
    are scattered, W all the work, and B the time for both, f·(s·R + P·W) = B. So the variance is least where P is
    sqrt(s·R/(W·(D − 1))), at most 1, and 1 where D ≤ 1 (W. G. Cochran, Sampling Techniques, 1977, section 10.6). Where
    rows of a block are alike, many are read, and few of them are worked on; where they are not, only those are read
    that can be worked on. From 1/s of the blocks on, reading takes R: only those that are worked on count then.

    Bundles of w neighbors take less time for as many rows, see `speedup.scattered_cost`, with c for what goes with
    rows, and e for what each bundle takes besides: s = c + e/w. Their design effect is no more than 1 + w·(D − 1), as
    rows of two neighbors are no more alike than those of one. So where all rows that are read are worked on, the
    variance is least at w = sqrt(e·R/((c·R + W)·(D − 1))) (Cochran, section 9.6, on the best size of clusters).

    Reading takes `MOST_READING` of B at most, and each cohort of blocks has one that is read if that is possible. What
    passing over blocks takes is counted, too. Everything is read where that is hardly worse.

    Args:
        blocks: How many there are, by stream whose blocks may be left unread.
        protected: The streams of which some query needs every row.
        statistics: The coming rows, and what they cost.
        budget: The time to fill.
        design_effects: D, by stream; `BELIEVED` of one that is left out.

    Example:
        A million rows, 1.2 s to read and 6.8 s of work; there is 1 s for it.

        >>> from streamshed.network.run.load_prior import LoadPrior
        >>> from streamshed.statistics.load_model import LoadModel
        >>> model = LoadModel.initial(
        ...     ["packets"], LoadPrior(fixed_seconds=1.0, seconds_per_row=8e-6, read_share=0.15))
        >>> statistics = Statistics(offered_rows={"packets": 1_000_000}, load_model=model)
        >>> budget = Budget(trigger_interval_seconds=2.5, deadline_seconds=2.5, headroom=0.8)
        >>> for effect in (1.0, 2.0, 10.0, 100.0):
        ...     of_effect = blocks_read({"packets": 10_000}, (), statistics, budget, {"packets": effect})
        ...     print(round(of_effect.shares["packets"], 3), of_effect.widths["packets"])
        0.089 8
        0.069 1
        0.102 1
        0.121 1
        >>> blocks_read({"packets": 1000}, ("packets",), statistics, budget).shares
        {}
    """
    streams = [name for name in blocks if name not in protected and statistics.offered_rows.get(name, 0) > 0]
    works = {name: statistics.work_seconds(name) for name in streams}
    reading, work = sum(map(statistics.read_seconds, streams)), sum(works.values())
    left = max(0.0, budget.seconds - (statistics.seconds({}) - reading - work))
    if reading <= 0 or reading + work <= left:
        return BlocksRead()
    effects = {name: design_effects.get(name, BELIEVED) for name in streams}
    widths = {name: _best_width(statistics, name, effects[name]) for name in streams}
    while True:
        of_bundles = {name: max(effect, 1 + widths[name] * (effect - 1)) for name, effect in effects.items()}
        scattered = sum(
            statistics.scattered_cost(name, widths[name]) * statistics.read_seconds(name) for name in streams
        )
        count = sum(blocks[name] for name in streams)
        share = _Load(reading, scattered, work, _mean(of_bundles, works)).best_share(count, left)
        narrower = {name: width // 2 for name, width in widths.items() if share * blocks[name] < LEAST_BUNDLES * width}
        if not any(narrower.values()):
            return BlocksRead(dict.fromkeys(streams, share), widths) if share < 1 else BlocksRead()
        widths |= {name: max(1, width) for name, width in narrower.items()}


def _best_width(statistics: Statistics, stream: str, design_effect: float) -> int:
    """How many neighbors are bundled at best, a power of two, however few bundles that are."""
    reading, work = statistics.read_seconds(stream), statistics.work_seconds(stream)
    of_rows = statistics.scattered_cost(stream, math.inf)
    of_bundle = statistics.scattered_cost(stream, 1) - of_rows
    saved = of_bundle * reading / (of_rows * reading + work)
    best = math.sqrt(saved / (design_effect - 1)) if design_effect > 1 else WIDEST * math.ceil(saved)
    return 1 << round(math.log2(min(max(1.0, best), WIDEST)))


@dataclass(frozen=True, slots=True)
class _Load:
    """What all that comes takes.

    Attributes:
        read_seconds: R, to read everything.
        scattered_seconds: s·R, the same by what rows cost that are read while others are not.
        work_seconds: W, to work on all of it.
        design_effect: D, of bundles.
    """

    read_seconds: float
    scattered_seconds: float
    work_seconds: float
    design_effect: float

    @property
    def passing_seconds(self) -> float:
        """What it takes to pass over all blocks."""
        return UNREAD_COST * self.read_seconds

    @property
    def seconds_per_share(self) -> float:
        """By so much reading takes longer, the larger the share is that is read."""
        return self.scattered_seconds - self.passing_seconds

    def variance(self, share: float, left: float) -> float:
        """Return what the variance goes with where a share is read in so much time, see `blocks_read`."""
        reading = min(self.read_seconds, self.passing_seconds + share * self.seconds_per_share)
        if reading >= left:
            return math.inf
        sampling_rate = min(1.0, (left - reading) / (share * self.work_seconds)) if self.work_seconds > 0 else 1.0
        return (1 / share - 1) * self.design_effect + (1 / sampling_rate - 1) / share

    def best_share(self, count: int, left: float) -> float:
        """Return which share of so many blocks is read in so much time; 1: everything is."""
        work, excess = self.work_seconds, self.design_effect - 1
        sampling_rate = math.sqrt(self.seconds_per_share / (work * excess)) if excess > 0 and work > 0 else 1.0
        most = (MOST_READING * left - self.passing_seconds) / self.seconds_per_share
        share = min((left - self.passing_seconds) / (self.seconds_per_share + min(1.0, sampling_rate) * work), most)
        can_read_all = self.read_seconds <= MOST_READING * left
        if can_read_all:
            share = min(share, (left - self.read_seconds) / work, key=lambda each: self.variance(each, left))
        share = max(share, min(most, COHORTS / count), min(1.0, 1 / count))
        of_all = self.variance(1.0, left) if can_read_all else math.inf
        return share if share < 1 and of_all >= WORTH_LEAVING * self.variance(share, left) else 1.0


def _mean(values: Mapping[str, float], weights: Mapping[str, float]) -> float:
    total = sum(weights.values())
    if total <= 0:
        return max(values.values())
    return sum(values[name] * weight for name, weight in weights.items()) / total
