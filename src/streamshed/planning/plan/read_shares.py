"""Where reading takes most of the time: which share of a stream's rows is read at all, block by block."""

from __future__ import annotations

from collections.abc import Container, Mapping

from streamshed.planning.plan.budget import Budget
from streamshed.statistics.forecast import Statistics
from streamshed.statistics.speedup import UNREAD_COST, reading_cost

MOST_READING = 0.9
"""Of the time that there is for rows: where reading takes no more, all rows may be read."""
HALF = 0.5
"""Where it takes more, this is what is left of it."""
ENOUGH_BLOCKS = 256
"""Of so many that are spread over a micro-batch, and more, what is missing is missing everywhere a little."""
WORTH_LEAVING = 1.5
"""Blocks are left unread if so many times as many rows are useful for it, at least."""


def read_shares(
    blocks: Mapping[str, int], protected: Container[str], statistics: Statistics, budget: Budget
) -> dict[str, float]:
    """Return per stream which share of its rows is to be read; of one that is left out, all.

    With R what reading takes, W the work on all rows and B the time for both, at most the share B/(R + W) can be read
    and worked on as a whole. So many rows are never useful where all are read: what is read and shed takes time, too.
    But a few blocks tell less than as many rows of all blocks, for rows of a block may be alike. So that share is read
    where it has `ENOUGH_BLOCKS`; if not, more are, for less work on each row: all, if reading takes no more than nine
    tenths of B, and else so many that reading takes half of it. Where all that makes less than half as many rows again
    useful, everything is read.

    Args:
        blocks: How many there are, by stream whose blocks may be left unread.
        protected: The streams of which some query needs every row.
        statistics: The coming rows, and what they cost.
        budget: The time to fill.

    Example:
        A million rows, 1.2 s to read and 6.8 s of work; there is 1 s for it.

        >>> from streamshed.network.run.load_prior import LoadPrior
        >>> from streamshed.statistics.load_model import LoadModel
        >>> model = LoadModel.initial(
        ...     ["packets"], LoadPrior(fixed_seconds=1.0, seconds_per_row=8e-6, read_share=0.15))
        >>> statistics = Statistics(offered_rows={"packets": 1_000_000}, load_model=model)
        >>> budget = Budget(trigger_interval_seconds=2.5, deadline_seconds=2.5, headroom=0.8)
        >>> for blocks in (10_000, 100):
        ...     print({name: round(share, 3) for name, share in
        ...            read_shares({"packets": blocks}, (), statistics, budget).items()})
        {'packets': 0.121}
        {'packets': 0.399}
        >>> read_shares({"packets": 100}, ("packets",), statistics, budget)
        {}
    """
    streams = [name for name in blocks if name not in protected and statistics.offered_rows.get(name, 0) > 0]
    reading = sum(statistics.read_seconds(name) for name in streams)
    if not streams or reading <= 0:
        return {}
    work = sum(statistics.work_seconds(name) for name in streams)
    left = max(0.0, budget.seconds - (statistics.seconds({}) - reading - work))
    if reading + work <= left:
        return {}
    count = sum(blocks[name] for name in streams)
    passing = UNREAD_COST * reading
    worked_on = (left - passing) / (reading - passing + work)
    most = 1.0 if reading <= MOST_READING * left else (HALF * left - passing) / (reading - passing)
    share = max(worked_on, min(most, ENOUGH_BLOCKS / count), min(1.0, 1 / count))
    useful, useful_of_all = (max(0.0, left - cost * reading) for cost in (reading_cost(share), 1.0))
    return dict.fromkeys(streams, share) if share < 1 and useful >= WORTH_LEAVING * useful_of_all else {}
