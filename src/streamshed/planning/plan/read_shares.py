"""Which share of a stream's rows is read at all, block by block: as many as cost the answers least."""

from __future__ import annotations

import math
from collections.abc import Container, Mapping
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


def read_shares(
    blocks: Mapping[str, int],
    protected: Container[str],
    statistics: Statistics,
    budget: Budget,
    design_effects: Mapping[str, float] = MappingProxyType({}),
) -> dict[str, float]:
    """Return per stream which share of its rows is to be read; of one that is left out, all.

    Rows are drawn in two stages: of all blocks the share f, of their rows P. With D the design effect, the variance of
    totals goes with (1/f − 1)·D + (1/f)·(1/P − 1). With R what reading everything takes, s·R what it takes where blocks
    are scattered, W all the work, and B the time for both, f·(s·R + P·W) = B. So the variance is least where P is
    sqrt(s·R/(W·(D − 1))), at most 1, and 1 where D ≤ 1 (W. G. Cochran, Sampling Techniques, 1977, section 10.6). Where
    rows of a block are alike, many are read, and few of them are worked on; where they are not, only those are read
    that can be worked on. From 1/s of the blocks on, reading takes R: only those that are worked on count then.

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
        >>> for effect in (1.0, 10.0, 100.0):
        ...     print({name: round(share, 3) for name, share in
        ...            read_shares({"packets": 1000}, (), statistics, budget, {"packets": effect}).items()})
        {'packets': 0.105}
        {'packets': 0.261}
        {'packets': 0.348}
        >>> read_shares({"packets": 1000}, ("packets",), statistics, budget)
        {}
    """
    streams = [name for name in blocks if name not in protected and statistics.offered_rows.get(name, 0) > 0]
    reading = sum(statistics.read_seconds(name) for name in streams)
    if not streams or reading <= 0:
        return {}
    works = {name: statistics.work_seconds(name) for name in streams}
    work = sum(works.values())
    left = max(0.0, budget.seconds - (statistics.seconds({}) - reading - work))
    if reading + work <= left:
        return {}
    effect = _mean({name: design_effects.get(name, BELIEVED) for name in streams}, works)
    passing = UNREAD_COST * reading
    per_share = sum(statistics.scattered_cost(name) * statistics.read_seconds(name) for name in streams) - passing

    def variance(share: float) -> float:
        return _variance(share, left - min(reading, passing + share * per_share), work, effect)

    sampling_rate = math.sqrt(per_share / (work * (effect - 1))) if effect > 1 and work > 0 else 1.0
    most = (MOST_READING * left - passing) / per_share
    count = sum(blocks[name] for name in streams)
    share = min((left - passing) / (per_share + min(1.0, sampling_rate) * work), most)
    can_read_all = reading <= MOST_READING * left
    if can_read_all:
        share = min(share, (left - reading) / work, key=variance)
    share = max(share, min(most, COHORTS / count), min(1.0, 1 / count))
    of_all = variance(1.0) if can_read_all else math.inf
    return dict.fromkeys(streams, share) if share < 1 and of_all >= WORTH_LEAVING * variance(share) else {}


def _variance(share: float, seconds: float, work: float, effect: float) -> float:
    """What the variance goes with where a share of the rows is read, with so much time for work on them."""
    if seconds <= 0:
        return math.inf
    sampling_rate = min(1.0, seconds / (share * work)) if work > 0 else 1.0
    return (1 / share - 1) * effect + (1 / sampling_rate - 1) / share


def _mean(values: Mapping[str, float], weights: Mapping[str, float]) -> float:
    total = sum(weights.values())
    if total <= 0:
        return max(values.values())
    return sum(values[name] * weight for name, weight in weights.items()) / total
