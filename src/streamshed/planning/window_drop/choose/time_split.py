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

from streamshed.planning.rates.strata import EXACT, by_priority, strata
from streamshed.planning.tree.demand import Demand
from streamshed.planning.tree.work_tree import Truths, Vector, WorkTree
from streamshed.planning.window_drop.choose.least_kept import rare
from streamshed.planning.window_drop.choose.tolerant_work import TolerantWork
from streamshed.planning.window_drop.choose.window_shares import (
    least_seconds,
    least_shares_kept,
    limited_to,
    window_shares,
)
from streamshed.planning.window_drop.windows.window_demand import WindowDemand

SPLITS = 7
"""So many ways to divide the time between windows and samples are compared."""

_ROUNDING, _DIGITS = 1e-9, 6
_LEAST_RATE = 1e-8

RatesOf = Callable[[WorkTree, Sequence[Demand], float], Vector]
"""A policy for samples: (tree, demands, seconds) to effective sampling rates."""


def split_shares(
    work: TolerantWork, window_demands: Sequence[WindowDemand], budget_seconds: float, rates_of: RatesOf
) -> Vector:
    """Return the share of its windows that each query keeps; of one that is shut down 0, of one that is sampled 1.

    Args:
        work: The work.
        window_demands: What each query asks of windows.
        budget_seconds: What all of it may take: no less than where all windows are kept as rarely as may be.
        rates_of: The policy for samples.
    """
    sampled = {number: demand.priority for number, demand in enumerate(work.demands) if number in work.sampled}
    tolerant = {number: demand.priority for number, demand in enumerate(window_demands) if demand.sampling_rate is None}

    def served(_: Vector, members: list[int]) -> Vector:
        priority = work.demands[members[0]].priority
        beside = [
            replace(demand, sampling_rate=1.0) if sampled.get(n, priority) > priority else demand
            for n, demand in enumerate(window_demands)
        ]
        return _best_split(work, limited_to(beside, priority), members, budget_seconds, rates_of)

    def is_exact(kept_shares: Vector, members: list[int]) -> bool:
        rates = _rates_beside(work, kept_shares, budget_seconds, rates_of)
        return all((kept_shares[query] if query in tolerant else rates[query]) >= EXACT for query in members)

    least = least_shares_kept(window_demands) * running(work, window_demands)
    return by_priority(sampled | tolerant, least, served, is_exact)


def running(work: TolerantWork, window_demands: Sequence[WindowDemand]) -> Truths:
    """Return which queries are not shut down: of windows these ask for no rows."""
    return np.array([one.query not in work.queries or one.sampling_rate is None for one in window_demands])


def _best_split(
    work: TolerantWork,
    window_demands: Sequence[WindowDemand],
    members: Sequence[int],
    budget_seconds: float,
    rates_of: RatesOf,
) -> Vector:
    """The shares of windows at the best of some divisions of the time between windows and samples of one priority."""
    least = min(least_seconds(work.tree_of_windows, one) for one in _often_or_rare(work, window_demands))
    are_sampled = [query for query in members if window_demands[query].sampling_rate is not None]
    best, loss = least_shares_kept(window_demands) * running(work, window_demands), np.inf
    if len(are_sampled) == len(members):
        return best
    parts = np.linspace(0.0, 1.0, SPLITS).tolist() if are_sampled else [1.0]
    divisions = [(window_demands, least + part * (budget_seconds - least)) for part in parts]
    if are_sampled:
        # Between two parts samples may become exact: what they leave then is for windows, not for lower priorities.
        beside_exact = [
            replace(demand, sampling_rate=1.0) if n in are_sampled else demand
            for n, demand in enumerate(window_demands)
        ]
        divisions.append((beside_exact, budget_seconds))
    for demanded, for_windows in divisions:
        kept_shares = _window_shares(work, demanded, for_windows * (1 + _ROUNDING))
        rates = _rates_beside(work, kept_shares, budget_seconds, rates_of) if are_sampled else {}
        missing = sum(
            window_demands[query].weight ** 2 * (1 - float(kept_shares[query]))
            for query in members
            if query not in rates
        )
        off = sum(
            (work.demands[query].weight * work.demands[query].relative_error(rates[query])) ** 2
            for query in are_sampled
        )
        if missing + off < loss:
            best, loss = kept_shares, missing + off
    return best


def _rates_beside(
    work: TolerantWork, kept_shares: Vector, budget_seconds: float, rates_of: RatesOf
) -> dict[int, float]:
    """The rates of queries that are answered from samples, in what shares of windows leave of the time."""
    needed = work.expected_needs(kept_shares)
    left = max(0.0, budget_seconds - work.seconds_needed(needed))
    rest, _ = work.without(needed)
    rates = np.maximum(rates_of(rest, work.sampled_demands, left), _LEAST_RATE) if work.sampled else np.ones(0)
    return dict(zip(work.sampled, rates.tolist(), strict=True))


def _window_shares(work: TolerantWork, window_demands: Sequence[WindowDemand], budget_seconds: float) -> Vector:
    """The shares of windows that fill a budget, be they more than half of all or fewer: whichever is worth more.

    What is needed grows with a share more steeply below a half than above: both are linear, together they are not.
    """
    runs = running(work, window_demands)
    choices = [
        demanded
        for demanded in _often_or_rare(work, window_demands)
        if least_seconds(work.tree_of_windows, demanded) <= budget_seconds
    ]
    candidates = [window_shares(work.tree_of_windows, one, budget_seconds) * runs for one in choices]
    stratified = list(strata({n: one.priority for n, one in enumerate(window_demands) if one.sampling_rate is None}))
    weights = np.array([one.weight for one in window_demands])

    def worth(kept_shares: Vector) -> list[float]:
        return [round(float(weights[members] @ kept_shares[members]), _DIGITS) for members in stratified]

    best = max(candidates, key=worth, default=least_shares_kept(window_demands) * runs)
    return _filled_by_runs(work, best, window_demands, budget_seconds)


def _often_or_rare(work: TolerantWork, window_demands: Sequence[WindowDemand]) -> Iterator[Sequence[WindowDemand]]:
    """What queries ask where no more than half of the windows are kept of some of them, those of lower priorities."""
    yield window_demands
    rarely = rare(work, window_demands)
    for priority in sorted({one.priority for one in window_demands if one.sampling_rate is None}):
        yield [other if one.priority <= priority else one for one, other in zip(window_demands, rarely, strict=True)]


def _filled_by_runs(
    work: TolerantWork, kept_shares: Vector, window_demands: Sequence[WindowDemand], budget_seconds: float
) -> Vector:
    """The same, but of queries with common runs as large a share as these leave time for, if they are of one priority.

    What they need is neither linear in the share nor what coins would need.
    """
    least = least_shares_kept(window_demands)
    for stream, runs in work.common_runs(kept_shares).items():
        members = work.running_by_stream(kept_shares)[stream]
        if len({window_demands[query].priority for query in members}) > 1 or any(
            window_demands[query].is_least for query in members
        ):
            continue
        share = float(kept_shares[members[0]])
        whole = kept_shares.copy()
        whole[members] = 1.0
        taken, everything = (work.seconds_needed(work.expected_needs(one)) for one in (kept_shares, whole))
        spared = 1 - runs.needed(share)
        if spared > 0 and everything > taken:
            needed = 1 - (everything - budget_seconds) / (everything - taken) * spared
            kept_shares = kept_shares.copy()
            kept_shares[members] = runs.most_kept(needed, float(least[members].max()))
    return kept_shares
