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

from streamshed.planning.window_drop.rehearsal import rehearsed_needs
from streamshed.planning.window_drop.run_needs import RunNeeds, have_one_share
from streamshed.planning.window_drop.tolerant_work import TolerantWork
from streamshed.planning.window_drop.window_demand import WindowDemand
from streamshed.planning.window_drop.window_shares import least_seconds, least_shares_kept
from streamshed.planning.work_tree import Vector


@dataclass(frozen=True, slots=True)
class LeastKept:
    """The least that queries keep.

    Attributes:
        kept: Per demand, the share of its windows.
        needed: Per node of the work tree, which share of its rows that needs; None: as `expected_needs` has it.
        seconds: What everything takes then.
        modelled_seconds: What it takes if rows are spared wherever the query that keeps most spares them.
    """

    kept: Vector
    needed: Vector | None
    seconds: float
    modelled_seconds: float

    def fits(self, budget_seconds: float) -> bool:
        """Tell whether there is time for more than the least, by what it takes and by the model that shares follow."""
        return max(self.seconds, self.modelled_seconds) <= budget_seconds

    def modelled(self, budget_seconds: float) -> float:
        """Return the seconds that a model of shares may plan for, as it takes the least to be less than it is."""
        return budget_seconds * min(1.0, self.modelled_seconds / self.seconds) if self.seconds > 0 else budget_seconds


def least_kept(work: TolerantWork, asked: Sequence[WindowDemand]) -> LeastKept:
    """Return the least that may be kept.

    Args:
        work: The work.
        asked: What each query asks; one whose windows may be dropped asks for no rows where it is shut down.
    """
    modelled = min(least_seconds(work.tree, one) for one in (asked, rare(work, asked)))
    is_shut = np.array([one.query in work.queries and one.sampling_rate is not None for one in asked])
    kept = np.where(is_shut, 0.0, least_shares_kept(asked))
    runs = [queries for queries in work.running_by_stream(kept).values() if _may_run_together(work, queries, kept)]
    if not runs:
        return LeastKept(kept, None, modelled, modelled)

    needed = rehearsed_needs(work, kept)
    for queries in runs:
        together = kept.copy()
        together[queries] = kept[queries].min()
        needed_together = rehearsed_needs(work, together)
        if work.tree.node_seconds @ needed_together <= work.tree.node_seconds @ needed:
            kept, needed = together, needed_together
    return LeastKept(kept, needed, float(work.tree.node_seconds @ needed), modelled)


def rare(work: TolerantWork, asked: Sequence[WindowDemand]) -> list[WindowDemand]:
    """Return what queries ask where no more than half of the windows are kept.

    Args:
        work: The work.
        asked: What they ask.
    """
    return [
        replace(one, is_rare=True)
        if one.sampling_rate is None and work.queries[one.query].spares_rows_when_rare
        else one
        for one in asked
    ]


def _may_run_together(work: TolerantWork, queries: Sequence[int], kept: Vector) -> bool:
    """Whether there are common runs, and they are another way to keep as few windows as may be."""
    shares = [float(kept[query]) for query in queries]
    own = [work.queries[work.demands[query].query] for query in queries]
    return not have_one_share(shares) and RunNeeds.of(own) is not None
