"""How the time is divided between windows and samples, and the share of its windows that each query keeps with that.

Priority by priority: those of one are served when all of the higher ones are exact. Until then windows of lower
priorities are kept as rarely as their bounds of gaps allow, and samples get nothing. Among those of one priority the
time is divided so that the sum of w²·(1 − r) over windows and of w²·c·(1 − P)/P over samples is least: an answer that
is missing is off by all of it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace

import numpy as np

from streamshed.planning.demand import Demand
from streamshed.planning.strata import EXACT, by_priority, strata
from streamshed.planning.window_drop.least_kept import rare
from streamshed.planning.window_drop.tolerant_work import TolerantWork
from streamshed.planning.window_drop.window_demand import WindowDemand
from streamshed.planning.window_drop.window_shares import least_seconds, least_shares_kept, limited_to, window_shares
from streamshed.planning.work_tree import Truths, Vector, WorkTree

SPLITS = 7
"""So many ways to divide the time between windows and samples are compared."""

_ROUNDING, _DIGITS = 1e-9, 6
_LEAST_RATE = 1e-8

RatesOf = Callable[[WorkTree, Sequence[Demand], float], Vector]
"""A policy for samples: (tree, demands, seconds) to effective sampling rates."""


def split_shares(work: TolerantWork, asked: Sequence[WindowDemand], budget_seconds: float, rates_of: RatesOf) -> Vector:
    """Return the share of its windows that each query keeps; of one that is shut down 0, of one that is sampled 1.

    Args:
        work: The work.
        asked: What each query asks of windows.
        budget_seconds: What all of it may take: no less than where all windows are kept as rarely as may be.
        rates_of: The policy for samples.
    """
    sampled = {number: demand.priority for number, demand in enumerate(work.demands) if number in work.sampled}
    tolerant = {number: one.priority for number, one in enumerate(asked) if one.sampling_rate is None}

    def served(_: Vector, members: list[int]) -> Vector:
        priority = work.demands[members[0]].priority
        beside = [
            replace(one, sampling_rate=1.0) if sampled.get(n, priority) > priority else one
            for n, one in enumerate(asked)
        ]
        return _best_split(work, limited_to(beside, priority), members, budget_seconds, rates_of)

    def is_exact(kept: Vector, members: list[int]) -> bool:
        rates = _rates_beside(work, kept, budget_seconds, rates_of)
        return all((kept[query] if query in tolerant else rates[query]) >= EXACT for query in members)

    least = least_shares_kept(asked) * running(work, asked)
    return by_priority(sampled | tolerant, least, served, is_exact)


def running(work: TolerantWork, asked: Sequence[WindowDemand]) -> Truths:
    """Return which queries are not shut down: of windows these ask for no rows."""
    return np.array([one.query not in work.queries or one.sampling_rate is None for one in asked])


def _best_split(
    work: TolerantWork,
    asked: Sequence[WindowDemand],
    members: Sequence[int],
    budget_seconds: float,
    rates_of: RatesOf,
) -> Vector:
    """The shares of windows at the best of some divisions of the time between windows and samples of one priority."""
    least = min(least_seconds(work.tree, one) for one in _often_or_rare(work, asked))
    are_sampled = [query for query in members if asked[query].sampling_rate is not None]
    best, loss = least_shares_kept(asked) * running(work, asked), np.inf
    if len(are_sampled) == len(members):
        return best
    parts = np.linspace(0.0, 1.0, SPLITS).tolist() if are_sampled else [1.0]
    divisions = [(asked, least + part * (budget_seconds - least)) for part in parts]
    if are_sampled:
        # Between two parts samples may become exact: what they leave then is for windows, not for lower priorities.
        beside_exact = [replace(one, sampling_rate=1.0) if n in are_sampled else one for n, one in enumerate(asked)]
        divisions.append((beside_exact, budget_seconds))
    for demanded, for_windows in divisions:
        kept = _window_shares(work, demanded, for_windows * (1 + _ROUNDING))
        rates = _rates_beside(work, kept, budget_seconds, rates_of) if are_sampled else {}
        missing = sum(asked[query].weight ** 2 * (1 - float(kept[query])) for query in members if query not in rates)
        off = sum(
            (work.demands[query].weight * work.demands[query].relative_error(rates[query])) ** 2
            for query in are_sampled
        )
        if missing + off < loss:
            best, loss = kept, missing + off
    return best


def _rates_beside(work: TolerantWork, kept: Vector, budget_seconds: float, rates_of: RatesOf) -> dict[int, float]:
    """The rates of queries that are answered from samples, in what shares of windows leave of the time."""
    needed = work.expected_needs(kept)
    left = max(0.0, budget_seconds - float(work.tree.node_seconds @ needed))
    rest, _ = work.without(needed)
    rates = np.maximum(rates_of(rest, work.sampled_demands, left), _LEAST_RATE) if work.sampled else np.ones(0)
    return dict(zip(work.sampled, rates.tolist(), strict=True))


def _window_shares(work: TolerantWork, asked: Sequence[WindowDemand], budget_seconds: float) -> Vector:
    """The shares of windows that fill a budget, be they more than half of all or fewer: whichever is worth more.

    What is needed grows with a share more steeply below a half than above: both are linear, together they are not.
    """
    runs = running(work, asked)
    choices = [one for one in _often_or_rare(work, asked) if least_seconds(work.tree, one) <= budget_seconds]
    found = [window_shares(work.tree, one, budget_seconds) * runs for one in choices]
    stratified = list(strata({n: one.priority for n, one in enumerate(asked) if one.sampling_rate is None}))
    weights = np.array([one.weight for one in asked])

    def worth(kept: Vector) -> list[float]:
        return [round(float(weights[members] @ kept[members]), _DIGITS) for members in stratified]

    best = max(found, key=worth, default=least_shares_kept(asked) * runs)
    return _filled_by_runs(work, best, asked, budget_seconds)


def _often_or_rare(work: TolerantWork, asked: Sequence[WindowDemand]) -> Iterator[Sequence[WindowDemand]]:
    """What queries ask where no more than half of the windows are kept of some of them, those of lower priorities."""
    yield asked
    rarely = rare(work, asked)
    for priority in sorted({one.priority for one in asked if one.sampling_rate is None}):
        yield [other if one.priority <= priority else one for one, other in zip(asked, rarely, strict=True)]


def _filled_by_runs(work: TolerantWork, kept: Vector, asked: Sequence[WindowDemand], budget_seconds: float) -> Vector:
    """The same, but of queries with common runs as large a share as these leave time for, if they are of one priority.

    What they need is neither linear in the share nor what coins would need.
    """
    least = least_shares_kept(asked)
    for stream, runs in work.common_runs(kept).items():
        members = work.running_by_stream(kept)[stream]
        if len({asked[query].priority for query in members}) > 1 or any(asked[query].is_least for query in members):
            continue
        share = float(kept[members[0]])
        whole = kept.copy()
        whole[members] = 1.0
        taken, everything = (float(work.tree.node_seconds @ work.expected_needs(one)) for one in (kept, whole))
        spared = 1 - runs.needed(share)
        if spared > 0 and everything > taken:
            needed = 1 - (everything - budget_seconds) / (everything - taken) * spared
            kept = kept.copy()
            kept[members] = runs.most_kept(needed, float(least[members].max()))
    return kept
