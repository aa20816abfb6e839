"""Where reading takes most of the time: which share of a stream's rows is read at all, row group by row group."""

from __future__ import annotations

from collections.abc import Container, Mapping

from streamshed.planning.plan.budget import Budget
from streamshed.statistics.forecast import Statistics
from streamshed.statistics.speedup import UNREAD_COST

MOST_READING = 0.9
"""Of the time that there is for rows: where reading takes no more, all rows are read."""
HALF = 0.5
"""Where it takes more, this is what is left of it."""
ENOUGH_ROW_GROUPS = 64
"""From so many on, a few more change answers less than more work on rows does: four for each cohort."""
WORTH_LEAVING = 0.75
"""If more than this share would be read, everything is."""


def read_shares(
    row_groups: Mapping[str, int], protected: Container[str], statistics: Statistics, budget: Budget
) -> dict[str, float]:
    """Return per stream which share of its rows is to be read; of one that is left out, all.

    To sample rows costs the answers less than to leave row groups out: there are far more rows, and those of a row
    group may be alike. So everything is read while that leaves a tenth of the time B for work on rows. Beyond, with R
    what reading takes and W the work on all rows, at most the share B/(R + W) can be both read and worked on. More than
    that is read, for less work on each row, until there are `ENOUGH_ROW_GROUPS`, or reading takes half of B.

    Args:
        row_groups: How many there are, by stream whose row groups may be left unread.
        protected: The streams of which some query needs every row.
        statistics: The coming rows, and what they cost.
        budget: The time to fill.

    Example:
        A million rows in a hundred row groups, 2 s to read and 6 s of work; there is 1 s for it.

        >>> from streamshed.network.run.load_prior import LoadPrior
        >>> from streamshed.statistics.load_model import LoadModel
        >>> model = LoadModel.initial(
        ...     ["packets"], LoadPrior(fixed_seconds=1.0, seconds_per_row=8e-6, read_share=0.25))
        >>> statistics = Statistics(offered_rows={"packets": 1_000_000}, load_model=model)
        >>> budget = Budget(trigger_interval_seconds=2.5, deadline_seconds=2.5, headroom=0.8)
        >>> {name: round(share, 3) for name, share in read_shares({"packets": 100}, (), statistics, budget).items()}
        {'packets': 0.185}
        >>> read_shares({"packets": 100}, ("packets",), statistics, budget)
        {}
    """
    streams = [name for name in row_groups if name not in protected and statistics.offered_rows.get(name, 0) > 0]
    reading = sum(statistics.read_seconds(name) for name in streams)
    if not streams or reading <= 0:
        return {}
    work = sum(statistics.work_seconds(name) for name in streams)
    left = max(0.0, budget.seconds - (statistics.seconds({}) - reading - work))
    if reading <= MOST_READING * left or reading + work <= left:
        return {}
    count = sum(row_groups[name] for name in streams)
    passing = UNREAD_COST * reading
    worked_on = (left - passing) / (reading - passing + work)
    half = (HALF * left - passing) / (reading - passing)
    share = max(worked_on, min(half, ENOUGH_ROW_GROUPS / count), 1 / count)
    return {} if share > WORTH_LEAVING else dict.fromkeys(streams, share)
