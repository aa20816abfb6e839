"""Which share of its windows each query keeps: as much as the load allows, no gap too long, and who is shut down.

With r_i = 1 − p_i the share of windows that query i keeps, and queries that drop at the same time (`gap_coin`), a row
at node x is needed by nobody iff all queries below x drop the epoch it lies in, and no window that begins earlier or
later reaches into it: that is so for the share (1 − max r_i) · min e_i of the rows, e_i the share of an epoch that
dropping it saves query i. So, with m_x the largest r_i at x and below,

    maximize Σ w_i·r_i   subject to   Σ_x T_x·(1 − e_x·(1 − P_x)·(1 − m_x)) + Σ_i V_i·r_i ≤ budget
                                      1/(B_i+1) ≤ r_i ≤ 1

Queries that drop by window, and those that drop by the same groups, do so at the same time; the ones and the others do
so independently of one another, for the cohorts of groups take turns. With m_xf the largest r_i at x and below among
those of one such family f, 1 − m_x is the product Π_f (1 − m_xf): a row is needed unless each family drops it.

Where no more than half of the windows are kept, epochs that are dropped follow one another, and only those that follow
one that is kept lose something: there e_x·(1 − m_x) is 1 − l_x·m_x, l_x the most epochs that one takes which is kept:
2 − e, or more where windows overlap by more than an epoch.

Priorities come before worth. Least shares are what `max_gap` promises: those of higher priority run first, and of each
priority those run together that are worth most (`running_program`). Beyond the least shares nobody keeps more while one
of a higher priority does not keep all.

T_x the seconds of the node's work, P_x the share of its rows that samples need in any case, V_i those of the query's
windows: a linear program where all are of one family, since m_x ≥ r_i is all that is asked of m_x; of several, a
sequence of them (`mixed_families`). [T06] §3.4 has one p for a network.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from streamshed.planning.rates.strata import EXACT, by_priority, strata
from streamshed.planning.tree.work_tree import Vector, WorkTree
from streamshed.planning.window_drop.choose.mixed_families import MixedFamilies
from streamshed.planning.window_drop.choose.running_program import RunningProgram
from streamshed.planning.window_drop.choose.share_program import ShareProgram
from streamshed.planning.window_drop.windows.window_demand import WindowDemand


def window_shares(tree: WorkTree, demands: Sequence[WindowDemand], budget_seconds: float) -> Vector:
    """Return the share of its windows that each query keeps.

    Args:
        tree: What rows cost.
        demands: The queries, in the tree's order.
        budget_seconds: What all of it may take.

    Returns:
        Per query: 0 where it is shut down, which happens only where not all bounds of gaps can be kept; of queries that
        are answered from samples, 1.

    Example:
        Two queries below one dear node: dropping helps only if both do.

        >>> from streamshed.planning.tree.work_tree import WorkNode
        >>> tree = WorkTree((
        ...     WorkNode(name="parse", parent=None, seconds=1.0),
        ...     WorkNode(name="one", parent=0, seconds=0.1, query=0),
        ...     WorkNode(name="other", parent=0, seconds=0.1, query=1),
        ... ))
        >>> alike = [WindowDemand(query=name, gap_windows=9, early_share=1.0) for name in ("one", "other")]
        >>> window_shares(tree, alike, 0.6).round(3).tolist(), window_shares(tree, alike, 0.115).round(3).tolist()
        ([0.5, 0.5], [0.105, 0.0])
    """
    running = _admitted(tree, demands, budget_seconds)

    def raised(shares: Vector, members: list[int]) -> Vector:
        limited = limited_to(demands, demands[members[0]].priority)
        if all(limited[query].least_kept >= limited[query].most_kept for query in members):
            return shares
        raised_shares = _kept_by(tree, limited, running, budget_seconds)
        return shares if raised_shares is None else raised_shares

    return by_priority(
        {query: demands[query].priority for query in sorted(running)},
        _complete(demands, _least(demands, running)),
        raised,
        lambda shares, members: bool((shares[members] >= EXACT).all()),
    )


def limited_to(demands: Sequence[WindowDemand], priority: int) -> list[WindowDemand]:
    """Return what queries ask while those of one priority are served: those of higher ones keep all of their windows.

    Args:
        demands: What they ask.
        priority: Whose turn it is; those of a lower one keep no more than they must.
    """
    return [
        demand
        if demand.priority == priority
        else replace(demand, is_least=True)
        if demand.priority < priority
        else demand.exact
        for demand in demands
    ]


def least_seconds(tree: WorkTree, demands: Sequence[WindowDemand]) -> float:
    """Return what everything takes where each query keeps as few of its windows as it may."""
    everybody = frozenset(n for n, demand in enumerate(demands) if demand.sampling_rate is None)
    return _seconds(tree, demands, everybody, _least(demands, everybody))


def least_shares_kept(demands: Sequence[WindowDemand]) -> Vector:
    """Return the least share of its windows that each query keeps; of those that are answered from samples, 1."""
    return _complete(demands, _least(demands, frozenset(n for n, d in enumerate(demands) if d.sampling_rate is None)))


def _admitted(tree: WorkTree, demands: Sequence[WindowDemand], budget_seconds: float) -> frozenset[int]:
    """Return who runs: everybody, if that fits."""
    running: frozenset[int] = frozenset()
    for members in strata({n: demand.priority for n, demand in enumerate(demands) if demand.sampling_rate is None}):
        wanted = running.union(members)
        if _seconds(tree, demands, wanted, _least(demands, wanted)) <= budget_seconds:
            running = wanted
        else:
            running = _best_set(tree, demands, running, members, budget_seconds)
    return running


def _best_set(
    tree: WorkTree, demands: Sequence[WindowDemand], running: frozenset[int], members: list[int], budget_seconds: float
) -> frozenset[int]:
    """Add those of one priority that are worth most together, beside the least shares of those that run already."""

    def beside_running(query: int, demand: WindowDemand) -> WindowDemand:
        if query in running:
            return replace(demand, weight=0.0, is_least=True)
        return demand if query in members or demand.sampling_rate is not None else demand.shut_down

    alone = [beside_running(query, demand) for query, demand in enumerate(demands)]

    def worth(some: frozenset[int]) -> float:
        shares = _kept_by(tree, alone, some, budget_seconds)
        return -1.0 if shares is None else _worth(alone, shares)

    families = {demand.drops_with for demand in alone if demand.sampling_rate is None}
    starts = [np.zeros(len(alone))]
    if len(families) > 1:
        starts += [_least(alone, running.union(members)), *(_most_of(alone, family) for family in families)]
    sets = [RunningProgram(tree, alone, running, budget_seconds, near).best() for near in starts]
    return max(sets, key=worth)


def _most_of(demands: Sequence[WindowDemand], family: tuple[str, ...]) -> Vector:
    return np.array([d.most_kept if d.drops_with == family else d.least_kept for d in demands])


def _kept_by(
    tree: WorkTree, demands: Sequence[WindowDemand], running: frozenset[int], budget_seconds: float
) -> Vector | None:
    """The best shares where these queries run and the others are shut down; None: not even the least ones fit."""
    if _seconds(tree, demands, running, _least(demands, running)) > budget_seconds:
        return None
    program = _program(tree, demands, running)
    saving, constant = _node_costs(tree, demands, running)
    windows = [demand.window_seconds if n in running else 0.0 for n, demand in enumerate(demands)]
    if not running:
        return _nobody(demands)
    if len(program.names) == 1:
        shares = program.best(windows, saving[None, :], budget_seconds - constant)
        return None if shares is None else _complete(demands, shares)
    return _complete(demands, MixedFamilies(program, saving, windows, constant, budget_seconds).best())


def _program(tree: WorkTree, demands: Sequence[WindowDemand], running: frozenset[int]) -> ShareProgram:
    least = _least(demands, running)
    most = [demand.most_kept if n in running else 0.0 for n, demand in enumerate(demands)]
    return ShareProgram(
        tree=tree,
        families={n: demands[n].drops_with for n in sorted(running)},
        worth=np.array([demand.weight if n in running else 0.0 for n, demand in enumerate(demands)]),
        least=least,
        most=np.array(most),
    )


def _node_costs(tree: WorkTree, demands: Sequence[WindowDemand], running: frozenset[int]) -> tuple[Vector, float]:
    """Per node, the seconds that follow the largest share kept below it; and those of all nodes that do not."""
    saving = np.zeros(len(tree.nodes))
    constant = 0.0
    for node, below in enumerate(tree.queries_below):
        seconds = float(tree.node_seconds[node])
        running_demands = [demands[query] for query in below if query in running]
        sampled = max((demands[query].sampling_rate or 0.0 for query in below), default=0.0)
        early = min((demand.early_share for demand in running_demands), default=1.0)
        is_rare = bool(running_demands) and all(demand.is_rare for demand in running_demands)
        always, per_window = (
            (0.0, max(demand.epochs_per_kept for demand in running_demands)) if is_rare else (1 - early, early)
        )
        saving[node] = seconds * (1 - sampled) * per_window
        constant += seconds * (sampled + (1 - sampled) * always)
    return saving, constant


def _seconds(tree: WorkTree, demands: Sequence[WindowDemand], running: frozenset[int], shares: Vector) -> float:
    saving, constant = _node_costs(tree, demands, running)
    needed = _program(tree, demands, running).needed_by_any(shares)
    windows = sum(demands[query].window_seconds * float(shares[query]) for query in running)
    return constant + float(saving @ needed) + windows


def _least(demands: Sequence[WindowDemand], running: frozenset[int]) -> Vector:
    return np.array([demand.least_kept if n in running else 0.0 for n, demand in enumerate(demands)])


def _worth(demands: Sequence[WindowDemand], shares: Vector) -> float:
    return sum(d.weight * float(share) for d, share in zip(demands, shares, strict=True) if d.sampling_rate is None)


def _nobody(demands: Sequence[WindowDemand]) -> Vector:
    return _complete(demands, np.zeros(len(demands)))


def _complete(demands: Sequence[WindowDemand], shares: Vector) -> Vector:
    return np.array([share if d.sampling_rate is None else 1.0 for d, share in zip(demands, shares, strict=True)])
