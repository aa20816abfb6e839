"""What is to be expected of a query under a plan."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import TypeAlias

from streamshed.network.terms.gap import GapsBy
from streamshed.network.words.wording import share_text
from streamshed.planning.explain.shed_work import ShedWork
from streamshed.planning.load.network_load import NetworkLoad
from streamshed.planning.plan.kept_delay import WhileKept
from streamshed.planning.tree.demand import Demand
from streamshed.planning.tree.work_tree import Vector

Counting: TypeAlias = dict[str, list[tuple[Demand, float]]]
"""By query whose rows are counted, the counting and its rate."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Outlook:
    """What is to be expected of a query.

    Attributes:
        query: Its name.
        effective_sampling_rate: P; 1: its answers are exact.
        expected_error: The relative standard error of its worst aggregate, of the smallest group that counts.
        bound_by: The operator or query whose cost keeps P from being higher; None at P = 1.
        is_protected: Whether it is never shed.
        whole_because: Why not, if that lies in what it asks; else None.
        goal: The error it should stay within, such as "2 % at 95 %"; None: it has no goal.
        meets_goal: Whether it is expected to; without a goal it does.
        size_column: The column by which its rows are chosen, large values likelier than small ones; None: all alike.
        size_threshold: From which size on.
        counting_rate: The rate at which its rows are counted above the first function; None: they are not.
        kept_share: The share of its windows that it keeps, its answers being exact or absent; 0: it is shut down; None:
            its windows are never dropped.
        max_gap: How many of them may be missing in a row; None likewise.
        gaps_by: By what they are missing, "window" or "group"; None likewise.
        delay_seconds: How long after a row came its answers may come, as all rows of a window are worked on that is
            kept; None: windows are not dropped, or not as a whole.
        is_joined_in_part: Whether it is answered from a part of a join that was chosen to have many results, P being
            the share of the join that is done: then nothing tells how far off it is.
    """

    query: str
    effective_sampling_rate: float
    expected_error: float
    bound_by: str | None
    is_protected: bool
    whole_because: str | None = None
    goal: str | None = None
    meets_goal: bool = True
    size_column: str | None = None
    size_threshold: float | None = None
    counting_rate: float | None = None
    kept_share: float | None = None
    max_gap: int | None = None
    gaps_by: str | None = None
    delay_seconds: float | None = None
    is_joined_in_part: bool = False

    @property
    def error_text(self) -> str:
        """Its expected error in words."""
        if self.is_joined_in_part:
            return "unknown"
        return "exact" if self.effective_sampling_rate >= 1 else share_text(self.expected_error)


def outlook_of(load: NetworkLoad, number: int, rates: Vector, node_rates: Vector, counting: Counting) -> Outlook:
    """Return what is to be expected of a query where its windows are not dropped.

    Args:
        load: What the network takes.
        number: Of the query among its demands.
        rates: Effective sampling rates by demand.
        node_rates: The same by node of the tree.
        counting: Of the plan.
    """
    demand, sampling_rate = load.demands[number], float(rates[number])
    path = [load.tree.query_nodes[number]]
    while (above := load.tree.nodes[path[-1]].parent) is not None:
        path.append(above)
    alike = [index for index in path if node_rates[index] <= sampling_rate * (1 + 1e-9)]
    dearest = max(alike, key=lambda index: load.tree.nodes[index].seconds)
    sized = load.sized.get(demand.query) if sampling_rate < 1 else None
    counted = counting.get(demand.query, []) if sampling_rate < 1 else []
    variance = sum(
        other.relative_error(counting_rate) ** 2 for other, counting_rate in ((demand, sampling_rate), *counted)
    )
    return Outlook(
        query=demand.query,
        effective_sampling_rate=sampling_rate,
        expected_error=math.sqrt(variance),
        bound_by=None if sampling_rate >= 1 else load.addresses[dearest] or load.tree.nodes[dearest].name,
        is_protected=demand.is_protected,
        whole_because=demand.whole_because,
        goal=None if demand.goal is None else str(demand.goal),
        meets_goal=demand.meets_goal(sampling_rate),
        size_column=None if sized is None else sized.column,
        size_threshold=None if sized is None else sized.threshold,
        counting_rate=max(counted[0][1], sampling_rate) if counted else None,
    )


def with_windows(outlook: Outlook, chosen: ShedWork, while_kept: WhileKept) -> Outlook:
    """Add what becomes of its windows, where these may be dropped."""
    if outlook.query not in chosen.windows:
        return outlook
    query, kept_share = chosen.windows[outlook.query]
    return replace(
        outlook,
        is_protected=False,
        kept_share=kept_share,
        max_gap=query.gap_windows,
        gaps_by=str(GapsBy.GROUP if query.is_by_group else GapsBy.WINDOW),
        delay_seconds=while_kept.delay_seconds(query, kept_share),
    )
