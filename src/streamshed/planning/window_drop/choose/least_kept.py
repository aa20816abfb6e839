"""How few windows queries may keep, and how to keep them so that this takes least.

A query that may miss B windows keeps 1/(B+1) of them. Of several over the same rows that each keep as few as they may,
kept windows lie apart: one may not miss another just when all others may. In common runs all keep windows when the
first of them must, and the others more than they would have to; mostly that takes fewer rows, and always it delivers
more from them.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from streamshed.planning.tree.work_tree import Vector
from streamshed.planning.window_drop.choose.rehearsal import rehearsed_needs
from streamshed.planning.window_drop.choose.tolerant_work import TolerantWork
from streamshed.planning.window_drop.choose.window_shares import least_seconds, least_shares_kept
from streamshed.planning.window_drop.track.run_needs import RunNeeds, have_one_share
from streamshed.planning.window_drop.windows.window_demand import WindowDemand

_ALIKE = 0.03
"""A rehearsal is over some time only: it says no more than the model where they differ by so little."""


@dataclass(frozen=True, slots=True)
class LeastKept:
    """The least that queries keep.

    Attributes:
        kept_shares: Per demand, the share of its windows.
        needed: Per node of the work tree, which share of its rows that needs; None: as `expected_needs` has it.
        seconds: What everything takes then, the rows of all kept windows together.
        modelled_seconds: What it takes if rows are spared wherever the query that keeps most spares them.
    """

    kept_shares: Vector
    needed: Vector | None
    seconds: float
    modelled_seconds: float

    def fits(self, budget_seconds: float) -> bool:
        """Tell whether there is time for more than the least, by what it takes and by the model that shares follow."""
        return max(self.seconds, self.modelled_seconds) <= budget_seconds

    def modelled(self, budget_seconds: float) -> float:
        """Return the seconds that a model of shares may plan for, as it takes the least to be less than it is."""
        return budget_seconds * min(1.0, self.modelled_seconds / self.seconds) if self.seconds > 0 else budget_seconds


def least_kept(work: TolerantWork, window_demands: Sequence[WindowDemand]) -> LeastKept:
    """Return the least that may be kept.

    Args:
        work: The work.
        window_demands: What each query asks; one whose windows may be dropped asks for no rows where it is shut down.
    """
    modelled = min(least_seconds(work.tree_of_windows, one) for one in (window_demands, rare(work, window_demands)))
    is_shut = np.array([one.query in work.queries and one.sampling_rate is not None for one in window_demands])
    kept_shares = np.where(is_shut, 0.0, least_shares_kept(window_demands))
    if work.is_modelled(kept_shares):
        return LeastKept(kept_shares, None, modelled, modelled)
    running_by_stream = work.running_by_stream(kept_shares)
    runs = [queries for queries in running_by_stream.values() if _may_run_together(work, queries, kept_shares)]

    needed = rehearsed_needs(work, kept_shares)
    for queries in runs:
        together = kept_shares.copy()
        together[queries] = kept_shares[queries].min()
        needed_together = rehearsed_needs(work, together)
        if work.seconds_needed(needed_together) <= work.seconds_needed(needed):
            kept_shares, needed = together, needed_together
    seconds = work.seconds_needed(needed)
    if not runs and abs(seconds - modelled) <= _ALIKE * modelled:
        return LeastKept(kept_shares, None, modelled, modelled)
    return LeastKept(kept_shares, needed, seconds, modelled)


def rare(work: TolerantWork, window_demands: Sequence[WindowDemand]) -> list[WindowDemand]:
    """Return what queries ask where no more than half of the windows are kept.

    Args:
        work: The work.
        window_demands: What they ask.
    """
    return [
        replace(demand, is_rare=True)
        if demand.sampling_rate is None and work.queries[demand.query].spares_rows_when_rare
        else demand
        for demand in window_demands
    ]


def _may_run_together(work: TolerantWork, queries: Sequence[int], kept_shares: Vector) -> bool:
    """Whether queries with different least shares could keep their windows in common runs."""
    shares = [float(kept_shares[query]) for query in queries]
    droppable = [work.queries[work.demands[query].query] for query in queries]
    return not have_one_share(shares) and RunNeeds.of(droppable) is not None
